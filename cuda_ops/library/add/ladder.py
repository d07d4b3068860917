"""The ladder of vector addition, the simplest operator of the library: start reading here."""

from __future__ import annotations

from cuda_ops.library import flat
from cuda_ops.library.ladder import Ladder, Version

ADD = Ladder(
    name="add",
    folder="add",
    formula="out = x + y",
    arrays=("x", "y", "out"),
    moved_bytes=lambda problem: 3 * problem.count * problem.element.size_bytes,
    operations=lambda problem: problem.count,
    preferred=lambda problem: flat.preferred(problem, vector=2, tile=4),
    is_flat=True,
    versions=(
        Version(
            1,
            "scalar",
            change="One thread per element.",
            why="It is the simplest kernel that uses the whole GPU: neighbouring threads read neighbouring elements, "
            "so that the 32 loads of a warp are one line of 128 bytes (64 in half precision).",
            limit="A load brings 4 bytes (2 in half precision) to a thread, and a thread has one load of each input in "
            "flight: even with all threads that the processors hold, too few bytes for the memory's latency.",
            launch=flat.scalar("add_scalar<"),
            fits=flat.fits_grid,
        ),
        Version(
            2,
            "vector",
            change="One pack of 16 bytes per thread.",
            why="A quarter (float32) or an eighth (half precision) of the instructions move the same bytes.",
            limit="A thread ends after one pack, so that new blocks start all the time. An H100 hides that: the memory "
            "is busy at 90 % of its peak.",
            launch=flat.vector("add_vector<"),
            instructions=("LDG.E.128", "FADD", "STG.E.128"),
        ),
        Version(
            3,
            "grid_stride",
            change="As many blocks as the GPU holds; each thread loops over the array.",
            why="Blocks start once. The index arithmetic of a thread is shared by all its packs.",
            limit="A thread loads its next packs only after it has stored the sum of the ones before: `out` might be "
            "the memory of `x`, so that the compiler must keep this order even where it unrolls the loop. And the last "
            "round leaves processors idle.",
            launch=flat.grid_stride("add_grid_stride<"),
            instructions=("LDG.E.128", "FADD", "STG.E.128"),
        ),
        Version(
            4,
            "tile",
            change="One tile per block: four packs of each input per thread, all of them loaded before the first sum. "
            "`__restrict__` promises that `out` is other memory.",
            why="Eight loads of 16 bytes per thread are in flight, and a processor that is done takes the next tile.",
            limit=(
                "On an H100 it is slower than version 2: it needs 36 registers per thread instead of 22, so that only "
                "66 % of the warps are resident instead of 82 %. The memory is busy at 86 % of its peak, not at 90 %."
            ),
            launch=flat.tile("add_tile<"),
            instructions=("LDG.E.NA.128", "FADD", "STG.E.128"),
        ),
    ),
)
