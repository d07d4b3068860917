"""Exit with one line and status 2 unless torch can compute on a GPU: `python scripts/needs_gpu.py NAME`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

DEVICES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")
"""Device files of NVIDIA's driver; at least one of them exists if it runs."""


def why_not() -> str | None:
    """What is missing, with the command that helps if there is one; None if a GPU can be used."""
    if not any(Path(path).exists() for path in DEVICES):
        return "this machine has no NVIDIA GPU, or no driver for it"
    if find_spec("torch") is None:
        return "torch is not installed; run: scripts/setup.sh dev"
    import torch

    return None if torch.cuda.is_available() else "torch sees no GPU; nvidia-smi tells more"


if __name__ == "__main__":
    reason = why_not()
    if reason is not None:
        print(f"{sys.argv[1]}: {reason}", file=sys.stderr)
        sys.exit(2)
