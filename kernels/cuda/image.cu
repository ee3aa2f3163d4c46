// Image kernels: greyscale, Sobel edges, rotation.
//
// Launch: one thread a pixel, blocks of any shape, grid covering width x height.
// Pictures are row-major without padding; RGB pictures interleave three bytes a pixel.
// Each kernel has a host reference in kernels/src/image.rs.

// Rec. 601 luma of an 8-bit RGB picture, in 0..255 as float.
extern "C" __global__ void greyscale(const unsigned char *rgb, float *grey, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const long long i = (long long)y * width + x;
    const float r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
    grey[i] = 0.299f * r + 0.587f * g + 0.114f * b;
}

// Gradient magnitude by the Sobel operator. Each block first loads its tile, with a border of one pixel, into
// shared memory; pixels outside the picture repeat its edge. Launch with blocks of 16 x 16.
#define TILE 16
extern "C" __global__ void sobel(const float *grey, float *edges, int width, int height)
{
    __shared__ float tile[TILE + 2][TILE + 2];
    const int x0 = blockIdx.x * TILE - 1, y0 = blockIdx.y * TILE - 1;
    for (int k = threadIdx.y * TILE + threadIdx.x; k < (TILE + 2) * (TILE + 2); k += TILE * TILE) {
        const int tx = k % (TILE + 2), ty = k / (TILE + 2);
        const int sx = min(max(x0 + tx, 0), width - 1), sy = min(max(y0 + ty, 0), height - 1);
        tile[ty][tx] = grey[(long long)sy * width + sx];
    }
    __syncthreads();

    const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x >= width || y >= height) return;
    const int i = threadIdx.x + 1, j = threadIdx.y + 1;
    const float gx = (tile[j - 1][i + 1] + 2.0f * tile[j][i + 1] + tile[j + 1][i + 1])
                   - (tile[j - 1][i - 1] + 2.0f * tile[j][i - 1] + tile[j + 1][i - 1]);
    const float gy = (tile[j + 1][i - 1] + 2.0f * tile[j + 1][i] + tile[j + 1][i + 1])
                   - (tile[j - 1][i - 1] + 2.0f * tile[j - 1][i] + tile[j - 1][i + 1]);
    edges[(long long)y * width + x] = sqrtf(gx * gx + gy * gy);
}

// Rotation about the centre by an angle in radians, with bilinear interpolation; what comes from outside is black.
extern "C" __global__ void rotate(const float *source, float *target, int width, int height, float angle)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float c = cosf(angle), s = sinf(angle);
    const float cx = 0.5f * (width - 1), cy = 0.5f * (height - 1);
    const float dx = x - cx, dy = y - cy;
    const float u = c * dx + s * dy + cx, v = c * dy - s * dx + cy;
    const float fu = floorf(u), fv = floorf(v);
    const int iu = (int)fu, iv = (int)fv;
    float value = 0.0f;
    for (int b = 0; b < 2; ++b)
        for (int a = 0; a < 2; ++a) {
            const int px = iu + a, py = iv + b;
            if (px < 0 || px >= width || py < 0 || py >= height) continue;
            const float wx = a ? u - fu : 1.0f - (u - fu), wy = b ? v - fv : 1.0f - (v - fv);
            value += wx * wy * source[(long long)py * width + px];
        }
    target[(long long)y * width + x] = value;
}
