// <stddef.h> for NVRTC, which has size_t, ptrdiff_t and NULL anyway.
#ifndef CUPRUM_STDDEF_H
#define CUPRUM_STDDEF_H
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
#endif
