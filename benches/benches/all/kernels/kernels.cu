// The seven kernels whose speed on the software device is compared with native code. kernels/native.rs does the same.

// y = a x + y: three accesses a thread and next to no arithmetic, so what is measured is the check of addresses.
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

// Transcendental functions: precise, with the directed roundings of expf; or approximate instructions, if compiled so.
extern "C" __global__ void elementwise(int n, const float *x, const float *y, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = sinf(x[i]) * expf(y[i]) + x[i];
}

// A tree in shared memory: eight halvings with a barrier each.
extern "C" __global__ void block_reduce(const float *x, float *sums)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = part[0];
}

// A tree in registers: five shuffles a warp.
extern "C" __global__ void shuffle_reduce(const float *x, float *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = x[i];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (threadIdx.x % 32 == 0)
        sums[i / 32] = sum;
}

// C = A B of square matrices whose side is a multiple of 16, by tiles in shared memory.
extern "C" __global__ void matmul(int n, const float *a, const float *b, float *c)
{
    __shared__ float ta[16][16], tb[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int tile = 0; tile < n; tile += 16) {
        ta[ty][tx] = a[row * n + tile + tx];
        tb[ty][tx] = b[(tile + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum += ta[ty][k] * tb[k][tx];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// Marsaglia's xorwow, 256 steps of each thread's own sequence: integer arithmetic in registers only.
extern "C" __global__ void xorwow(int n, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = 123456789u ^ i, y = 362436069u, z = 521288629u, w = 88675123u, v = 5783321u + i, d = 6615241u;
    unsigned sum = 0;
    for (int step = 0; step < 256; ++step) {
        unsigned t = x ^ (x >> 2);
        x = y;
        y = z;
        z = w;
        w = v;
        v = (v ^ (v << 4)) ^ (t ^ (t << 1));
        d += 362437u;
        sum += v + d;
    }
    out[i] = sum;
}
