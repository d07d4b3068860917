"""The ladders of the gradients of ReLU and the sigmoid, which share their kernels."""

from __future__ import annotations

from cuda_ops.library import flat
from cuda_ops.library.ladder import Ladder, Version


def _ladder(name: str, formula: str, operations: int) -> Ladder:
    function = f"av_{name}, "
    return Ladder(
        name=name,
        folder="activation_backward",
        formula=formula,
        arrays=("gradient", "y", "out"),
        moved_bytes=lambda problem: 3 * problem.count * problem.element.size_bytes,
        operations=lambda problem: operations * problem.count,
        preferred=lambda problem: flat.preferred(problem, vector=2, tile=3),
        is_flat=True,
        versions=(
            Version(
                1,
                "scalar",
                change="One thread per element. The derivative is computed from the result `y` of the forward pass.",
                why="The forward pass has nothing more to keep: `y` exists already.",
                limit="A thread has 8 bytes (4 in half precision) in flight: too few for the memory's latency.",
                launch=flat.scalar(f"activation_backward_scalar<{function}"),
                fits=flat.fits_grid,
            ),
            Version(
                2,
                "vector",
                change="One pack of 16 bytes of each input per thread.",
                why="A quarter (float32) or an eighth (half precision) of the instructions move the same bytes.",
                limit="A block lives for one pack per thread, so that blocks start all the time.",
                launch=flat.vector(f"activation_backward_vector<{function}"),
                instructions=("LDG.E.128", "STG.E.128"),
            ),
            Version(
                3,
                "tile",
                change="A tile of four packs per thread; all loads are issued before the first use.",
                why="Eight loads of 16 bytes per thread are in flight.",
                limit="Not yet timed against version 2 with counters.",
                launch=flat.tile(f"activation_backward_tile<{function}"),
                instructions=("LDG.E.NA.128", "STG.E.128"),
            ),
        ),
    )


RELU_BACKWARD = _ladder("relu_backward", "out = gradient where y != 0, else 0; y = relu(x)", 1)
SIGMOID_BACKWARD = _ladder("sigmoid_backward", "out = gradient * y * (1 - y); y = sigmoid(x)", 3)
