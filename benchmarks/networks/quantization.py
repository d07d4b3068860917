"""Compares the methods of quantization on detectors: calibrators, granularity, kept layers, training.

    python -m benchmarks.networks.quantization SET DATA RECORD.json --weights A.pt B.pt --device cuda:0

SET is a folder of `benchmarks.networks.detectors`, on which precision is measured; DATA is a folder of `av-stack
dataset`, whose pictures calibrate and train. Each network runs in floating point with rounded inputs and weights.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.networks.picture_set import mean_precision, pictures
from perception.detection.resident import GREY, STRIDE_PX, read_labelled
from perception.networks.aware_training import AwareSpec, train_aware
from perception.networks.calibration import CALIBRATORS, Range, histograms
from perception.networks.detectors import body_layers, folded_detector, head_scores
from perception.networks.fake_quantization import quantizable, quantized, sensitivities

SEEN = 64
"""Pictures for the sensitivity of each layer."""

KEPT = (0, 4, 8, 16)
"""Numbers of the most sensitive layers that are kept in floating point."""

CALIBRATOR = "percentile 99.99"
"""Used where other things are compared."""


class Study:
    """One weights file: its float network, and the pictures on `device`."""

    def __init__(self, weights: Path, shown: torch.Tensor, calibration: torch.Tensor, batch: int) -> None:
        self.model = folded_detector(weights, str(shown.device))
        self._shown, self._calibration, self._batch = shown, calibration, batch

    def calibrate(self, calibrator: str) -> dict[str, Range]:
        if not hasattr(self, "_histograms"):
            self._histograms = histograms(self.model, body_layers(self.model), self._run)
        return {name: CALIBRATORS[calibrator](one) for name, one in self._histograms.items()}

    def calibrate_all(self, calibrator: str) -> dict[str, Range]:
        """With the head's layers."""
        return {name: CALIBRATORS[calibrator](one) for name, one in self._every().items()}

    def _every(self) -> Any:
        if not hasattr(self, "_all"):
            self._all = histograms(self.model, quantizable(self.model), self._run)
        return self._all

    def _run(self) -> None:
        for batch in self._calibration.split(self._batch):
            self.model(_floats(batch))

    def rows(self, model: Any) -> list[np.ndarray]:
        """Rows of the set's pictures: box, score, class."""
        out: list[np.ndarray] = []
        with torch.no_grad():
            for batch in self._shown.split(self._batch):
                out += list(model(_floats(batch))[0].float().cpu().numpy())
        return out

    def sensitivity(self, ranges: Mapping[str, Range]) -> dict[str, float]:
        few = _floats(self._calibration[:SEEN])
        return sensitivities(
            self.model, ranges, lambda model: torch.cat([head_scores(model, part) for part in few.split(self._batch)])
        )

    def draw(self, rng: np.random.Generator) -> torch.Tensor:
        """A batch of the calibration's pictures, half of them mirrored, of random brightness."""
        chosen = torch.from_numpy(rng.integers(len(self._calibration), size=self._batch)).to(self._calibration.device)
        batch = _floats(self._calibration[chosen])
        if rng.uniform() < 0.5:
            batch = batch.flip(3)
        return (batch * float(rng.uniform(0.8, 1.2))).clamp(0.0, 1.0)


def study(
    one: Study, precise: Callable[[list[np.ndarray]], Future[float]], steps: int, seconds: float
) -> dict[str, Any]:
    """All figures of one network; `precise` starts computing the precision of rows."""
    pending: dict[str, Any] = {"float": precise(one.rows(one.model))}
    pending["calibrators"] = {}
    for calibrator in CALIBRATORS:
        ranges = one.calibrate(calibrator)
        for grain, per_channel in (("per channel", True), ("per tensor", False)):
            model = quantized(one.model, ranges, per_channel)
            pending["calibrators"][f"{calibrator}, {grain}"] = precise(one.rows(model))
    pending["head too"] = precise(one.rows(quantized(one.model, one.calibrate_all(CALIBRATOR))))
    ranges = one.calibrate(CALIBRATOR)
    by_layer = one.sensitivity(ranges)
    order = list(by_layer)
    pending["kept"] = {n: precise(one.rows(quantized(one.model, ranges, keep=order[:n]))) for n in KEPT}
    trained = quantized(one.model, ranges)
    rng = np.random.default_rng(0)
    losses = train_aware(trained, one.model, partial(one.draw, rng), AwareSpec(steps, seconds))
    pending["aware"] = precise(one.rows(trained))
    out: dict[str, Any] = _resolved(pending)
    out["sensitivity"] = {name: round(value, 5) for name, value in by_layer.items()}
    every = max(len(losses) // 8, 1)
    out["aware steps"] = len(losses)
    out["aware losses"] = [round(float(np.mean(losses[k : k + 20])), 5) for k in range(0, len(losses), every)]
    return out


def _resolved(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _resolved(one) for name, one in value.items()}
    return round(value.result(), 5)


def _floats(batch: torch.Tensor) -> torch.Tensor:
    """Pictures (N, H, W, 3) uint8 RGB as the networks take them."""
    return batch.permute(0, 3, 1, 2).float() / 255.0


def _padded(rgb: Iterator[np.ndarray], device: str) -> torch.Tensor:
    """Pictures (N, H, W, 3) with grey below, so that their height is a multiple of the networks' stride."""
    pictures = torch.stack([torch.from_numpy(np.ascontiguousarray(one)) for one in rgb])
    below = -pictures.shape[1] % STRIDE_PX
    return nn.functional.pad(pictures, (0, 0, 0, 0, 0, below), value=int(GREY)).to(device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("set", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("--weights", type=Path, nargs="+", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--limit", type=int, default=10_000, help="Pictures of the set that are used at most.")
    parser.add_argument("--pictures", type=int, default=300, help="Pictures to calibrate with.")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=1000, help="Steps of quantization-aware training.")
    parser.add_argument("--seconds", type=float, default=60.0, help="Its time.")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    kept = list(pictures(given.set, given.rounds))[: given.limit]
    shown = _padded((bgr[:, :, ::-1] for bgr, _, _ in kept), given.device)
    labels = [of for _, of, _ in kept]
    paths = sorted((given.data / "images" / "train").glob("*.jpg"))
    chosen = np.random.default_rng(0).choice(len(paths), min(given.pictures, len(paths)), replace=False)
    calibration = _padded((read_labelled(paths[i])[0] for i in sorted(chosen)), given.device)
    record: dict[str, Any] = {
        "pictures": len(labels),
        "calibration": len(calibration),
        "torch": torch.__version__,
        "weights": {},
    }
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        for path in given.weights:
            one = Study(path, shown, calibration, given.batch)
            precise = partial(_submit, pool, labels)
            record["weights"][path.stem] = found = study(one, precise, given.steps, given.seconds)
            print(path.stem, {k: v for k, v in found.items() if k != "sensitivity"}, flush=True)
            given.record.write_text(json.dumps(record, indent=1) + "\n")


def _submit(pool: ProcessPoolExecutor, labels: Any, rows: list[np.ndarray]) -> Future[float]:
    return pool.submit(mean_precision, rows, labels)


if __name__ == "__main__":
    main()
