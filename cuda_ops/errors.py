"""Errors of the kernels' package."""

from __future__ import annotations

from av_stack.errors import AvStackError


class CudaOpsError(AvStackError):
    """An input that no kernel takes, named with what is allowed."""


class CompilerMissingError(CudaOpsError):
    """The run-time compiler, or the Python packages that reach it, cannot be used; the message says why."""
