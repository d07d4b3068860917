// out = a b + bias on the tensor cores, by CUDA's WMMA instructions: a warp multiplies matrices of 16 x 16 that it
// loads from shared memory; it is not documented which lane holds which element.
//
// A block of four warps computes a tile of 64 x 64, each warp a quarter of it. Sums are stored to `out` through shared
// memory.
#include "products/av_half_product.cuh"
#include "products/av_wmma.cuh"

template <class T, int LANES, bool A_IS_WIDE, bool B_IS_WIDE>
__global__ void __launch_bounds__(128)
matmul_half_wmma(const T* a, const T* b, const T* bias, T* out, int rows, int columns, int depth) {
    constexpr int TILE = 64, DEPTH = 32, PITCH = TILE + 4;
    using A = av_half_tile<T, LANES, TILE, DEPTH, A_IS_WIDE, 128, 8>;
    using B = av_half_tile<T, LANES, TILE, DEPTH, B_IS_WIDE, 128, 8>;
    AV_SHARED_ARRAY(av_wmma_room, room, TILE * PITCH * 4 / 32);
    T* const tile_a = reinterpret_cast<T*>(room);
    T* const tile_b = tile_a + A::COUNT;
    float* const sums = reinterpret_cast<float*>(room);
    static_assert((A::COUNT + B::COUNT) * 2 <= TILE * PITCH * 4, "both tiles fit into the memory of the sums");
    const av_tile_place tile = av_place_of_tile<1>(blockIdx.x, TILE, TILE, rows, columns);
    const int x = av_warp() % 2 * 32, y = av_warp() / 2 * 32;
    const auto copy = [](T* to, const T* from, bool is_there) {
        av_store<T, LANES>(to, is_there ? av_load<T, LANES>(from) : av_pack<T, LANES>{});
    };
    A copies_a;
    B copies_b;
    copies_a.begin(a, tile.row, rows, depth), copies_b.begin(b, tile.column, columns, depth);
    av_wmma_sum sum[2][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[i / 2][i % 2].clear();
    for (int64_t from = 0; from < depth; from += DEPTH) {
        copies_a.next(tile_a, copy), copies_b.next(tile_b, copy);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            av_wmma_factor<T, false, A_IS_WIDE> of_a[2];
            av_wmma_factor<T, true, !B_IS_WIDE> of_b[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                of_a[i].load(tile_a + (A_IS_WIDE ? k * A::PITCH + y + 16 * i : (y + 16 * i) * A::PITCH + k), A::PITCH);
                of_b[i].load(tile_b + (B_IS_WIDE ? k * B::PITCH + x + 16 * i : (x + 16 * i) * B::PITCH + k), B::PITCH);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) sum[i / 2][i % 2].add(of_a[i / 2], of_b[i % 2]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[i / 2][i % 2].store(sums + (y + i / 2 * 16) * PITCH + x + i % 2 * 16, PITCH);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE * TILE / LANES / 128; ++i) {
        const int pack = i * 128 + int(threadIdx.x), r = pack / (TILE / LANES), c = pack % (TILE / LANES) * LANES;
        const int64_t row = tile.row + r, column = tile.column + c;
        if (row >= rows || column >= columns) continue;
        float values[LANES];
#pragma unroll
        for (int e = 0; e < LANES; ++e) values[e] = sums[r * PITCH + c + e];
        if (bias) {
#pragma unroll
            for (int e = 0; e < LANES; ++e) values[e] += av_to_float(bias[column + e]);
        }
        av_store<T, LANES>(out + row * columns + column, av_packed<T, LANES>(values));
    }
}
