"""Accuracy of the camera health monitor on recorded drives: false alarms, and injected faults that are noticed.

`python -m benchmarks.health DRIVE/recording.mcap ... --out health.json` runs the monitor alone on the recordings'
previews, which are compressed, with the recorded speed of the vehicle.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from mcap.reader import make_reader

from av_core.types import CameraImage, CameraModel, Stamp
from av_stack.evaluation.health import BROKEN, GOOD, HealthEvaluation, HealthSample
from av_stack.recording.previews import PreviewReader
from av_stack.recording.repair import open_recording
from benchmarks.__main__ import machine
from perception.health.monitor import Health, HealthMonitor, Response

BREAK_EVERY = 100
COMPACT_FOV_DEG = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.health", description=__doc__)
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    evaluation, rng, drives = HealthEvaluation(), np.random.default_rng(0), {}
    for path in arguments.recordings:
        drives["/".join(path.parts[-2:-1])] = counts = _told(path, evaluation, rng)
        print(path, counts, flush=True)
    noticed = {fault: [sum(seen), len(seen)] for fault, seen in evaluation.noticed.items()}
    passing = [sum(evaluation.passing), len(evaluation.passing)]
    total = {name: sum(drive[name] for drive in drives.values()) for name in ("pictures", "taken_for_faulty", "slowed")}
    told = {"all": total, "noticed_within_2_pictures": noticed, "passing_vehicle_taken_for_torn": passing}
    print(json.dumps(told, indent=2))
    if arguments.out is not None:
        figures = {"machine": machine(), **told, "drives": drives}
        arguments.out.write_text(json.dumps(figures, indent=2) + "\n")


def _told(path: Path, evaluation: HealthEvaluation, rng: np.random.Generator) -> dict[str, int]:
    """Counts of one drive; results for faults injected into its pictures are added to `evaluation`."""
    monitor, last, told = HealthMonitor(), list[HealthSample](), list[Health]()
    for sample in read_samples(path):
        told.append(monitor.update(sample.image, sample.image.stamp.time_s, sample.speed_mps))
        last = [*last, sample][-(GOOD + BROKEN) :]
        if len(told) % BREAK_EVERY == 0:
            evaluation.add(path.parent.name, last, rng)
    faulty = sum(bool(health.faults) for health in told)
    slowed = sum(health.response is not Response.DRIVE for health in told)
    return {"pictures": len(told), "taken_for_faulty": faulty, "slowed": slowed}


def read_samples(path: Path) -> Iterator[HealthSample]:
    """The front camera's pictures with the vehicle's recorded speed."""
    bgr, previews = None, PreviewReader()
    with open_recording(path) as file:
        for _, channel, message in make_reader(file).iter_messages(topics=["/camera/front", "/sensors"]):
            if channel.topic == "/camera/front":
                bgr = previews.read(message.data)
                continue
            assert bgr is not None, "the picture of a step is written before its other sensors"
            sensors = json.loads(message.data)
            height_px, width_px = bgr.shape[:2]
            camera = CameraModel("front", width_px, height_px, np.radians(COMPACT_FOV_DEG), 0.0, 0.0, 0.0)
            stamp = Stamp(sensors["frame"], message.log_time / 1e9)
            yield HealthSample(CameraImage(stamp, camera, bgr), sensors["wheel_speed_mps"])


if __name__ == "__main__":
    main()
