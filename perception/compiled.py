"""Numerical kernels compiled to machine code, kept on disk from one start to the next.

For a handful of road users numpy's calls cost more than their sums. Numba checks only the file of a compiled function
for changes: a kernel calls compiled functions and reads constants of its own file alone. No `fastmath`: the order of
operations is that of the source, so equal inputs give equal bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def compiled(signature: str | tuple[Any, ...]) -> Callable[[F], F]:
    """The function as machine code for arguments of `signature`, made when its module is imported: no drive waits.

    `float64[:, :]` stands for arrays however they lie. The code is kept in `__pycache__` beside the source or, where
    that cannot be written, in the user's cache folder; `NUMBA_CACHE_DIR` names another one. Division by zero gives inf
    or NaN as in numpy. A function of `records` has the types of its arguments as `signature`.
    """
    return cast(Callable[[F], F], numba.njit(signature, cache=True, error_model="numpy"))


def inner(function: F) -> F:
    """A part of `compiled` functions: compiled with each of them, and for them alone."""
    options: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, numba.njit(**options)(function))


def records(dtype: np.dtype[Any]) -> Any:
    """The type of arrays (N,) of `dtype`, with names for its fields: one argument, and one check, for all of them.

    The fields are part of the signature, so code that is on disk for others is not taken for this one's.
    """
    return numba.from_dtype(dtype)[:]
