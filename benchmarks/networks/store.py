"""Stores a weights file in half its size: large weights in eight bits, with one scale for each output channel.

python -m benchmarks.networks.store WEIGHTS.pt OUT.pt
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from perception.detection.offline import ultralytics
from perception.networks.eight_bits import save_eight_bits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    ultralytics()
    save_eight_bits(torch.load(given.weights, map_location="cpu", weights_only=False), given.out)
    print(f"{given.out}: {given.out.stat().st_size / 1e6:.2f} MB, from {given.weights.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
