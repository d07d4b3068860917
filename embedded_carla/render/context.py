"""The GL context: standalone, through EGL, with no display."""

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
    """Pictures cannot be made on this machine, or not of what was asked."""


def create_context() -> Any:
    """A new GL 4.3 context. Raises RenderError, naming the packages to install, where EGL or GL is missing.

    Mesa's software rasteriser reads LP_NUM_THREADS when the context is made; it is set to the cores this process
    may use unless the user chose. A process that holds a context must not fork (the child hangs): spawn.
    """
    os.environ.setdefault("LP_NUM_THREADS", str(min(16, len(os.sched_getaffinity(0)))))
    options: dict[str, Any] = {"standalone": True, "backend": "egl", "require": 430}
    try:
        _held.ctx = moderngl.create_context(**options)
    except Exception as cause:  # glcontext raises bare Exception for whatever is missing
        raise RenderError(
            f"cameras need EGL and OpenGL 4.3, which this machine does not give ({cause}); install them with "
            "'apt-get install --no-install-recommends libegl1 libgl1'"
        ) from cause
    return _held.ctx


def make_current(ctx: Any) -> None:
    """Let GL calls of this thread go to `ctx`: another renderer of this process may have been current. To tell the
    driver what it knows would cost more than a draw call."""
    if getattr(_held, "ctx", None) is not ctx:
        ctx.__enter__()
        _held.ctx = ctx


def flush_of(ctx: Any) -> Callable[[], None]:
    """The GL's glFlush, which moderngl has not: begin with what was asked for. A GPU's driver gathers calls until
    something is read; until then the GPU would have nothing to do."""
    address: int = ctx.mglo._context.load("glFlush")
    return ctypes.CFUNCTYPE(None)(address)


def release(ctx: Any) -> None:
    """Give the current context `ctx` back."""
    ctx.release()
    _held.ctx = None
