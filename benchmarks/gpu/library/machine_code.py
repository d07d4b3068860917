"""An excerpt of each operator's machine code, for its page: the instructions that its default version is about.

`refreshed` compiles and disassembles what has changed since the record was written. Neither needs a GPU.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from av_core.disk_cache import key_of
from cuda_ops.errors import CompilerMissingError
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.convolve.ladder import CONVOLVE
from cuda_ops.library.ladder import PACK_BYTES, Ladder, Problem, Version, Window
from cuda_ops.library.recorder import record
from cuda_ops.runtime.compiler import KernelSource, compile_instance, toolkit_version

ARCHITECTURE = "sm_90a"
LINES_MAX = 12
LADDERS_SHOWN = (*LADDERS, CONVOLVE)

MEANINGS = {
    "LDG": "loads from device memory",
    "LD": "loads from device memory what other blocks have stored",
    "STG": "stores to device memory",
    "LDS": "loads from shared memory",
    "LDSM": "loads small matrices from shared memory (ldmatrix)",
    "STSM": "stores small matrices to shared memory",
    "LDGSTS": "copies from device to shared memory without a register (cp.async)",
    "UTMALDG": "lets the copy engine bring a box to shared memory",
    "UTMASTG": "lets the copy engine store a box",
    "SYNCS": "arrives or waits at a barrier in shared memory (mbarrier)",
    "BAR": "waits for the block",
    "UCGABAR_ARV": "arrives at the barrier of the cluster",
    "UCGABAR_WAIT": "waits for the cluster",
    "SHFL": "exchanges a register between lanes",
    "ATOM": "adds in memory, uninterrupted",
    "FADD": "adds",
    "FMNMX": "takes the greater number",
    "FFMA": "multiplies and adds",
    "MUFU.EX2": "computes a power of two",
    "MUFU.RCP": "computes a reciprocal",
    "MUFU.RSQ": "computes 1 over a square root",
    "F2FP": "rounds two numbers to half precision",
    "HMMA": "multiplies small matrices on the tensor cores, for a warp",
    "HGMMA": "multiplies tiles of half precision or TF32 on the tensor cores, for a warpgroup",
    "QGMMA": "multiplies tiles of 8-bit floats on the tensor cores, for a warpgroup",
    "IGMMA": "multiplies tiles of 8-bit integers on the tensor cores, for a warpgroup",
    "USETMAXREG": "gives registers to another warpgroup, or takes them",
}
"""What an instruction does, by the beginning of its name; a 128 at the end is a pack of 128 bits."""

_LABEL = re.compile(r"^(\.L_\w+):")
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.+?)\s*;")
_BRANCH = re.compile(r"\bBRA\b.*`\((\.L_\w+)\)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of the machine code; `is_in_loop` is true between a label and a branch back to it."""

    address: str
    text: str
    is_in_loop: bool = False

    @property
    def name(self) -> str:
        """The instruction without its predicate and operands: LDG.E.128."""
        words = self.text.split()
        return words[1] if words[0].startswith("@") else words[0]


def disassembler() -> str | None:
    """nvdisasm of a CUDA toolkit, or the one that triton carries; None where there is neither."""
    carried = find_spec("triton")
    places = [shutil.which("nvdisasm")]
    if carried is not None and carried.origin is not None:
        places.append(str(Path(carried.origin).parent / "backends/nvidia/bin/nvdisasm"))
    return next((place for place in places if place is not None and Path(place).is_file()), None)


def tools() -> dict[str, str]:
    """The versions of the compiler and the disassembler. Raises `CompilerMissingError` where one of them is missing."""
    program = disassembler()
    if program is None:
        raise CompilerMissingError("no nvdisasm: neither a CUDA toolkit nor triton is installed")
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"release ([\d.]+)", shown)
    assert release is not None, shown
    return {"compiler": " ".join(toolkit_version().split()[:2]), "disassembler": f"nvdisasm {release.group(1)}"}


def problem_of(ladder: Ladder) -> Problem:
    """The problem whose default version the page shows: 2^28 elements, rows of 4,096, or products of 4096."""
    element = ladder.versions[-1].elements[0]
    lanes = PACK_BYTES // element.size_bytes
    if ladder is CONVOLVE:
        window = Window(16, 80, 80, 256, 3, 3)
        return Problem(element, 102400, 256, lanes, 90, depth=2304, b_is_transposed=True, window=window)
    if ladder.is_flat:
        return Problem(element, 1, 1 << 28, lanes, 90)
    return Problem(element, 4096, 4096, lanes, 90, 1e-5, 4096 if ladder.is_product else 0)


def version_of(ladder: Ladder) -> Version:
    """The version that the page shows."""
    return ladder.choose(problem_of(ladder))


def wanted_of(version: Version) -> tuple[str, ...]:
    """The instructions to look at: the version's, or its loads and stores where it names none."""
    return version.instructions or ("LDG", "STG")


def kernels_of(ladder: Ladder) -> list[str]:
    """The kernels that this version launches, each once."""
    return list(dict.fromkeys(one.kernel for one in record(ladder, version_of(ladder), problem_of(ladder))))


def source_of(ladder: Ladder) -> KernelSource:
    version = version_of(ladder)
    return KernelSource(ladder.source(version), fused_multiply_add=version.fused_multiply_add)


def hash_of(ladder: Ladder) -> str:
    """Changes when the machine code may have changed, or the choice of lines."""
    source, wanted = source_of(ladder), wanted_of(version_of(ladder))
    parts = [source.text(), str(source.fused_multiply_add), ARCHITECTURE, *kernels_of(ladder), *wanted]
    return key_of(parts)[:16]


def parsed(text: str) -> list[Instruction]:
    """The instructions that nvdisasm has written."""
    found: list[Instruction] = []
    labels: dict[str, int] = {}
    loops: list[tuple[int, int]] = []
    for line in text.splitlines():
        if (label := _LABEL.match(line)) is not None:
            labels[label.group(1)] = len(found)
        elif (match := _INSTRUCTION.match(line)) is not None:
            branch = _BRANCH.search(match.group(2))
            if branch is not None and labels.get(branch.group(1), len(found)) < len(found):
                loops.append((labels[branch.group(1)], len(found)))
            found.append(Instruction(match.group(1), " ".join(match.group(2).split())))
    inside = {index for begin, end in loops for index in range(begin, end + 1)}
    return [Instruction(one.address, one.text, index in inside) for index, one in enumerate(found)]


def excerpt(code: Sequence[Instruction], wanted: Sequence[str]) -> list[list[Instruction]]:
    """Pieces of `code` with at most `LINES_MAX` lines in all, in which each wanted instruction that it has occurs.

    As few pieces as that takes: each has the most instructions that are still wanted, then those of a loop, then the
    most of all.
    """
    present = {name for name in wanted if any(one.name.startswith(name) for one in code)}
    chosen: set[int] = set()
    for pieces in range(1, len(present) + 1):
        chosen = set(_cover(code, present, pieces, LINES_MAX // pieces))
        if {name for name in present for index in chosen if code[index].name.startswith(name)} == present:
            break
    order = sorted(chosen)
    if not order:
        return []
    cuts = [0, *(at for at, (a, b) in enumerate(pairwise(order), 1) if b != a + 1), len(order)]
    return [[code[index] for index in order[begin:end]] for begin, end in pairwise(cuts)]


def _cover(code: Sequence[Instruction], wanted: Iterable[str], pieces: int, length: int) -> Iterator[int]:
    missing = set(wanted)
    for _ in range(pieces):
        names = missing or set(wanted)

        def worth(begin: int, names: set[str] = names) -> tuple[int, int, int]:
            part = code[begin : begin + length]
            hits = [(one, name) for one in part for name in names if one.name.startswith(name)]
            return len({name for _, name in hits}), sum(one.is_in_loop for one, _ in hits), len(hits)

        best = max(range(max(1, len(code) - length + 1)), key=worth)
        part = range(best, min(best + length, len(code)))
        missing -= {name for name in missing for index in part if code[index].name.startswith(name)}
        yield from part


def disassembled(source: KernelSource, kernel: str) -> list[Instruction]:
    """The machine code of one kernel; raises `CompilerMissingError` where it cannot be made."""
    program = disassembler()
    if program is None:
        raise CompilerMissingError("no nvdisasm: neither a CUDA toolkit nor triton is installed")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(compile_instance(source, kernel, ARCHITECTURE)[0])
        text = subprocess.run([program, "-c", str(file)], capture_output=True, text=True, check=True).stdout
    return parsed(text)


def entry(ladder: Ladder) -> dict[str, Any]:
    """What the record says of one operator: of the kernel that has the most of the wanted instructions."""
    version = version_of(ladder)
    codes = {kernel: disassembled(source_of(ladder), kernel) for kernel in kernels_of(ladder)}

    def count(kernel: str) -> int:
        names = {one.name for one in codes[kernel]}
        return sum(any(name.startswith(wanted) for name in names) for wanted in wanted_of(version))

    kernel = max(codes, key=count)
    pieces = excerpt(codes[kernel], wanted_of(version))
    return {
        "version": version.number,
        "kernel": kernel,
        "hash": hash_of(ladder),
        **tools(),
        "instructions": len(codes[kernel]),
        "lines": [[f"{one.address}  {one.text}" for one in piece] for piece in pieces],
    }


def refreshed(known: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The record, of which only what has another hash is made anew."""
    return {
        ladder.name: known[ladder.name] if known.get(ladder.name, {}).get("hash") == hash_of(ladder) else entry(ladder)
        for ladder in LADDERS_SHOWN
    }


def section(ladder: Ladder, made: Mapping[str, Any]) -> str:
    """The page's section, without its title."""
    version = next(one for one in ladder.versions if one.number == made["version"])
    lines = "\n...\n".join("\n".join(piece) for piece in made["lines"])
    compiler = made["compiler"].replace("nvrtc", "NVRTC")
    return (
        f"Version {made['version']}, kernel `{made['kernel']}`, compiled for {ARCHITECTURE} ({compiler}, "
        f"{made['disassembler']}): some of its {made['instructions']:,} instructions "
        f"([how to read them](terms.md#machine-code)). Look at {_named(wanted_of(version), lines)}.\n\n"
        f"```text\n{lines}\n```\n"
    )


def _named(wanted: Sequence[str], lines: str) -> str:
    """What the wanted instructions among the lines do, as one sentence goes on."""
    shown = [f"`{name}`, which {meaning_of(name)}" for name in wanted if re.search(rf"\b{re.escape(name)}", lines)]
    return "; ".join(shown)


def meaning_of(instruction: str) -> str:
    """What the instruction does."""
    name = max((name for name in MEANINGS if f"{instruction}.".startswith(f"{name}.")), key=len)
    return MEANINGS[name] + (", 16 bytes at a time" if instruction.endswith(".128") else "")
