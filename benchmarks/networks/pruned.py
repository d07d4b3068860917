"""Compares pruned detectors with the one that they were made of, as a CPU runs them: precision, size and time.

    python -m benchmarks.networks.pruned SET DATA RECORD.json --dense detector_n.pt --pruned out/a out/b

SET is a folder of `benchmarks.networks.detectors`, DATA one of `av-stack dataset`, on whose pictures ranges for eight
bits are measured. Each folder of --pruned is one of `av-stack prune`; its weights may be those of a later training. All
networks are timed in turn, picture by picture, and a speed-up is the median of the ratios of a turn, so that other
programs on the machine slow both sides alike.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
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
from perception.detection.weights import COMPACT_SIZE_PX
from perception.networks.calibration import by_max, histograms
from perception.networks.detectors import body_layers, folded_detector, write_network
from perception.networks.fake_quantization import quantized

FORMS = ("float32", "eight bits")
DENSE = "dense"
BURST = 3
"""Pictures of a turn; the least time counts, since the first one reads the network from memory."""


@dataclass(frozen=True, slots=True)
class Made:
    """A detector as OpenVINO runs it, in float32 and in eight bits, and the weights of its convolutions."""

    networks: dict[str, OpenVinoNetwork]
    weights: int
    not_zero: int
    mb: dict[str, float]


def make(weights: Path, inputs: list[torch.Tensor], folder: Path) -> Made:
    model = folded_detector(weights)
    each = [module.weight for module in model.modules() if isinstance(module, torch.nn.Conv2d)]

    def run() -> None:
        for one in inputs:
            model(one)

    seen = histograms(model, body_layers(model), run)
    rounding = quantized(model, {name: by_max(one) for name, one in seen.items()})
    networks, mb = {}, {}
    for form, one in zip(FORMS, (model, rounding), strict=True):
        written = write_network(one, weights, COMPACT_SIZE_PX, folder / form.replace(" ", "_"))
        networks[form] = OpenVinoNetwork(written, threads=1)
        mb[form] = round(written.model.with_suffix(".bin").stat().st_size / 1e6, 3)
    return Made(networks, sum(one.numel() for one in each), sum(int((one != 0).sum()) for one in each), mb)


def precision(network: OpenVinoNetwork, shown: list[tuple[NDArray[np.uint8], Any, str]]) -> float:
    """mAP50-95 on the pictures."""
    rows = []
    for bgr, _, _ in shown:
        found = network.start(letterbox(bgr, COMPACT_SIZE_PX)[0])()
        rows.append(strongest(found, 1.0, bgr.shape[1], bgr.shape[0], SCORE_MIN))
    return round(mean_precision(rows, [labels for _, labels, _ in shown]), 4)


def times(networks: dict[str, OpenVinoNetwork], shown: list[NDArray[np.uint8]], turns: int) -> dict[str, list[float]]:
    """Times of one picture, ms, of each network in each turn."""
    taken: dict[str, list[float]] = {name: [] for name in networks}
    for turn in range(turns):
        picture = letterbox(shown[turn % len(shown)], COMPACT_SIZE_PX)[0]
        for name, network in networks.items():
            burst = []
            for _ in range(BURST):
                began = time.perf_counter()
                network.start(picture)()
                burst.append(1e3 * (time.perf_counter() - began))
            taken[name].append(min(burst))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("set", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("--dense", type=Path, required=True)
    parser.add_argument("--pruned", type=Path, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--pictures", type=int, default=300, help="Pictures to measure ranges on.")
    parser.add_argument("--turns", type=int, default=100, help="Turns of the timing; 0 for none.")
    parser.add_argument("--precise", default=",".join(FORMS), help="Forms whose precision is measured.")
    given = parser.parse_args()
    shown = list(pictures(given.set, given.rounds))
    paths = sorted((given.data / "images" / "train").glob("*.jpg"))
    chosen = np.random.default_rng(0).choice(len(paths), given.pictures, replace=False)
    inputs = [_input(read_labelled(paths[number])[0]) for number in sorted(chosen)]
    record: dict[str, Any] = {"networks": {}}
    if given.record.exists():
        record = json.loads(given.record.read_text())
    record |= {"machine": machine(), "threads": 1, "pictures": len(shown), "calibration": len(inputs)}
    made: dict[str, Made] = {}
    with TemporaryDirectory() as work:
        for folder in (None, *given.pruned):
            name = folder.name if folder else DENSE
            weights = folder / given.dense.name if folder else given.dense
            made[name] = make(weights, inputs, Path(work) / name)
            found: dict[str, Any] = {form: {"mb": made[name].mb[form]} for form in FORMS}
            found |= {"weights": made[name].weights, "not_zero": made[name].not_zero}
            if folder:
                about = json.loads((folder / "pruning.json").read_text())
                found |= {key: about[key] for key in ("pattern", "share", "criterion", "before", "after")}
            for form in given.precise.split(","):
                found[form]["map"] = precision(made[name].networks[form], shown)
            record["networks"][name] = found
            print(name, found, flush=True)
            given.record.write_text(json.dumps(record, indent=1) + "\n")
        if given.turns:
            every = {f"{name}, {form}": one.networks[form] for name, one in made.items() for form in FORMS}
            taken = times(every, [bgr for bgr, _, _ in shown[:20]], given.turns)
            for name in made:
                for form in FORMS:
                    own, dense = (np.array(taken[f"{one}, {form}"]) for one in (name, DENSE))
                    low, middle, high = np.quantile(dense / own, [0.25, 0.5, 0.75])
                    record["networks"][name][form] |= {
                        "ms_median": round(float(np.median(own)), 2), "speed_up": round(float(middle), 3),
                        "speed_up_quartiles": [round(float(low), 3), round(float(high), 3)],
                    }  # fmt: skip
                    print(name, form, record["networks"][name][form], flush=True)
            given.record.write_text(json.dumps(record, indent=1) + "\n")


def _input(rgb: NDArray[np.uint8]) -> torch.Tensor:
    padded = np.ascontiguousarray(letterbox(rgb, COMPACT_SIZE_PX)[0])
    return torch.from_numpy(padded).permute(2, 0, 1)[None].float() / 255.0


if __name__ == "__main__":
    main()
