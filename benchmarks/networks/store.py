"""Stores a weights file in half its size: large weights in eight bits, with one scale for each output channel.

    python -m benchmarks.networks.store WEIGHTS.pt OUT.pt
    python -m benchmarks.networks.store WEIGHTS.pt OUT.pt --lossless

With --lossless every weight keeps its bits, and the file is only compressed.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from perception.detection.offline import ultralytics
from perception.networks.compressed import deflate, save_in_halves
from perception.networks.eight_bits import save_eight_bits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--lossless", action="store_true")
    given = parser.parse_args()
    ultralytics()
    if given.lossless:
        store_lossless(given.weights, given.out)
    else:
        save_eight_bits(torch.load(given.weights, map_location="cpu", weights_only=False), given.out)
    print(f"{given.out}: {given.out.stat().st_size / 1e6:.2f} MB, from {given.weights.stat().st_size / 1e6:.2f} MB")


def store_lossless(weights: Path, out: Path) -> None:
    """Write a weights file to `out`, compressed: as it is, or with its fp16 weights in halves if that is smaller."""
    with TemporaryDirectory(dir=out.parent) as work:
        as_it_is, in_halves = Path(work) / "as_it_is" / out.name, Path(work) / "in_halves" / out.name
        as_it_is.parent.mkdir()
        in_halves.parent.mkdir()
        shutil.copyfile(weights, as_it_is)
        deflate(as_it_is)
        save_in_halves(torch.load(weights, map_location="cpu", weights_only=False), in_halves)
        min(as_it_is, in_halves, key=lambda path: path.stat().st_size).replace(out)


if __name__ == "__main__":
    main()
