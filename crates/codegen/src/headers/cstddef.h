// <cstddef> for NVRTC.
#ifndef CUPRUM_CSTDDEF
#define CUPRUM_CSTDDEF
#include <stddef.h>
namespace std {
using ::size_t; using ::ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
}
#endif
