"""Types of an operator's ladder: its versions, and the problem that a version is launched for.

A ladder is one table. Tests, benchmark and the operator's page are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Any

from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.launcher import Launcher

PACK_BYTES = 16
"""Bytes that one thread loads by one instruction, at most."""


@dataclass(frozen=True, slots=True)
class Element:
    """A floating-point type: its name in torch, its name in the kernels, and its size."""

    name: str
    cuda: str
    size_bytes: int


FLOAT32 = Element("float32", "float", 4)
FLOAT16 = Element("float16", "av_half", 2)
BFLOAT16 = Element("bfloat16", "av_bf16", 2)
ELEMENTS = (FLOAT32, FLOAT16, BFLOAT16)
"""The types of most operators."""
FLOAT8 = Element("float8_e4m3fn", "av_fp8", 1)
INT8 = Element("int8", "signed char", 1)
ALL_ELEMENTS = (*ELEMENTS, FLOAT8, INT8)


@dataclass(frozen=True, slots=True)
class Batch:
    """`count` products at once, each alpha a b + beta c; a matrix that is shared serves all of them."""

    count: int = 1
    alpha: float = 1.0
    beta: float = 0.0
    a_is_shared: bool = False
    b_is_shared: bool = False


ONE = Batch()
"""A product by itself."""


@dataclass(frozen=True, slots=True)
class Window:
    """A convolution as a product: of pictures whose pixels lie as rows of `channels`, and windows of so many taps."""

    pictures: int
    height: int
    width: int
    channels: int
    taps_high: int
    taps_wide: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One call of an operator: `rows` rows of `columns` elements; a flat array is one row.

    Every row of every array begins at a multiple of `lanes` elements, and `columns` is a multiple of `lanes` unless the
    operator takes flat arrays. `epsilon` is LayerNorm's; `architecture` is 90 for sm_90. A product of matrices has
    `rows` x `depth` and `depth` x `columns` elements as its arguments `a` and `b`; a transposed one lies in memory with
    its columns, not its rows, one behind the other. `batch` says how many such products there are; `window`
    that `a` is read from pictures, of which each pixel is a row.
    """

    element: Element
    rows: int
    columns: int
    lanes: int
    architecture: int
    epsilon: float = 0.0
    depth: int = 0
    a_is_transposed: bool = False
    b_is_transposed: bool = False
    batch: Batch = ONE
    window: Window | None = None

    @property
    def count(self) -> int:
        """The number of elements of one array."""
        return self.rows * self.columns


Launch = Callable[[Launcher, Problem, Sequence[Any]], None]


@dataclass(frozen=True, slots=True)
class Version:
    """One kernel of a ladder, in the file v{number}_{name}.cu, and what a reader should know about it."""

    number: int
    name: str
    change: str
    """What differs from the version before."""
    why: str
    """What it should gain over the version before."""
    limit: str
    """What limits it, which is what the next version changes."""
    launch: Launch
    """Starts the kernel: `launch(launcher, problem, arrays)`, with the arrays in the order of `Ladder.arrays`."""
    fits: Callable[[Problem], bool] = lambda problem: True
    """Whether the version can run the problem."""
    architecture_min: int = 75
    elements: tuple[Element, ...] = ELEMENTS
    fused_multiply_add: bool = True
    """Compiler option: products and sums may be rounded once."""
    has_cpu_form: bool = True
    """Whether its source also runs on the CPU, in the tests: not where it needs the copy engine (TMA)."""
    instructions: tuple[str, ...] = ()
    """Machine instructions of sm_90 that the version is about, for the first of `elements` and full packs."""

    def can_run(self, problem: Problem) -> bool:
        """Whether the GPU, the element type and the problem's size suit the version."""
        is_known = problem.element in self.elements and problem.architecture >= self.architecture_min
        return is_known and self.fits(problem)


def whole(problem: Problem) -> int:
    """As many elements as the operator's first array."""
    return problem.count


def column(problem: Problem) -> int:
    """One element for each column."""
    return problem.columns


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """All versions of one operator. A ladder equals only itself, so that it is a quick key of a cache."""

    name: str
    folder: str
    formula: str
    arrays: tuple[str, ...]
    """The arrays of `Version.launch`, in order: inputs, results and scratch."""
    versions: tuple[Version, ...]
    moved_bytes: Callable[[Problem], int]
    """Fewest bytes that the operator moves: each input read once, the result written once."""
    operations: Callable[[Problem], int]
    """Floating-point operations, an exponential counted as one."""
    preferred: Callable[[Problem], int]
    """The number of the version that runs by default: the fastest one, as far as it is timed."""
    is_flat: bool = False
    """Whether the operator takes arrays as flat lists of elements, without rows."""
    is_product: bool = False
    """Whether the operator multiplies matrices, so that arithmetic bounds it and not memory."""
    tensor_products: float = 0
    """Multiply-adds that tensor cores do in half precision for each one of the formula; 0 where they do none."""
    results: Mapping[str, Callable[[Problem], int]] = field(default_factory=lambda: {"out": whole})
    """The number of elements of each array that the operator writes."""
    scratch: Mapping[str, Callable[[Problem], int]] = field(default_factory=dict)
    """The bytes of each array that the operator uses on its way."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The arrays that the operator reads, in order."""
        return tuple(name for name in self.arrays if name not in self.results and name not in self.scratch)

    @property
    def elements(self) -> tuple[Element, ...]:
        """The element types that any version takes."""
        return tuple(one for one in ALL_ELEMENTS if any(one in version.elements for version in self.versions))

    @property
    def unit(self) -> str:
        """The unit of `rate`."""
        return "TFLOP/s" if self.is_product else "TB/s"

    def rate(self, problem: Problem, time_us: float) -> float:
        """What the operator moves in a second, in terabytes; of a product, what it computes, in tera-operations."""
        return (self.operations(problem) if self.is_product else self.moved_bytes(problem)) / time_us / 1e6

    def choose(self, problem: Problem, number: int | None = None) -> Version:
        """Version `number`, or the fastest one for the problem.

        Raises `CudaOpsError` if there is no such version, or it cannot run the problem; the message names those that
        can.
        """
        wanted = self.preferred(problem) if number is None else number
        for version in self.versions:
            if version.number == wanted and version.can_run(problem):
                return version
        able = [str(version.number) for version in self.versions if version.can_run(problem)]
        raise CudaOpsError(
            f"{self.name}: version is {wanted}, but {problem.rows} x {problem.columns} {problem.element.name} on "
            f"sm_{problem.architecture} can be run by {', '.join(able) or 'none'}"
        )

    def source(self, version: Version) -> str:
        """The name of the version's `KernelSource`."""
        return f"library/{self.folder}/v{version.number}_{version.name}"


def line_of(rows: int, columns: int, depth: int = 0, transposed: tuple[bool, bool] = (False, False)) -> int:
    """The greatest length of which each array's lines in memory are a multiple, in elements: rows, or matrices."""
    of_a, of_b = transposed
    return gcd(columns, rows if of_a else depth, depth if of_b else columns)


def lanes_for(element: Element, addresses: Sequence[int], columns: int | None = None) -> int:
    """Elements of the largest pack that is aligned in all arrays; with `columns`, in each row of them too.

    A row that is no whole number of such packs gets smaller ones.
    """
    lanes = PACK_BYTES // element.size_bytes
    while lanes > 1 and (
        any(address % (lanes * element.size_bytes) for address in addresses)
        or (columns is not None and columns % lanes != 0)
    ):
        lanes //= 2
    return lanes
