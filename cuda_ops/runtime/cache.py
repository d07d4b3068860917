"""Disk cache of compiled kernels."""

from __future__ import annotations

import os
from pathlib import Path

from av_core.disk_cache import DiskCache, user_folder

ENVIRONMENT = "AV_STACK_KERNEL_CACHE"


def default_folder() -> Path:
    """`$AV_STACK_KERNEL_CACHE` if set, else `av-stack/kernels` in the user's cache folder."""
    chosen = os.environ.get(ENVIRONMENT)
    return Path(chosen) if chosen else user_folder("kernels")


class KernelCache(DiskCache):
    """The machine code of kernels in one folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "cubin", "kernels are compiled anew in each process")
