"""Compiles the kernels of a benchmark, ours and those of torch.compile, before it begins, in many processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import torch

from benchmarks.gpu.library.other_libraries import peer_operator
from benchmarks.gpu.library.shapes import Case, inputs_for, problem_of, shapes_of
from cuda_ops.library import peers
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import ALL_ELEMENTS, Ladder, Problem, Version
from cuda_ops.library.recorder import record
from cuda_ops.runtime.compiler import KernelSource, compile_instance
from cuda_ops.runtime.gpu import architecture_of

COMPILERS_MAX = 24
"""Processes that compile at once; those of torch.compile hold the arrays of a case."""


def compilers() -> int:
    """The number of processes: all cores but two."""
    return max(1, min(COMPILERS_MAX, (os.cpu_count() or 2) - 2))


def pool_of(parallel: int) -> ProcessPoolExecutor:
    """`parallel` processes that compile."""
    return ProcessPoolExecutor(parallel, get_context("spawn"))


def compile_all(cases: list[Case], pool: ProcessPoolExecutor, has_shapes: bool = True) -> None:
    """Compile the kernels of the cases, and of the launch shapes tried, into the cache."""
    wanted: set[tuple[str, str, str]] = set()
    name = architecture_of(0)
    for case in cases:
        problem = problem_of(case)
        runs: list[tuple[Version, Any]] = [(version, version) for version in case.ladder.versions]
        runs += [(shape.version, shape) for shape in shapes_of(case.ladder, problem)] if has_shapes else []
        for version, run in runs:
            if version.can_run(problem):
                wanted |= _kernels(case.ladder, version, run.launch, problem, name)
    list(pool.map(_compile, sorted(wanted), chunksize=2))
    print(f"compiled {len(wanted)} kernels", flush=True)


def _kernels(ladder: Ladder, version: Version, launch: Any, problem: Problem, name: str) -> set[tuple[str, str, str]]:
    launches = record(ladder, replace(version, launch=launch), problem)
    return {(ladder.source(version), one.kernel, name) for one in launches}


def _compile(what: tuple[str, str, str]) -> None:
    source, kernel, name = what
    compile_instance(KernelSource(source, fused_multiply_add=True), kernel, name)


def compiled_peer(ladder: Ladder) -> Callable[..., Any]:
    """torch's operator by torch.compile, for the sizes that it is called with."""
    return torch.compile(peers.TORCH[ladder.name], dynamic=False)


def compile_peers(wanted: Sequence[tuple[str, Case]]) -> None:
    """Fill the caches on the disk with peers that are compiled at their first call, in processes that end afterwards.

    A peer is "compiled" (by torch.compile), or the name of a library.
    """
    chunk = max(1, min(4, len(wanted) // compilers()))
    with pool_of(compilers()) as pool:
        for error in pool.map(_compile_peer, [(peer, case.named()) for peer, case in wanted], chunksize=chunk):
            if error:
                print(error, flush=True)


def _compile_peer(wanted: tuple[str, dict[str, Any]]) -> str:
    """The error, if there is one: the benchmark meets it again, and writes it into the case's row."""
    peer, named = wanted
    ladder = next(ladder for ladder in LADDERS if ladder.name == named["operator"])
    element = next(element for element in ALL_ELEMENTS if element.name == named["element"])
    case = Case(ladder, element, named["rows"], named["columns"], depth=named.get("depth", 0))
    torch.compiler.reset()
    inputs = inputs_for(case, 0)
    try:
        if peer == "compiled":
            compiled_peer(ladder)(*inputs, *peers.more_for(ladder.name, inputs))
        else:
            peer_operator(peer, ladder.name)(*inputs)
        torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001 - as above
        return f"{peer}: {case.title()}: {error}"
    finally:
        torch.cuda.empty_cache()
    return ""
