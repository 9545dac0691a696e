// In place of CuPy's file of this name, which every kernel includes and for which g++ would take most of its time.
//
// Some kernels of real numbers have overloads for complex ones; so the type is there, but no arithmetic with it. A
// kernel that computes with complex numbers does not compile for the host, and its launch raises.
#pragma once

template <class T>
struct complex {
    T r, i;
    complex(T real = T(0), T imag = T(0)) : r(real), i(imag) {}
    T real() const { return r; }
    T imag() const { return i; }
};

template <class T>
T norm(const complex<T>& z) {
    return z.r * z.r + z.i * z.i;
}
