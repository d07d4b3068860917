"""The OpenGL context: standalone, through EGL, without a display."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any

import moderngl

from embedded_carla.errors import EmbeddedCarlaError

_held = threading.local()  # `ctx`: the context that is current in this thread


class RenderError(EmbeddedCarlaError):
    """This machine cannot render, or cannot render what was requested."""


def create_context() -> Any:
    """Create a GL 4.3 context. Raises RenderError, naming the packages to install, where EGL or GL is missing.

    Mesa's software rasteriser reads LP_NUM_THREADS when the context is made; it is set to the number of cores available
    to this process unless the user has set it. A process that holds a context must not fork (the child hangs): spawn.
    """
    os.environ.setdefault("LP_NUM_THREADS", str(min(16, len(os.sched_getaffinity(0)))))
    options: dict[str, Any] = {"standalone": True, "backend": "egl", "require": 430}
    try:
        _held.ctx = moderngl.create_context(**options)
    except Exception as cause:  # glcontext raises bare Exception when anything is missing
        raise RenderError(
            f"cameras need EGL and OpenGL 4.3, which this machine does not give ({cause}); install them with "
            "'apt-get install --no-install-recommends libegl1 libgl1'"
        ) from cause
    return _held.ctx


def make_current(ctx: Any) -> None:
    """Make `ctx` current in this thread, since another renderer of this process may have been.

    Skipped when it already is: a redundant call to the driver costs more than a draw call.
    """
    if getattr(_held, "ctx", None) is not ctx:
        ctx.__enter__()
        _held.ctx = ctx


def flush_of(ctx: Any) -> Callable[[], None]:
    """OpenGL's glFlush, which moderngl lacks: start executing the queued calls.

    A GPU's driver queues calls until something is read; without a flush the GPU would be idle until then.
    """
    address: int = ctx.mglo._context.load("glFlush")
    return ctypes.CFUNCTYPE(None)(address)


def release(ctx: Any) -> None:
    """Release the current context `ctx`."""
    ctx.release()
    _held.ctx = None
