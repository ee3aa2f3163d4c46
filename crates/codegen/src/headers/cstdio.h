// <cstdio> for NVRTC: printf needs no header.
#ifndef CUPRUM_CSTDIO
#define CUPRUM_CSTDIO
#include <stdio.h>
namespace std {
using ::printf;
}
#endif
