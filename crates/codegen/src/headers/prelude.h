// Included before every source: names that nvcc's host headers leak into every source, and that older kernels rely on.
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
