"""Times the shipped detectors as a drive on a CPU runs them: by OpenVINO, on one thread, one picture after another.

    python -m benchmarks.networks.speed SET RECORD.json --detectors n resnet

SET is a folder of `benchmarks.networks.detectors`. The detectors take turns, so that other work on the machine slows
all of them. RECORD gets one more run; earlier ones stay.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.__main__ import machine
from benchmarks.networks.picture_set import pictures
from perception.detection.detector import letterbox
from perception.detection.networks import OpenVinoNetwork
from perception.detection.weights import COMPACT_SIZE_PX, DETECTORS, exported

PICTURES, TURNS = 20, 10


def measure(names: list[str], folder: Path) -> dict[str, Any]:
    """Time of one picture for each detector, ms: the median, and the 10th percentile."""
    shown = [letterbox(bgr, COMPACT_SIZE_PX)[0] for bgr, _, _ in islice(pictures(folder, 1), PICTURES)]
    running = {name: OpenVinoNetwork(exported(DETECTORS[name], COMPACT_SIZE_PX), threads=1) for name in names}
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(TURNS):
        for name, network in running.items():
            for picture in shown:
                began = time.perf_counter()
                network.infer(picture)
                times[name].append(1e3 * (time.perf_counter() - began))
    found: dict[str, Any] = {"load": round(os.getloadavg()[0], 1)}
    for name, taken in times.items():
        low, middle = np.quantile(taken, [0.1, 0.5])
        found[name] = {"ms_median": round(float(middle), 1), "ms_10th_percentile": round(float(low), 1)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("set", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("--detectors", nargs="+", choices=list(DETECTORS), default=list(DETECTORS))
    given = parser.parse_args()
    record: dict[str, Any] = json.loads(given.record.read_text()) if given.record.exists() else {"runs": []}
    record |= {"machine": machine(), "threads": 1, "pictures": PICTURES, "turns": TURNS}
    record["runs"].append(measure(given.detectors, given.set))
    print(record["runs"][-1])
    given.record.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
