// Inverse depth of tracked points from one more view: a Kalman update per point (Civera, Davison, Montiel, "Inverse
// depth parametrization for monocular SLAM", T-RO 2008, with the anchor's ray taken as known). One thread per point.
#include "av_cuda.cuh"

constexpr float GATE = 9.2103404f;  // 99 % quantile of chi squared with 2 degrees of freedom

extern "C" __global__ void update_depths(const float2* rays, const float2* seen, float2* state, uint8_t* used, int count,
                                         float variance, float r0, float r1, float r2, float r3, float r4, float r5,
                                         float r6, float r7, float r8, float t0, float t1, float t2) {
    av_wait_for_earlier();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float2 ray = rays[i], at = seen[i], now = state[i];
    const float a0 = r0 * ray.x + r1 * ray.y + r2, a1 = r3 * ray.x + r4 * ray.y + r5, a2 = r6 * ray.x + r7 * ray.y + r8;
    const float z = a2 + now.x * t2, x = a0 + now.x * t0, y = a1 + now.x * t1;
    used[i] = 0;
    if (!(z > 1e-6f)) return;
    const float j0 = (t0 * z - t2 * x) / (z * z), j1 = (t1 * z - t2 * y) / (z * z);
    const float e0 = at.x - x / z, e1 = at.y - y / z;
    const float jj = j0 * j0 + j1 * j1, je = j0 * e0 + j1 * e1, ee = e0 * e0 + e1 * e1;
    // (variance I + p j j')^-1 by the Sherman-Morrison formula
    const float gain = now.y / (variance + now.y * jj);
    const float distance = (ee - gain * je * je) / variance;
    if (!(distance <= GATE)) return;
    const float inverse = now.x + gain * je;
    if (!(inverse > 0.0f)) return;
    state[i] = make_float2(inverse, now.y * variance / (variance + now.y * jj));
    used[i] = 1;
}
