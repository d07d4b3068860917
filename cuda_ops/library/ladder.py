"""Types of an operator's ladder: its versions, and the `Problem` for which a version is launched.

A ladder is a table. Tests, the benchmark and the operator's page are generated from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Any

from cuda_ops.errors import CudaOpsError
from cuda_ops.runtime.launcher import Launcher

PACK_BYTES = 16
"""Maximum number of bytes that a thread loads by one instruction."""


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
    """A batch of `count` products, each alpha a b + beta c; a shared matrix is the same in all of them."""

    count: int = 1
    alpha: float = 1.0
    beta: float = 0.0
    a_is_shared: bool = False
    b_is_shared: bool = False


ONE = Batch()
"""A single product."""


@dataclass(frozen=True, slots=True)
class Window:
    """A convolution as a product: pictures in channels-last format, and windows of `taps_high` x `taps_wide` taps."""

    pictures: int
    height: int
    width: int
    channels: int
    taps_high: int
    taps_wide: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One call of an operator: `rows` rows of `columns` elements; a flat array is one row.

    * `lanes`: every row of every array begins at a multiple of it, in elements. `columns` is a multiple of it too,
      unless the operator takes flat arrays.
    * `architecture`: 90 for sm_90.
    * `epsilon`: that of LayerNorm.
    * `depth`: for a product of matrices, whose arguments `a` and `b` are `rows` x `depth` and `depth` x `columns`.
    * `a_is_transposed`, `b_is_transposed`: the matrix is in memory column by column instead of row by row.
    * `batch`: the number of such products and their factors.
    * `window`: for a convolution, in which each pixel of the pictures is a row of `a`.
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
    """One kernel of a ladder, in the file v{number}_{name}.cu, with its description for readers."""

    number: int
    name: str
    change: str
    """Difference from the version before."""
    why: str
    """Expected advantage over the version before."""
    limit: str
    """Its limit, which the next version removes."""
    launch: Launch
    """Starts the kernel: `launch(launcher, problem, arrays)`, with the arrays in the order of `Ladder.arrays`."""
    fits: Callable[[Problem], bool] = lambda problem: True
    """Whether the version can run the problem."""
    architecture_min: int = 75
    elements: tuple[Element, ...] = ELEMENTS
    fused_multiply_add: bool = True
    """Compiler option: a product and a sum may be contracted to a fused multiply-add, which rounds once."""
    has_cpu_form: bool = True
    """Whether its source also runs on the CPU in the tests; False if it needs the copy engine (TMA)."""
    instructions: tuple[str, ...] = ()
    """Characteristic machine instructions of the version on sm_90, for the first of `elements` and full packs."""

    def can_run(self, problem: Problem) -> bool:
        """Whether the version supports the GPU, the element type and the size of the problem."""
        is_known = problem.element in self.elements and problem.architecture >= self.architecture_min
        return is_known and self.fits(problem)


def whole(problem: Problem) -> int:
    """Number of elements of the operator's first array."""
    return problem.count


def column(problem: Problem) -> int:
    """Number of columns: an array with one element for each column."""
    return problem.columns


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """All versions of one operator. Ladders are compared by identity, which makes them fast keys of caches."""

    name: str
    folder: str
    formula: str
    arrays: tuple[str, ...]
    """The arrays of `Version.launch`, in order: inputs, results and scratch."""
    versions: tuple[Version, ...]
    moved_bytes: Callable[[Problem], int]
    """Minimum number of bytes that the operator moves: each input read once, the result written once."""
    operations: Callable[[Problem], int]
    """Number of floating-point operations; an exponential counts as one."""
    preferred: Callable[[Problem], int]
    """The number of the version that runs by default: the fastest one in the timed sizes."""
    is_flat: bool = False
    """Whether the operator takes arrays as flat lists of elements, without rows."""
    is_product: bool = False
    """Whether the operator multiplies matrices, so that arithmetic and not memory is its limit."""
    tensor_products: float = 0
    """Half-precision multiply-adds of the tensor cores for each multiply-add of the formula; 0 without tensor cores."""
    results: Mapping[str, Callable[[Problem], int]] = field(default_factory=lambda: {"out": whole})
    """The number of elements of each array that the operator writes."""
    scratch: Mapping[str, Callable[[Problem], int]] = field(default_factory=dict)
    """The bytes of each scratch array."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The arrays that the operator reads, in order."""
        return tuple(name for name in self.arrays if name not in self.results and name not in self.scratch)

    @property
    def elements(self) -> tuple[Element, ...]:
        """The element types that at least one version supports."""
        return tuple(one for one in ALL_ELEMENTS if any(one in version.elements for version in self.versions))

    @property
    def unit(self) -> str:
        """The unit of `rate`."""
        return "TFLOP/s" if self.is_product else "TB/s"

    def rate(self, problem: Problem, time_us: float) -> float:
        """Rate of a call, by `unit`: terabytes moved per second; for a product, tera-operations per second."""
        return (self.operations(problem) if self.is_product else self.moved_bytes(problem)) / time_us / 1e6

    def choose(self, problem: Problem, number: int | None = None) -> Version:
        """Version `number`, or the fastest one for the problem.

        Raises `CudaOpsError` if there is no such version, or it cannot run the problem; the message names the versions
        that can.
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
    """The largest number of elements that divides the lengths of the lines in memory of all arrays.

    A line is a row, or a column of a transposed matrix.
    """
    of_a, of_b = transposed
    return gcd(columns, rows if of_a else depth, depth if of_b else columns)


def lanes_for(element: Element, addresses: Sequence[int], columns: int | None = None) -> int:
    """Number of elements of the largest pack that is aligned in all arrays; with `columns`, also in each of their rows.

    So the number divides `columns`.
    """
    lanes = PACK_BYTES // element.size_bytes
    while lanes > 1 and (
        any(address % (lanes * element.size_bytes) for address in addresses)
        or (columns is not None and columns % lanes != 0)
    ):
        lanes //= 2
    return lanes
