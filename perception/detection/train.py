"""Training of the detector from scratch: no weights are downloaded, none are started from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perception.detection.offline import ultralytics

SIZES = ("n", "s")


@dataclass(frozen=True, slots=True)
class TrainingSpec:
    """`size` is YOLO26's ("n" or "s"); `hours`, if given, ends training after that time instead of after `epochs`."""

    data: Path
    out: Path
    size: str = "n"
    epochs: int = 60
    hours: float | None = None
    batch: int = 64
    image_px: int = 640
    workers: int = 8
    device: str = "cpu"
    cache: bool = False


def train(spec: TrainingSpec) -> Path:
    """Train, or go on where a run in `spec.out` was stopped; returns the best weights' path, stripped, in fp16.

    Pictures are never mirrored: the numbers on signs would be.
    """
    if spec.size not in SIZES:
        raise ValueError(f"unknown size {spec.size}; there are {', '.join(SIZES)}")
    package = ultralytics()
    last = spec.out / "run" / "weights" / "last.pt"
    if last.exists():
        package.YOLO(str(last)).train(resume=True, device=spec.device, workers=spec.workers, batch=spec.batch)
    else:
        package.YOLO(f"yolo26{spec.size}.yaml").train(
            data=str(spec.data / "dataset.yaml"), project=str(spec.out.resolve()), name="run", exist_ok=True,
            epochs=spec.epochs, time=spec.hours, batch=spec.batch, imgsz=spec.image_px, device=spec.device,
            workers=spec.workers, pretrained=False, amp="bf16" if spec.device != "cpu" else False, plots=False,
            cache="ram" if spec.cache else False, fliplr=0.0, seed=0, deterministic=False, close_mosaic=5,
            cos_lr=True,
        )  # fmt: skip
    return spec.out / "run" / "weights" / "best.pt"
