"""Compares quantized detectors as a CPU runs them: by OpenVINO, on docs/detector.md's set.

    python -m benchmarks.networks.deployed SET DATA RECORD.json --weights detector_n.pt

SET is a folder of `benchmarks.networks.detectors`, DATA one of `av-stack dataset`, on whose pictures the ranges are
measured. For each weights file: the network in float32, one in eight bits for each calibrator and granularity, some
with the most sensitive layers kept in float, and NNCF's where it lies beside the weights. The times are those of one
picture, all networks in turn.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.__main__ import machine
from benchmarks.networks.picture_set import SCORE_MIN, mean_precision, pictures
from perception.detection.detector import letterbox
from perception.detection.networks import OpenVinoNetwork
from perception.detection.resident import read_labelled
from perception.detection.rows_kernel import strongest
from perception.detection.weights import COMPACT_SIZE_PX, Exported, exported
from perception.networks.calibration import CALIBRATORS, histograms
from perception.networks.detectors import body_layers, folded_detector, head_scores, write_network
from perception.networks.fake_quantization import quantized, sensitivities

KEPT = (4, 8, 16)
BEST = "max"
"""Calibrator with which layers are kept."""

JUDGED = 4
TIMED, ROUNDS = 20, 5
"""Pictures of a turn, and turns, for the times."""


def networks(weights: Path, inputs: torch.Tensor, folder: Path) -> tuple[dict[str, Exported], dict[str, float]]:
    """The networks by name, and each layer's sensitivity. `inputs` (N, 3, H, W) give the ranges."""
    model = folded_detector(weights)

    def run() -> None:
        for one in inputs:
            model(one[None])

    made: dict[str, Exported] = {"float32": write_network(model, weights, COMPACT_SIZE_PX, folder / "float")}
    seen = histograms(model, body_layers(model), run)
    for calibrator, choose in CALIBRATORS.items():
        ranges = {name: choose(one) for name, one in seen.items()}
        for grain, per_channel in (("per channel", True), ("per tensor", False)):
            name = f"{calibrator}, {grain}"
            small = quantized(model, ranges, per_channel)
            made[name] = write_network(small, weights, COMPACT_SIZE_PX, folder / name.replace(" ", "_"))
    ranges = {name: CALIBRATORS[BEST](one) for name, one in seen.items()}
    some = inputs[:: max(len(inputs) // JUDGED, 1)][:JUDGED]
    by_layer = sensitivities(model, ranges, lambda one: head_scores(one, some))
    for count in KEPT:
        small = quantized(model, ranges, keep=list(by_layer)[:count])
        made[f"{BEST}, per channel, {count} layers kept"] = write_network(
            small, weights, COMPACT_SIZE_PX, folder / f"kept_{count}"
        )
    if (weights.parent / f"{weights.stem}_{COMPACT_SIZE_PX[0]}x{COMPACT_SIZE_PX[1]}.json").is_file():
        made["NNCF"] = exported(weights, COMPACT_SIZE_PX)
    return made, by_layer


def measure(made: dict[str, Exported], shown: list[tuple[NDArray[np.uint8], Any, str]]) -> dict[str, Any]:
    """Precision, size and time of each network."""
    running = {name: OpenVinoNetwork(one, threads=1) for name, one in made.items()}
    out: dict[str, Any] = {}
    for name, network in running.items():
        rows = []
        for bgr, _, _ in shown:
            found = network.start(letterbox(bgr, COMPACT_SIZE_PX)[0])()
            rows.append(strongest(found, 1.0, bgr.shape[1], bgr.shape[0], SCORE_MIN))
        size_mb = made[name].model.with_suffix(".bin").stat().st_size / 1e6
        out[name] = {"map": round(mean_precision(rows, [of for _, of, _ in shown]), 4), "mb": round(size_mb, 2)}
        print(name, out[name], flush=True)
    times: dict[str, list[float]] = {name: [] for name in running}
    for _ in range(ROUNDS):
        for name, network in running.items():
            for bgr, _, _ in shown[:TIMED]:
                picture = letterbox(bgr, COMPACT_SIZE_PX)[0]
                began = time.perf_counter()
                network.start(picture)()
                times[name].append(1e3 * (time.perf_counter() - began))
    for name, taken in times.items():
        low, middle = np.quantile(taken, [0.1, 0.5])
        out[name] |= {"ms_median": round(float(middle), 1), "ms_10th_percentile": round(float(low), 1)}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("set", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("--weights", type=Path, nargs="+", required=True)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--pictures", type=int, default=300, help="Pictures to calibrate with.")
    given = parser.parse_args()
    shown = list(pictures(given.set, given.rounds))
    paths = sorted((given.data / "images" / "train").glob("*.jpg"))
    chosen = np.random.default_rng(0).choice(len(paths), given.pictures, replace=False)
    inputs = torch.stack([_input(read_labelled(paths[i])[0]) for i in sorted(chosen)])
    record: dict[str, Any] = json.loads(given.record.read_text()) if given.record.exists() else {"weights": {}}
    record |= {"machine": machine(), "threads": 1, "pictures": len(shown), "calibration": len(inputs)}
    for weights in given.weights:
        with TemporaryDirectory() as work:
            made, by_layer = networks(weights, inputs, Path(work))
            found = measure(made, shown)
        sensitivity = {name: round(value, 5) for name, value in by_layer.items()}
        record["weights"][weights.stem] = {"networks": found, "sensitivity": sensitivity}
        given.record.write_text(json.dumps(record, indent=1) + "\n")


def _input(rgb: NDArray[np.uint8]) -> torch.Tensor:
    padded = np.ascontiguousarray(letterbox(rgb, COMPACT_SIZE_PX)[0])
    return torch.from_numpy(padded).permute(2, 0, 1).float() / 255.0


if __name__ == "__main__":
    main()
