"""Decorators that compile numerical kernels with numba and cache the machine code on disk.

For a handful of road users numpy's call overhead exceeds the computation. Numba checks only the file of a compiled
function for changes; so a kernel must call compiled functions and read constants of its own file only. No `fastmath`:
the order of operations is that of the source, so equal inputs give equal bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def compiled(signature: str | tuple[Any, ...]) -> Callable[[F], F]:
    """Compile the function for arguments of `signature` when its module is imported, so that no drive waits for it.

    `float64[:, :]` stands for arrays of any memory layout. The code is cached in `__pycache__` beside the source or,
    where that is not writable, in the user's cache folder; `NUMBA_CACHE_DIR` names another one. Division by zero gives
    inf or NaN as in numpy. For a function of `records`, `signature` is the tuple of its argument types.
    """
    return cast(Callable[[F], F], numba.njit(signature, cache=True, error_model="numpy"))


def inner(function: F) -> F:
    """A helper of `compiled` functions: compiled together with each of them, and callable only from them."""
    options: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, numba.njit(**options)(function))


def named(kind: type[tuple[Any, ...]], *types: Any) -> Any:
    """The type of a named tuple, so that all its fields are one argument of a `compiled` function.

    `types` are those of the fields. Without them, every field is a float.
    """
    tuples: Any = numba.types.BaseTuple
    return tuples.from_types(types or [numba.float64] * len(kind.__annotations__), pyclass=kind)


def records(dtype: np.dtype[Any]) -> Any:
    """The type of arrays (N,) of `dtype` with named fields, so that all fields are one argument with one type check.

    The fields are part of the signature, so a cached function with other fields is not reused.
    """
    return numba.from_dtype(dtype)[:]
