"""Compiles the kernels of a benchmark before it begins, in many processes."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

from benchmarks.gpu.library.shapes import Case, problem_of, shapes_of
from cuda_ops.library.ladder import Ladder, Problem, Version
from cuda_ops.library.recorder import record
from cuda_ops.runtime.compiler import KernelSource, compile_instance
from cuda_ops.runtime.gpu import architecture_of


def compile_all(cases: list[Case], parallel: int, has_shapes: bool = True) -> None:
    """Compile the kernels of the cases, and of the launch shapes tried, into the cache, in `parallel` processes."""
    wanted: set[tuple[str, str, str]] = set()
    name = architecture_of(0)
    for case in cases:
        problem = problem_of(case)
        runs: list[tuple[Version, Any]] = [(version, version) for version in case.ladder.versions]
        runs += [(shape.version, shape) for shape in shapes_of(case.ladder, problem)] if has_shapes else []
        for version, run in runs:
            if version.can_run(problem):
                wanted |= _kernels(case.ladder, version, run.launch, problem, name)
    with ProcessPoolExecutor(parallel, get_context("spawn")) as pool:
        list(pool.map(_compile, sorted(wanted), chunksize=2))
    print(f"compiled {len(wanted)} kernels", flush=True)


def _kernels(ladder: Ladder, version: Version, launch: Any, problem: Problem, name: str) -> set[tuple[str, str, str]]:
    launches = record(ladder, replace(version, launch=launch), problem)
    return {(ladder.source(version), one.kernel, name) for one in launches}


def _compile(what: tuple[str, str, str]) -> None:
    source, kernel, name = what
    compile_instance(KernelSource(source, fused_multiply_add=True), kernel, name)
