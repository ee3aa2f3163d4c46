// <string.h> for NVRTC: memcpy and memset need no header; the others that kernels use are here.
#ifndef CUPRUM_STRING_H
#define CUPRUM_STRING_H
#include <stddef.h>
static inline __device__ void *memmove(void *to, const void *from, size_t count)
{
    unsigned char *d = static_cast<unsigned char *>(to);
    const unsigned char *s = static_cast<const unsigned char *>(from);
    if (d < s) {
        for (size_t i = 0; i < count; ++i) d[i] = s[i];
    } else {
        for (size_t i = count; i > 0; --i) d[i - 1] = s[i - 1];
    }
    return to;
}
static inline __device__ int memcmp(const void *a, const void *b, size_t count)
{
    const unsigned char *p = static_cast<const unsigned char *>(a);
    const unsigned char *q = static_cast<const unsigned char *>(b);
    for (size_t i = 0; i < count; ++i)
        if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
    return 0;
}
static inline __device__ size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length] != 0) ++length;
    return length;
}
static inline __device__ int strcmp(const char *a, const char *b)
{
    while (*a != 0 && *a == *b) ++a, ++b;
    return static_cast<int>(static_cast<unsigned char>(*a)) - static_cast<int>(static_cast<unsigned char>(*b));
}
static inline __device__ char *strcpy(char *to, const char *from)
{
    char *d = to;
    while ((*d++ = *from++) != 0) {}
    return to;
}
#endif
