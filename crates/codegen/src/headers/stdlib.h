// <stdlib.h> for NVRTC: malloc, free and abs need no header.
#ifndef CUPRUM_STDLIB_H
#define CUPRUM_STDLIB_H
#include <stddef.h>
#ifndef EXIT_SUCCESS
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#endif
#endif
