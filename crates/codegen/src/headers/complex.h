// Complex numbers: cuprum::complex<float> and cuprum::complex<double>, laid out as two numbers, aligned as one.
#ifndef CUPRUM_COMPLEX_H
#define CUPRUM_COMPLEX_H

namespace cuprum {

#define CUPRUM_FN __device__ __forceinline__

template <class T> struct complex;

namespace complex_detail {
// Whether a number of type U is one of type T without loss.
template <class T, class U, bool = (sizeof(U) < sizeof(T))> struct widens {};
template <class T, class U> struct widens<T, U, true> { typedef int type; };

// 2^big squared overflows almost, 2^small squared is lost almost; beyond `flat` tanh is 1.
template <class T> struct limits;
template <> struct limits<float> {
    static CUPRUM_FN float big() { return 0x1p125f; }
    static CUPRUM_FN float small() { return 0x1p-100f; }
    static CUPRUM_FN float up() { return 0x1p60f; }
    static CUPRUM_FN float root_down() { return 0x1p-30f; }
    static CUPRUM_FN float flat() { return 11.0f; }
};
template <> struct limits<double> {
    static CUPRUM_FN double big() { return 0x1p1021; }
    static CUPRUM_FN double small() { return 0x1p-960; }
    static CUPRUM_FN double up() { return 0x1p120; }
    static CUPRUM_FN double root_down() { return 0x1p-60; }
    static CUPRUM_FN double flat() { return 22.0; }
};
}

template <class T> struct complex {
    typedef T value_type;
    T re, im;

    // Trivial, so that arrays of them can lie in shared memory.
    complex() = default;
    CUPRUM_FN constexpr complex(T real, T imaginary = T(0)) : re(real), im(imaginary) {}
    template <class U, typename complex_detail::widens<T, U>::type = 0>
    CUPRUM_FN constexpr complex(const complex<U> &z) : re(z.re), im(z.im) {}
    template <class U, typename complex_detail::widens<U, T>::type = 0, class = void>
    CUPRUM_FN explicit constexpr complex(const complex<U> &z) : re(T(z.re)), im(T(z.im)) {}

    CUPRUM_FN constexpr T real() const { return re; }
    CUPRUM_FN constexpr T imag() const { return im; }
    CUPRUM_FN void real(T value) { re = value; }
    CUPRUM_FN void imag(T value) { im = value; }

    CUPRUM_FN complex &operator+=(const complex &z) { re += z.re; im += z.im; return *this; }
    CUPRUM_FN complex &operator-=(const complex &z) { re -= z.re; im -= z.im; return *this; }
    CUPRUM_FN complex &operator*=(const complex &z) { return *this = *this * z; }
    CUPRUM_FN complex &operator/=(const complex &z) { return *this = *this / z; }
    CUPRUM_FN complex &operator+=(T x) { re += x; return *this; }
    CUPRUM_FN complex &operator-=(T x) { re -= x; return *this; }
    CUPRUM_FN complex &operator*=(T x) { re *= x; im *= x; return *this; }
    CUPRUM_FN complex &operator/=(T x) { re /= x; im /= x; return *this; }

    // Found by their arguments, and taking what converts to one: 2 * z, z + 1.
    friend CUPRUM_FN complex operator+(const complex &z) { return z; }
    friend CUPRUM_FN complex operator-(const complex &z) { return complex(-z.re, -z.im); }
    friend CUPRUM_FN complex operator+(const complex &a, const complex &b) { return complex(a.re + b.re, a.im + b.im); }
    friend CUPRUM_FN complex operator+(const complex &a, T b) { return complex(a.re + b, a.im); }
    friend CUPRUM_FN complex operator+(T a, const complex &b) { return complex(a + b.re, b.im); }
    friend CUPRUM_FN complex operator-(const complex &a, const complex &b) { return complex(a.re - b.re, a.im - b.im); }
    friend CUPRUM_FN complex operator-(const complex &a, T b) { return complex(a.re - b, a.im); }
    friend CUPRUM_FN complex operator-(T a, const complex &b) { return complex(a - b.re, -b.im); }
    friend CUPRUM_FN complex operator*(const complex &a, const complex &b) {
        return complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
    }
    friend CUPRUM_FN complex operator*(const complex &a, T b) { return complex(a.re * b, a.im * b); }
    friend CUPRUM_FN complex operator*(T a, const complex &b) { return complex(a * b.re, a * b.im); }
    // Smith 1962: no product of two parts of the divisor, which could overflow.
    friend CUPRUM_FN complex operator/(const complex &a, const complex &b) {
        if (::fabs(b.re) >= ::fabs(b.im)) {
            const T r = b.im / b.re, d = b.re + b.im * r;
            return complex((a.re + a.im * r) / d, (a.im - a.re * r) / d);
        }
        const T r = b.re / b.im, d = b.re * r + b.im;
        return complex((a.re * r + a.im) / d, (a.im * r - a.re) / d);
    }
    friend CUPRUM_FN complex operator/(const complex &a, T b) { return complex(a.re / b, a.im / b); }
    friend CUPRUM_FN complex operator/(T a, const complex &b) { return complex(a) / b; }
    friend CUPRUM_FN constexpr bool operator==(const complex &a, const complex &b) { return a.re == b.re && a.im == b.im; }
    friend CUPRUM_FN constexpr bool operator==(const complex &a, T b) { return a.re == b && a.im == 0; }
    friend CUPRUM_FN constexpr bool operator==(T a, const complex &b) { return a == b.re && b.im == 0; }
    friend CUPRUM_FN constexpr bool operator!=(const complex &a, const complex &b) { return !(a == b); }
    friend CUPRUM_FN constexpr bool operator!=(const complex &a, T b) { return !(a == b); }
    friend CUPRUM_FN constexpr bool operator!=(T a, const complex &b) { return !(a == b); }
};

template <class T> CUPRUM_FN constexpr T real(const complex<T> &z) { return z.re; }
template <class T> CUPRUM_FN constexpr T imag(const complex<T> &z) { return z.im; }
template <class T> CUPRUM_FN T abs(const complex<T> &z) { return ::hypot(z.re, z.im); }
template <class T> CUPRUM_FN T arg(const complex<T> &z) { return ::atan2(z.im, z.re); }
// The square of the absolute value.
template <class T> CUPRUM_FN T norm(const complex<T> &z) { return z.re * z.re + z.im * z.im; }
template <class T> CUPRUM_FN complex<T> conj(const complex<T> &z) { return complex<T>(z.re, -z.im); }
template <class T> CUPRUM_FN complex<T> polar(T radius, T angle = T(0)) {
    return complex<T>(radius * ::cos(angle), radius * ::sin(angle));
}

template <class T> CUPRUM_FN complex<T> sqrt(complex<T> z) {
    typedef complex_detail::limits<T> limits;
    const T most = ::fmax(::fabs(z.re), ::fabs(z.im));
    if (most == 0) return complex<T>(T(0), z.im);
    // Scaled, where the sum below would overflow or lose what is small.
    T scale = 1;
    if (most > limits::big()) {
        z *= T(0.25);
        scale = 2;
    } else if (most < limits::small()) {
        z *= limits::up();
        scale = limits::root_down();
    }
    const T t = ::sqrt((::fabs(z.re) + abs(z)) * T(0.5));
    const T u = ::fabs(z.im) / (2 * t);
    return z.re >= 0 ? complex<T>(scale * t, ::copysign(scale * u, z.im)) : complex<T>(scale * u, ::copysign(scale * t, z.im));
}

template <class T> CUPRUM_FN complex<T> exp(const complex<T> &z) {
    const T e = ::exp(z.re);
    if (z.im == 0) return complex<T>(e, z.im);
    return complex<T>(e * ::cos(z.im), e * ::sin(z.im));
}

template <class T> CUPRUM_FN complex<T> log(const complex<T> &z) {
    const T more = ::fmax(::fabs(z.re), ::fabs(z.im)), less = ::fmin(::fabs(z.re), ::fabs(z.im));
    // Near the unit circle the logarithm of the absolute value is lost in its rounding.
    const T part = more > T(0.5) && more < T(1.5) ? T(0.5) * ::log1p((more - 1) * (more + 1) + less * less) : ::log(abs(z));
    return complex<T>(part, arg(z));
}

template <class T> CUPRUM_FN complex<T> log10(const complex<T> &z) { return log(z) * T(0.43429448190325182765); }

// By repeated multiplication: exact where the products are.
template <class T> CUPRUM_FN complex<T> pow(complex<T> z, int n) {
    unsigned left = n < 0 ? 0u - (unsigned)n : (unsigned)n;
    complex<T> result(T(1));
    for (; left; left >>= 1) {
        if (left & 1) result *= z;
        if (left > 1) z *= z;
    }
    return n < 0 ? T(1) / result : result;
}

template <class T> CUPRUM_FN complex<T> pow(const complex<T> &z, T x) {
    if (x == ::rint(x) && ::fabs(x) <= 64) return pow(z, (int)x);
    if (z.re == 0 && z.im == 0 && x > 0) return complex<T>(T(0));
    return polar(::pow(abs(z), x), x * arg(z));
}

template <class T> CUPRUM_FN complex<T> pow(const complex<T> &z, const complex<T> &w) {
    if (w.im == 0) return pow(z, w.re);
    if (z.re == 0 && z.im == 0 && w.re > 0) return complex<T>(T(0));
    return exp(w * log(z));
}

template <class T> CUPRUM_FN complex<T> pow(T x, const complex<T> &w) {
    return x > 0 ? polar(::pow(x, w.re), w.im * ::log(x)) : pow(complex<T>(x), w);
}

template <class T> CUPRUM_FN complex<T> sin(const complex<T> &z) {
    return complex<T>(::sin(z.re) * ::cosh(z.im), ::cos(z.re) * ::sinh(z.im));
}
template <class T> CUPRUM_FN complex<T> cos(const complex<T> &z) {
    return complex<T>(::cos(z.re) * ::cosh(z.im), -(::sin(z.re) * ::sinh(z.im)));
}
template <class T> CUPRUM_FN complex<T> sinh(const complex<T> &z) {
    return complex<T>(::sinh(z.re) * ::cos(z.im), ::cosh(z.re) * ::sin(z.im));
}
template <class T> CUPRUM_FN complex<T> cosh(const complex<T> &z) {
    return complex<T>(::cosh(z.re) * ::cos(z.im), ::sinh(z.re) * ::sin(z.im));
}

// Kahan 1987: no difference of numbers that are almost the same.
template <class T> CUPRUM_FN complex<T> tanh(const complex<T> &z) {
    if (::fabs(z.re) > complex_detail::limits<T>::flat()) {
        return complex<T>(::copysign(T(1), z.re), 4 * ::sin(z.im) * ::cos(z.im) * ::exp(-2 * ::fabs(z.re)));
    }
    const T t = ::tan(z.im), beta = 1 + t * t, s = ::sinh(z.re), rho = ::sqrt(1 + s * s);
    const T d = 1 + beta * s * s;
    return complex<T>(beta * rho * s / d, t / d);
}
template <class T> CUPRUM_FN complex<T> tan(const complex<T> &z) {
    const complex<T> w = tanh(complex<T>(-z.im, z.re));
    return complex<T>(w.im, -w.re);
}

#undef CUPRUM_FN
}

#endif
