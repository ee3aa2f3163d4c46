// <cstring> for NVRTC.
#ifndef CUPRUM_CSTRING
#define CUPRUM_CSTRING
#include <string.h>
namespace std {
using ::size_t; using ::memcpy; using ::memset; using ::memmove; using ::memcmp; using ::strlen; using ::strcmp; using ::strcpy;
}
#endif
