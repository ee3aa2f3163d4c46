// <stddef.h> for NVRTC, which has size_t, ptrdiff_t and NULL anyway.
#ifndef CUPRUM_STDDEF_H
#define CUPRUM_STDDEF_H
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#if __CUDACC_VER_MAJOR__ > 13 || (__CUDACC_VER_MAJOR__ == 13 && __CUDACC_VER_MINOR__ >= 5)
#define offsetof(type, member) __builtin_offsetof(type, member)
#else
#define offsetof(type, member) ((size_t)&((type *)0)->member)
#endif
#endif
#endif
