"""End with status 1 and one line unless torch is installed and sees a GPU: `needs_gpu.py NAME`, the target's name."""

from __future__ import annotations

import sys


def missing() -> str | None:
    """What the GPU targets lack here, with the command that brings it; None where they can run."""
    try:
        import torch
    except ImportError as error:
        return f"torch cannot be imported ({error}); scripts/setup.sh dev installs it into .venv"
    return None if torch.cuda.is_available() else "torch sees no GPU"


if __name__ == "__main__":
    if why := missing():
        sys.exit(f"{sys.argv[1]}: {why}")
