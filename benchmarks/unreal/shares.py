"""Measures mixtures of two detectors: the first weights plus several shares of the change to fine-tuned ones.

    python -m benchmarks.unreal.shares DATA/carla_unreal --start old.pt --tuned out/nA.pt --out FILE.json \\
        --town Town01 --own OWN --device cuda

It reports the figures of `benchmarks.unreal.goals` on one town and of `benchmarks.unreal.own_pictures`, in float32.
OWN is a folder that the latter rendered. To choose a share honestly, measure a training that left out `--town`
(`benchmarks.unreal.finetune --without`). FILE.json is written after every share.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from av_core.types import Image
from benchmarks.plausibility import HELD_BACK, NETWORK_PX
from benchmarks.unreal.finetune import mix
from benchmarks.unreal.goals import EVERY_SCORE, measure
from benchmarks.unreal.own_pictures import samples_of, table
from perception.detection.detector import Detector
from perception.detection.finetune import load_weights
from perception.detection.networks import Float32
from perception.detection.offline import ultralytics
from perception.detection.weights import network_size


class Float32Network:
    """Network in torch in float32 on any device; a drive on a GPU uses half precision instead."""

    def __init__(self, weights: Path, size_px: tuple[int, int], device: str) -> None:
        self._model = load_weights(weights, device).eval()
        self._device = device
        self.size_px, self.names = size_px, tuple(self._model.names[i] for i in range(len(self._model.names)))

    def start(self, bgr: Image) -> Callable[[], Float32]:
        return partial(self.infer, bgr)

    def infer(self, bgr: Image) -> Float32:
        rgb = torch.from_numpy(np.ascontiguousarray(bgr)).to(self._device).permute(2, 0, 1).flip(0)
        with torch.inference_mode():
            rows = self._model(rgb[None].float() / 255.0)[0]
        return np.asarray(rows[0].cpu().numpy(), dtype=np.float32)


def measure_share(told: argparse.Namespace, share: float) -> dict[str, Any]:
    """The figures of the weights with `share` of the change."""
    with TemporaryDirectory() as work:
        mixed = Path(work) / "mixed.pt"
        mix(told.start, [f"{told.tuned}={share}"], mixed)
        detector = Detector(Float32Network(mixed, network_size(*NETWORK_PX), told.device), EVERY_SCORE)
    out: dict[str, Any] = {told.town: measure(told.unreal, detector, told.town)}
    if told.own is not None:
        out["own"] = table(samples_of(told.own, detector))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unreal", type=Path)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--tuned", type=Path, required=True)
    parser.add_argument("--shares", default="0,1,0.5,0.3,0.7,0.2,0.4,0.85")
    parser.add_argument("--town", default=HELD_BACK)
    parser.add_argument("--own", type=Path)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, required=True)
    told = parser.parse_args()
    ultralytics()
    report = {}
    for share in told.shares.split(","):
        report[share] = measure_share(told, float(share))
        part = told.out.with_suffix(".part")
        part.write_text(json.dumps(report, indent=1) + "\n")
        part.replace(told.out)
        print(share, json.dumps(report[share][told.town]), flush=True)


if __name__ == "__main__":
    main()
