"""Exceptions raised by `cuda_ops`."""

from __future__ import annotations

from av_core.errors import AvStackError


class CudaOpsError(AvStackError):
    """An invalid input of an operator; the message names the input and the allowed values."""


class CompilerMissingError(CudaOpsError):
    """NVRTC, or the Python packages that call it, cannot be used; the message says why."""
