"""Compares detectors on docs/detector.md's set: the same pictures of Town02 for each weights file.

    python -m benchmarks.networks.detectors FOLDER --maps MAPS --weights A.pt B.pt --record RECORD.json

FOLDER keeps the pictures and labels, which are not made again. The networks run in float32 on the CPU. RECORD gets the
figures of docs/detector.md by weights file, and the size of the file and of the network; other files' figures that it
holds already stay.
"""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2
import torch

from av_stack.evaluation.detection import EVERY_SCORE, figures
from av_stack.evaluation.detection_samples import FIRST_SEED, GUESTS, VIEWS
from av_stack.server_process import ServerProcess
from av_stack.world.carla.capture.shots import CaptureSpec, capture
from av_stack.world.carla.client import connect
from av_stack.world.carla.weather import named_weathers
from benchmarks.networks.picture_set import pictures
from perception.detection.detector import Detector
from perception.detection.measure import Sample
from perception.detection.networks import TorchNetwork
from perception.detection.offline import ultralytics
from perception.detection.weights import COMPACT_SIZE_PX

MAP = "Town02"
ROUNDS = 4
"""Rounds through all weathers, each with a seed of its own."""


def render(folder: Path, maps: Path, rounds: int) -> None:
    """Render the rounds that `folder` lacks: pictures, and a table of labels for each round, which is written last."""
    folder.mkdir(parents=True, exist_ok=True)
    presets = named_weathers()
    for number in range(rounds):
        table = folder / f"{number}.json"
        if table.exists():
            continue
        spec = CaptureSpec(
            MAP, FIRST_SEED + number, weathers=presets, scenes=len(presets), shots=1, views=VIEWS, guests=GUESTS
        )
        rows: list[dict[str, Any]] = []
        with ServerProcess(["--map", MAP, "--seed", str(spec.seed), "--maps", str(maps)]) as address:
            for shot in capture(connect(address), spec, presets):
                name = f"{number}_{len(rows):04d}.png"
                cv2.imwrite(str(folder / name), shot.bgr)
                labels = [asdict(label) for label in shot.labels]
                rows.append({"picture": name, "labels": labels, "weather": shot.weather})
        part = table.with_suffix(".part")
        part.write_text(json.dumps(rows))
        part.replace(table)


def measure(weights: Path, folder: Path, rounds: int) -> dict[str, Any]:
    """The figures of one weights file."""
    detector = Detector(TorchNetwork(weights, COMPACT_SIZE_PX, "cpu"), EVERY_SCORE)
    fused = ultralytics().YOLO(str(weights)).model.fuse(verbose=False)
    samples = []
    for bgr, labels, weather in pictures(folder, rounds):
        samples.append(Sample(labels, detector.detect_in(bgr), weather))
    return {
        "file_mb": round(weights.stat().st_size / 1e6, 2),
        "parameters_in_use": sum(parameter.numel() for parameter in fused.parameters()),
        "pictures": len(samples),
        "figures": {
            f"{figure.name}, {figure.group}": [round(figure.value, 4), figure.count] for figure in figures(samples)
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--maps", type=Path, required=True)
    parser.add_argument("--weights", type=Path, nargs="+", required=True)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--record", type=Path, required=True)
    given = parser.parse_args()
    render(given.folder, given.maps, given.rounds)
    record: dict[str, Any] = {"map": MAP, "first seed": FIRST_SEED, "torch": torch.__version__,
                              "threads": torch.get_num_threads(), "processor": platform.machine()}  # fmt: skip
    record["weights"] = json.loads(given.record.read_text())["weights"] if given.record.exists() else {}
    for path in given.weights:
        record["weights"][path.name] = measured = measure(path, given.folder, given.rounds)
        print(path.name, measured["figures"]["mAP50-95, all presets"], flush=True)
        given.record.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
