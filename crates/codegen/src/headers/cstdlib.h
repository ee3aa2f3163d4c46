// <cstdlib> for NVRTC: malloc, free and abs need no header.
#ifndef CUPRUM_CSTDLIB
#define CUPRUM_CSTDLIB
#include <stdlib.h>
namespace std {
using ::size_t; using ::malloc; using ::free; using ::abs;
}
#endif
