// For sources that were written for PyCUDA: pycuda::complex<T> is cuprum::complex<T>.
#pragma once
#include <cuprum/complex.h>

namespace pycuda = cuprum;
