// Median and interquartile range of the depth in boxes, one block per box; depth_stats.cuh describes the method.
#include "av_cuda.cuh"
#include "depth_stats.cuh"

extern "C" __global__ void __launch_bounds__(256)
depth_in_boxes(const float* depth, int width, int height, const float4* boxes, float* out) {
    AV_SHARED(DepthScratch, scratch);
    av_wait_for_earlier();
    depth_stats(scratch, depth, width, height, boxes[blockIdx.x], out + blockIdx.x * 3);
}
