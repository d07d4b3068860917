"""Runs each CUDA operator once at small odd sizes; `make test-gpu` runs it under compute-sanitizer.

`python -m benchmarks.gpu.sanitize --tools` runs itself under memcheck, racecheck and initcheck, side by side. racecheck
takes longest, so its cases are shared out over several programs. The exit status is 1 if a tool found something or a
program failed; then its last lines are printed.

With `--large` the size is 1280x720, for Nsight Compute. With `--library` only the operator library's versions run;
with `--compile` they are compiled into the cache in many processes, and nothing runs. With `--share 0/2` the first of
two halves of the library's cases runs, and the operators of the hot path; with `--share 1/2` the second half.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from benchmarks.gpu.library.compiling import compile_all, compilers, pool_of
from benchmarks.gpu.library.shapes import Case, inputs_for, problem_of
from cuda_ops.attend.op import attend
from cuda_ops.best_rows.op import best_rows
from cuda_ops.bias_silu.op import bias_silu
from cuda_ops.blur.op import gaussian_blur
from cuda_ops.canny.op import canny
from cuda_ops.conv.host import TILES, Plan
from cuda_ops.conv.op import conv
from cuda_ops.corner.op import corner_score
from cuda_ops.depth.op import depth_in_boxes
from cuda_ops.depthwise.op import depthwise
from cuda_ops.detect.op import detect_dense, detect_end_to_end
from cuda_ops.flow.op import track_points
from cuda_ops.frame import FrameGraph
from cuda_ops.hough.op import hough_lines
from cuda_ops.lab.host import LabRange
from cuda_ops.lab.op import lab_mask
from cuda_ops.lanes.host import GroundCamera, GroundGrid
from cuda_ops.lanes.op import colour_mask, ground_mask
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import BFLOAT16, FLOAT32, Ladder, Problem
from cuda_ops.library.matmul_half.ladder import MATMUL_HALF
from cuda_ops.library.matmul_half.op import matmul_half
from cuda_ops.library.operators import OPERATORS
from cuda_ops.library.run import architecture
from cuda_ops.max_pool.op import max_pools
from cuda_ops.preprocess.op import preprocess
from cuda_ops.triangulate.op import update_depths

AHEAD_ROWS, AHEAD_COLUMNS = 70, (66048, 262144)
"""Rows of which not all run at once."""
ENDED = "sanitize came to its end"
"""In the last line that a run prints."""
SHARES = {"memcheck": 1, "racecheck": 4, "initcheck": 1}
"""compute-sanitizer's tools, with the number of programs that each one's cases are shared out over."""
SHOWN_CHARACTERS = 4000
SUMMARY = "SUMMARY"
"""In the last line of a tool that came to its end."""


@dataclass(frozen=True, slots=True)
class Share:
    """One of the programs of a tool."""

    tool: str
    number: int
    of: int

    @property
    def title(self) -> str:
        return self.tool if self.of == 1 else f"{self.tool}, {self.number + 1} of {self.of}"

    def command(self) -> list[str]:
        options = ["--tool", self.tool, "--report-api-errors", "no", "--error-exitcode", "1"]
        own = [sys.executable, "-m", "benchmarks.gpu.sanitize", "--share", f"{self.number}/{self.of}"]
        return ["compute-sanitizer", *options, *own]


def shares() -> list[Share]:
    """All programs."""
    return [Share(tool, number, count) for tool, count in SHARES.items() for number in range(count)]


def why_not(status: int, text: str) -> str:
    """Why a program's answer is no proof that nothing is wrong; empty if it is one."""
    if status:
        return f"status {status}"
    return "" if SUMMARY in text and ENDED in text else "it did not come to its end"


def run(chosen: list[Share], folder: Path) -> list[str]:
    """Run the programs at once; one line for each that found something or failed."""
    paths = [folder / f"{share.tool}_{share.number}.txt" for share in chosen]
    programs = []
    for share, path in zip(chosen, paths, strict=True):
        with path.open("w") as file:
            programs.append(subprocess.Popen(share.command(), stdout=file, stderr=subprocess.STDOUT))
    found = []
    for share, path, program in zip(chosen, paths, programs, strict=True):
        status, text = program.wait(), path.read_text(errors="replace")
        summaries = [line for line in text.splitlines() if SUMMARY in line]
        print(f"test-gpu: {share.title}: {summaries[-1].strip('= ') if summaries else 'no summary'}", flush=True)
        if reason := why_not(status, text):
            print(text[-SHOWN_CHARACTERS:], flush=True)
            found.append(f"{share.title}: {reason}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.sanitize", description=__doc__)
    parser.add_argument("--large", action="store_true", help="at 1280x720")
    parser.add_argument("--library", action="store_true", help="only the versions of the operator library")
    parser.add_argument("--compile", action="store_true", help="compile the library's versions, and run nothing")
    parser.add_argument("--tools", action="store_true", help="under all tools of compute-sanitizer")
    parser.add_argument("--share", default="0/1", help="which of how many shares of the library's cases")
    arguments = parser.parse_args()
    if arguments.tools:
        run_tools()
        return
    number, of = (int(text) for text in arguments.share.split("/"))
    if arguments.compile:
        with pool_of(compilers()) as pool:
            compile_all(library_cases(), pool, has_shapes=False)
        return
    is_large = arguments.large
    torch.manual_seed(0)
    climb_ladders(cases_of(number, of))
    if number == 0:
        multiply_as_they_lie()
    if arguments.library or number > 0:
        torch.cuda.synchronize()
        print(f"the library's versions ran: {ENDED}")
        return
    size, anchors = ((720, 1280), 8400) if is_large else ((97, 211), 333)
    grey = torch.randint(0, 256, size, dtype=torch.uint8, device="cuda")
    colour = torch.randint(0, 256, (*(size if is_large else (53, 71)), 4), dtype=torch.uint8, device="cuda")
    canny(grey, 100, 200)
    canny(grey, 100, 200, True)
    hough_lines((grey > 240).to(torch.uint8), 10, limit=20, gap_max_px=3)
    preprocess([colour, colour[:31, :17]], 37, 61)
    preprocess([grey[:96, :210]], 37, 61, "nv12", torch.float32)
    camera = GroundCamera((0.0, -1.0, 0.0, -0.1, 0.0, 1.5, 1.0, 0.0, 0.15), 40.0, 40.0, 35.0, 26.0)
    ground_mask(colour, camera, GroundGrid(31, 17, 10.0, 3.0, 0.3))
    colour_mask(colour)
    lab_mask(colour, LabRange((170.0, 0.0, 0.0), (255.0, 255.0, 255.0)), LabRange((80.0, 110.0, 150.0), (255.0,) * 3))
    lab_mask(colour[..., :3], *[LabRange((9.0, 9.0, 9.0), (200.0, 200.0, 200.0))] * 2)
    for channels in (16, 21):
        features = torch.rand((1, channels, 7, 11), device="cuda").half()
        bias_silu(features, features[0, :, 0, 0].contiguous())
        bias_silu(features.to(memory_format=torch.channels_last), features[0, :, 0, 0].contiguous(), features)
        max_pools(features, 5, 2)
        depthwise(features, torch.rand((channels, 1, 3, 3), device="cuda").half(), features[0, :, 0, 0].contiguous())
    convolve()
    attend(
        torch.rand((1, 256, 7, 11), device="cuda").half(),
        *(torch.rand(128, *size, device="cuda").half() for size in ((1, 3, 3), ())),
    )
    scores = [torch.randn((1, 20, size, size + 3), device="cuda").half() for size in (9, 5)]
    best_rows([torch.rand_like(score[:, :4]) for score in scores], scores, [8.0, 16.0], 0.4)
    depth = torch.rand((1, 45, 67), device="cuda") * 50
    heads = torch.rand((1, 9, anchors), device="cuda")
    heads[:, :4] *= 60
    detect_dense(heads, 0.5, 0.5, 20, depth)
    rows = torch.rand((1, 77, 6), device="cuda") * 60
    detect_end_to_end(rows / 60, 0.5, 20, depth)
    depth_in_boxes(depth[0], rows[0, :5, :4].contiguous())
    gaussian_blur(grey, 5, 1.0)
    corner_score(grey, 5)
    track_points(grey, grey, torch.rand((37, 2), device="cuda") * 90)
    pairs = torch.rand((333, 2), device="cuda") + 0.1
    update_depths(pairs, pairs, pairs, torch.eye(3), torch.tensor([1.0, 0.0, 0.1]), 0.1)
    FrameGraph(lambda x: [x + 1, x[1:]], [np.zeros(333, np.float32)], "cuda").run()
    torch.cuda.synchronize()
    print(f"all operators ran: {ENDED}")


def run_tools() -> None:
    """Run everything under each tool, and end with a line for each that found something."""
    subprocess.run([sys.executable, "-m", "benchmarks.gpu.sanitize", "--compile"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        found = run(shares(), Path(folder))
    for line in found:
        print(f"test-gpu: {line}", flush=True)
    if found:
        sys.exit(1)


def climb_ladders(chosen: list[Case]) -> None:
    """Run every version of the operator library, with packs of 16 bytes and with single elements."""
    for case in chosen:
        inputs = inputs_for(case, 0)
        for version in case.ladder.versions:
            if version.number not in case.left_out and version.can_run(problem_of(case)):
                OPERATORS[case.ladder.name](*inputs, version=version.number)


def multiply_as_they_lie() -> None:
    """Run every version of the half-precision product on transposed matrices, with a bias."""
    a, b = (torch.randn(264, 264, device="cuda").bfloat16() for _ in range(2))
    for version in MATMUL_HALF.versions:
        if version.can_run(Problem(BFLOAT16, 264, 264, 8, architecture(0), depth=264)):
            for one, other in ((a, b.T), (a.T, b), (a.T, b.T)):
                matmul_half(one, other, a[0], version.number)


def library_cases() -> list[Case]:
    """Small problems of the operator library, and rows enough that version 6 copies later ones ahead.

    Gradients of norms take 140 rows, more than blocks run at once.
    """
    return [
        Case(ladder, element, rows_of(ladder), columns, depth=72 if ladder.is_product else 0)
        for ladder in LADDERS
        for element in (FLOAT32, BFLOAT16)
        for columns in (1003, 1024, 20000)
        if element in ladder.elements
    ] + [
        Case(ladder, element, AHEAD_ROWS, columns, left_out=tuple(range(1, len(ladder.versions))))
        for ladder in LADDERS
        if ladder.versions[-1].name == "ahead"
        for element in (FLOAT32, BFLOAT16)
        for columns in AHEAD_COLUMNS
    ]


def cases_of(number: int, shares: int) -> list[Case]:
    """One of several shares of these problems, of about the same size."""
    return library_cases()[number::shares]


def rows_of(ladder: Ladder) -> int:
    """The rows of a small problem."""
    if ladder.is_flat:
        return 1
    return 140 if ladder.folder == "norm_backward" or ladder.is_product else 3


def convolve() -> None:
    """Run the convolution with every tile, with and without shared sums, with one input and with two."""
    x, half = (torch.rand((1, 16, *size), device="cuda").half() for size in ((12, 20), (6, 10)))
    weight, bias = torch.rand((24, 16, 3, 3), device="cuda").half(), torch.rand(24, device="cuda").half()
    for tile in TILES:
        for shares in (1, 2):
            with patch("cuda_ops.conv.op.plan_for", return_value=Plan(tile, shares)):
                conv(x, weight, bias, 2)
                conv(half, torch.cat([weight, weight], 1), bias, residual=x.repeat(1, 2, 1, 1)[:, :24], more=x)


if __name__ == "__main__":
    main()
