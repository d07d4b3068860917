"""The ladders of ReLU and the sigmoid, which share their kernels."""

from __future__ import annotations

from cuda_ops.library import flat
from cuda_ops.library.ladder import Ladder, Version


def _ladder(name: str, formula: str, operations: int, arithmetic: tuple[str, ...]) -> Ladder:
    function = f"av_{name}, "
    return Ladder(
        name=name,
        folder="activation",
        formula=formula,
        arrays=("x", "out"),
        moved_bytes=lambda problem: 2 * problem.count * problem.element.size_bytes,
        operations=lambda problem: operations * problem.count,
        preferred=lambda problem: flat.preferred(problem, vector=2, tile=3),
        is_flat=True,
        versions=(
            Version(
                1,
                "scalar",
                change="One thread per element.",
                why="It is the simplest kernel that uses the whole GPU.",
                limit="A thread has 4 bytes (2 in half precision) in flight: too few for the memory's latency.",
                launch=flat.scalar(f"activation_scalar<{function}"),
                fits=flat.fits_grid,
            ),
            Version(
                2,
                "vector",
                change="One pack of 16 bytes per thread.",
                why="A quarter (float32) or an eighth (half precision) of the instructions move the same bytes.",
                limit="A block lives for one pack per thread, so that blocks start all the time. An H100 hides that.",
                launch=flat.vector(f"activation_vector<{function}"),
                instructions=("LDG.E.128", *arithmetic, "STG.E.128"),
            ),
            Version(
                3,
                "tile",
                change="A tile of four packs per thread; all loads are issued before the first use.",
                why="Four loads of 16 bytes per thread are in flight.",
                limit=("On an H100 it is slower than version 2: the memory is busy at 83 % of its peak, not at 87 %."),
                launch=flat.tile(f"activation_tile<{function}"),
                instructions=("LDG.E.NA.128", *arithmetic, "STG.E.128"),
            ),
        ),
    )


RELU = _ladder("relu", "out = max(x, 0)", 1, ("FMNMX",))
SIGMOID = _ladder("sigmoid", "out = 1 / (1 + e^-x)", 4, ("MUFU.EX2", "MUFU.RCP"))
