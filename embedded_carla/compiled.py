"""Numba compilation of numerical kernels, cached on disk between starts.

Numba's cache checks only the file of the compiled function for changes. Therefore a kernel may call compiled functions
and read constants of its own file only. `fastmath` is off: the order of operations is that of the source, so equal
inputs give bit-identical results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile `function` to machine code at its first call with each new combination of argument types.

    The code is cached in `__pycache__` beside the source or, where that is not writable, in the user's cache folder;
    `NUMBA_CACHE_DIR` names another one. Division by zero gives inf or NaN as in numpy.
    """
    return cast(F, numba.njit(cache=True, error_model="numpy")(function))


def inner(function: F) -> F:
    """Compile a helper that only `compiled` functions of the same file call; it is compiled together with each."""
    options: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, numba.njit(**options)(function))
