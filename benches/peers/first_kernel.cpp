// The C++ side of "first kernel": a new process that compiles a kernel with NVRTC, loads it and runs it once, as a program written by
// hand does. Libraries are opened at run time, so that it uses exactly the NVRTC that the Rust side uses.
//
// g++ -O2 -std=c++17 -I.../cuda/include first_kernel.cpp -o first_kernel -ldl
// first_kernel LIBNVRTC plain|half INCLUDE_DIR|- [ARCHITECTURE]
// With an architecture (compute_80) it only compiles, and needs no driver. Prints microseconds by phase.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

static const char *const PLAIN = "extern \"C\" __global__ void first(float *x, int n)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i] = x[i] * 2.0f + 1.0f;\n}\n";
static const char *const HALF = "#include <cuda_fp16.h>\nextern \"C\" __global__ void first(float *x, int n)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i] = __half2float(__hfma(__float2half(x[i]), __float2half(2.0f), __float2half(1.0f)));\n}\n";

using Clock = std::chrono::steady_clock;

static double since(Clock::time_point start) { return std::chrono::duration<double, std::micro>(Clock::now() - start).count(); }

[[noreturn]] static void fail(const std::string &what)
{
    std::fprintf(stderr, "first_kernel: %s\n", what.c_str());
    std::exit(1);
}

static void *open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) fail(dlerror());
    return library;
}

template <class F> static F *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) fail(std::string("no symbol ") + name);
    return reinterpret_cast<F *>(found);
}

#define DRIVER(name) symbol<decltype(name)>(driver, #name)
#define NVRTC(name) symbol<decltype(name)>(nvrtc, #name)
#define CHECK(call)                                                                                                     \
    do {                                                                                                                \
        if (int code = (int)(call)) fail(#call " gave " + std::to_string(code));                                        \
    } while (0)

int main(int argc, char **argv)
{
    if (argc < 4) fail("usage: first_kernel LIBNVRTC plain|half INCLUDE_DIR|- [ARCHITECTURE]");
    const bool half = std::string(argv[2]) == "half";
    const std::string include = argv[3];
    std::string architecture = argc > 4 ? argv[4] : "";
    const bool run = architecture.empty();

    void *driver = nullptr;
    CUdeviceptr x = 0;
    if (run) {
        driver = open_library("libcuda.so.1");
        auto start = Clock::now();
        CHECK(DRIVER(cuInit)(0));
        CUdevice device;
        CHECK(DRIVER(cuDeviceGet)(&device, 0));
        CUcontext context;
        CHECK(DRIVER(cuDevicePrimaryCtxRetain)(&context, device));
        CHECK(DRIVER(cuCtxSetCurrent)(context));
        std::printf("context %.1f\n", since(start));
        int major = 0, minor = 0;
        CHECK(DRIVER(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
        CHECK(DRIVER(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
        architecture = "sm_" + std::to_string(major * 10 + minor);
        CHECK(symbol<CUresult(CUdeviceptr *, size_t)>(driver, "cuMemAlloc_v2")(&x, 4096));
        CHECK(symbol<CUresult(CUdeviceptr, unsigned char, size_t)>(driver, "cuMemsetD8_v2")(x, 0, 4096));
    }

    const auto start = Clock::now();
    void *nvrtc = open_library(argv[1]);
    nvrtcProgram program;
    CHECK(NVRTC(nvrtcCreateProgram)(&program, half ? HALF : PLAIN, "first.cu", 0, nullptr, nullptr));
    const std::string arch = "--gpu-architecture=" + architecture, dir = "--include-path=" + include;
    std::vector<const char *> options{arch.c_str()};
    if (include != "-") options.push_back(dir.c_str());
    CHECK(NVRTC(nvrtcCompileProgram)(program, (int)options.size(), options.data()));
    std::vector<char> image;
    size_t size = 0;
    if (run) {
        CHECK(NVRTC(nvrtcGetCUBINSize)(program, &size));
        image.resize(size);
        CHECK(NVRTC(nvrtcGetCUBIN)(program, image.data()));
    } else {
        CHECK(NVRTC(nvrtcGetPTXSize)(program, &size));
        image.resize(size);
        CHECK(NVRTC(nvrtcGetPTX)(program, image.data()));
    }
    CHECK(NVRTC(nvrtcDestroyProgram)(&program));
    std::printf("image %.1f\n", since(start));
    if (run) {
        CUmodule module;
        CUfunction function;
        CHECK(DRIVER(cuModuleLoadData)(&module, image.data()));
        CHECK(DRIVER(cuModuleGetFunction)(&function, module, "first"));
        int n = 1024;
        void *arguments[] = {&x, &n};
        CHECK(DRIVER(cuLaunchKernel)(function, 4, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(DRIVER(cuCtxSynchronize)());
    }
    std::printf("kernel %.1f\n", since(start));
    std::fflush(stdout);
    return 0;
}
