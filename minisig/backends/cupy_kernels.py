"""The kernels of the CuPy backend: whatever is more than one pass over memory, for float32 and for float64."""

from typing import Any

import cupy as cp

sigmoid = cp.ElementwiseKernel("T z", "T y", "y = T(0.5) * (tanh(T(0.5) * z) + T(1))", "minisig_sigmoid")

sigmoid_backward = cp.ElementwiseKernel("T dy, T y", "T dz", "dz = dy * y * (T(1) - y)", "minisig_sigmoid_backward")

add = cp.ElementwiseKernel("T a, T alpha", "T into", "into += alpha * a", "minisig_add")

add_bias = cp.ElementwiseKernel("T b", "T z", "z += b", "minisig_add_bias")

# Entry i is unit j of example n; its four gates lie in row n of z, H apart.
lstm = cp.ElementwiseKernel(
    "raw T z, T c_prev, int32 H",
    "raw T gates, T c, T tanh_c, T h",
    """
    const ptrdiff_t at = i / H * 4 * H + i % H;
    const T in = T(0.5) * (tanh(T(0.5) * z[at]) + T(1));
    const T forget = T(0.5) * (tanh(T(0.5) * z[at + H]) + T(1));
    const T candidate = tanh(z[at + 2 * H]);
    const T out = T(0.5) * (tanh(T(0.5) * z[at + 3 * H]) + T(1));
    c = forget * c_prev + in * candidate;
    tanh_c = tanh(c);
    h = out * tanh_c;
    gates[at] = in; gates[at + H] = forget; gates[at + 2 * H] = candidate; gates[at + 3 * H] = out;
    """,
    "minisig_lstm",
)

lstm_slopes = cp.ElementwiseKernel(
    "raw T gates, T c_prev, T tanh_c, int32 H",
    "raw T slopes, T reach",
    """
    const ptrdiff_t at = i / H * 4 * H + i % H;
    const T in = gates[at], forget = gates[at + H], candidate = gates[at + 2 * H], out = gates[at + 3 * H];
    slopes[at] = candidate * in * (T(1) - in);
    slopes[at + H] = c_prev * forget * (T(1) - forget);
    slopes[at + 2 * H] = in * (T(1) - candidate * candidate);
    slopes[at + 3 * H] = tanh_c * out * (T(1) - out);
    reach = out * (T(1) - tanh_c * tanh_c);
    """,
    "minisig_lstm_slopes",
)

lstm_backward = cp.ElementwiseKernel(
    "T dh, T reach, T forget, int32 H",
    "raw T dz, T dc",
    """
    const ptrdiff_t at = i / H * 4 * H + i % H;
    const T d = dc + dh * reach;
    dz[at] *= d;
    dz[at + H] *= d;
    dz[at + 2 * H] *= d;
    dz[at + 3 * H] *= dh;
    dc = d * forget;
    """,
    "minisig_lstm_backward",
)

# Here there are three. The bias is c, that within the reset gate's reach.
gru = cp.ElementwiseKernel(
    "raw T a, raw T bias, T h_prev, int32 H",
    "raw T z, raw T gates, T q, T h",
    """
    const ptrdiff_t at = i / H * 3 * H + i % H;
    z[at] += a[at];
    z[at + H] += a[at + H];
    const T reset = T(0.5) * (tanh(T(0.5) * z[at]) + T(1));
    const T update = T(0.5) * (tanh(T(0.5) * z[at + H]) + T(1));
    q = a[at + 2 * H] + bias[i % H];
    z[at + 2 * H] += reset * q;
    const T candidate = tanh(z[at + 2 * H]);
    h = candidate + update * (h_prev - candidate);
    gates[at] = reset; gates[at + H] = update; gates[at + 2 * H] = candidate;
    """,
    "minisig_gru",
)

gru_slopes = cp.ElementwiseKernel(
    "raw T gates, T q, T h_prev, int32 H",
    "raw T slopes",
    """
    const ptrdiff_t at = i / H * 3 * H + i % H;
    const T reset = gates[at], update = gates[at + H], candidate = gates[at + 2 * H];
    const T by_candidate = (T(1) - update) * (T(1) - candidate * candidate);
    slopes[at] = by_candidate * q * reset * (T(1) - reset);
    slopes[at + H] = (h_prev - candidate) * update * (T(1) - update);
    slopes[at + 2 * H] = by_candidate;
    """,
    "minisig_gru_slopes",
)

gru_backward = cp.ElementwiseKernel(
    "T dh, raw T gates, int32 H",
    "raw T dz, raw T da, T dh_prev",
    """
    const ptrdiff_t at = i / H * 3 * H + i % H;
    da[at] = dz[at] *= dh;
    da[at + H] = dz[at + H] *= dh;
    da[at + 2 * H] = gates[at] * (dz[at + 2 * H] *= dh);
    dh_prev += dh * gates[at + H];
    """,
    "minisig_gru_backward",
)

adam = cp.ElementwiseKernel(
    "T gradient, T scale, T step, T beta1, T beta2, T epsilon",
    "T W, T m, T v",
    """
    const T g = scale * gradient;
    m = beta1 * m + g;
    v = beta2 * v + g * g;
    W -= step * m / (sqrt(v) + epsilon);
    """,
    "minisig_adam",
)

adam_with_decay = cp.ElementwiseKernel(
    "T gradient, T scale, T step, T beta1, T beta2, T epsilon, T decay",
    "T W, T m, T v",
    """
    const T g = scale * gradient;
    m = beta1 * m + g;
    v = beta2 * v + g * g;
    W = (T(1) - decay) * W - step * m / (sqrt(v) + epsilon);
    """,
    "minisig_adam_with_decay",
)

rmsprop = cp.ElementwiseKernel(
    "T gradient, T scale, T step, T rho, T epsilon",
    "T W, T v",
    """
    const T g = scale * gradient;
    v = rho * v + (T(1) - rho) * g * g;
    W -= step * g / (sqrt(v) + epsilon);
    """,
    "minisig_rmsprop",
)

norm = cp.ReductionKernel("T x", "float64 y", "(double)x * (double)x", "a + b", "y = sqrt(a)", "0", "minisig_norm")

# Squares of float32 fit into float64, those of float64 may not.
norm_of_doubles = cp.ReductionKernel(
    "float64 x", "float64 y", "fabs(x)", "hypot(a, b)", "y = a", "0", "minisig_norm_of_doubles"
)

# ⟨x xᵀ, dz dzᵀ⟩ of Gram matrices; rounding may leave a sum that vanishes below zero.
gram_norm = cp.ReductionKernel(
    "T xx, T dd", "float64 y", "(double)xx * (double)dd", "a + b", "y = sqrt(fabs(a))", "0", "minisig_gram_norm"
)

scaled = cp.ElementwiseKernel("T x, float64 size", "T y", "y = size > 0 ? T(x / size) : T(0)", "minisig_scaled")

clip_factor = cp.ElementwiseKernel(
    "float64 norm, float64 most", "T factor", "factor = norm > most ? T(most / norm) : T(1)", "minisig_clip_factor"
)

bilinear = cp.ElementwiseKernel(
    "raw T images, T row, T column, int32 B, int32 columns, int32 height, int32 width, T outside",
    "T pixel",
    """
    const int b = i / columns % B;
    const T r = min(max(row, T(-1)), T(height)), c = min(max(column, T(-1)), T(width));
    const int top = int(floor(r)), left = int(floor(c));
    T corner[4];
    for (int k = 0; k < 4; k++) {
        const int y = top + k / 2, x = left + k % 2;
        const bool inside = 0 <= y && y < height && 0 <= x && x < width;
        corner[k] = inside ? images[(ptrdiff_t(b) * height + y) * width + x] : outside;
    }
    const T above = corner[0] + (c - left) * (corner[1] - corner[0]);
    const T below = corner[2] + (c - left) * (corner[3] - corner[2]);
    pixel = above + (r - top) * (below - above);
    """,
    "minisig_bilinear",
)

THREADS = 128  # of a block, which has one row of a loss

_SOFTMAX = r"""
template <typename T>
__device__ void softmax(const T* z, const long long* labels, T* losses, T* dz, const int rows, const int classes) {
    __shared__ T shared[%(threads)d];
    const int row = blockIdx.x, me = threadIdx.x;
    z += (long long)row * classes;
    dz += (long long)row * classes;
    T most = z[0];
    for (int c = me; c < classes; c += %(threads)d) most = z[c] > most ? z[c] : most;
    shared[me] = most;
    for (int half = %(threads)d / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me < half && shared[me + half] > shared[me]) shared[me] = shared[me + half];
    }
    __syncthreads();
    most = shared[0];
    __syncthreads();
    T total = 0;
    for (int c = me; c < classes; c += %(threads)d) {
        const T e = exp(z[c] - most);
        dz[c] = e;
        total += e;
    }
    shared[me] = total;
    for (int half = %(threads)d / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me < half) shared[me] += shared[me + half];
    }
    __syncthreads();
    total = shared[0];
    const long long label = labels[row];
    for (int c = me; c < classes; c += %(threads)d) dz[c] = (dz[c] / total - (c == label ? T(1) : T(0))) / rows;
    if (me == 0) losses[row] = label < 0 || label >= classes ? T(nan("")) : log(total) - (z[label] - most);
}
extern "C" __global__ void minisig_softmax_%(T)s(
    const %(T)s* z, const long long* labels, %(T)s* losses, %(T)s* dz, const int rows, const int classes) {
    softmax(z, labels, losses, dz, rows, classes);
}
"""

# A row's loss is the sum of its terms, one for each output x and its target t.
_TERMS = r"""
extern "C" __global__ void minisig_%(name)s_%(T)s(
    const %(T)s* z, const %(T)s* targets, %(T)s* losses, %(T)s* dz, const int rows, const int outputs) {
    typedef %(T)s T;
    __shared__ T shared[%(threads)d];
    const int me = threadIdx.x;
    const long long start = (long long)blockIdx.x * outputs;
    T total = 0;
    for (long long at = start + me; at < start + outputs; at += %(threads)d) {
        const T x = z[at], t = targets[at];
        %(term)s
    }
    shared[me] = total;
    for (int half = %(threads)d / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me < half) shared[me] += shared[me + half];
    }
    if (me == 0) losses[blockIdx.x] = shared[0];
}
"""

_SIGMOID_TERM = """
        const T e = exp(x > T(0) ? -x : x);
        total += (x > T(0) ? x : T(0)) - x * t + log1p(e);
        dz[at] = (T(0.5) * (tanh(T(0.5) * x) + T(1)) - t) / rows;
"""

_SQUARED_TERM = """
        const T error = x - t;
        total += error * error / outputs;
        dz[at] = T(2) * error / rows / outputs;
"""

C_NAMES = {"f": "float", "d": "double"}

softmax = {
    char: cp.RawKernel(_SOFTMAX % {"threads": THREADS, "T": T}, f"minisig_softmax_{T}") for char, T in C_NAMES.items()
}


def _row_losses(name: str, term: str) -> dict[str, Any]:
    return {
        char: cp.RawKernel(_TERMS % {"threads": THREADS, "T": T, "name": name, "term": term}, f"minisig_{name}_{T}")
        for char, T in C_NAMES.items()
    }


sigmoid_losses = _row_losses("sigmoid_losses", _SIGMOID_TERM)
squared_losses = _row_losses("squared_losses", _SQUARED_TERM)
