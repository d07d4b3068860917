"""Trains the detector, from scratch or from existing weights of ours; no weights are downloaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from perception.detection.mixed_loader import MixedLoader, second_size, unlabelled_classes
from perception.detection.offline import ultralytics
from perception.detection.resident import ResidentLoader, augment
from perception.detection.varied_augmentation import augment_varied

SIZES = ("n", "s")
"""Sizes of YOLO26 that are trained here."""

RESNET = "resnet"
"""In place of a size: the ResNet detector."""

TEACHER_WEIGHT = 2.0
"""Weight of the teacher's outputs beside the labels."""


@dataclass(frozen=True, slots=True)
class TrainingSpec:
    """Options of a training run.

    `size` is YOLO26's ("n" or "s") or `RESNET`; `hours`, if given, ends training after that time instead of after
    `epochs`. `epoch_pictures` is the number of pictures in an epoch; None means all of the data set. `optimizer` is one
    of ultralytics'. `start` names weights of that size to continue from; None means from scratch. `varied` augments as
    other renderers and cameras would draw the pictures. `second` is another data set, of which a part of each batch is.
    `teacher` names weights of a trained detector, whose outputs are learnt beside the labels.
    """

    data: Path
    out: Path
    size: str = "n"
    epochs: int = 60
    hours: float | None = None
    batch: int = 64
    image_px: int = 640
    device: str = "cpu"
    epoch_pictures: int | None = None
    optimizer: str = "MuSGD"
    rate: float = 0.01
    start: Path | None = None
    varied: bool = False
    second: Path | None = None
    teacher: Path | None = None


def train(spec: TrainingSpec) -> Path:
    """Train, or resume a stopped run in `spec.out`; returns the path of the best weights (stripped, fp16)."""
    if spec.size not in (*SIZES, RESNET):
        raise ValueError(f"unknown size {spec.size}; there are {', '.join((*SIZES, RESNET))}")
    package = ultralytics()
    torch.backends.cudnn.benchmark = True  # every batch has the same shape
    last = spec.out / "run" / "weights" / "last.pt"
    trainer = _trainer(spec)
    if last.exists():
        package.YOLO(str(last)).train(resume=True, device=spec.device, batch=spec.batch, trainer=trainer)
    else:
        package.YOLO(str(spec.start or _configuration(spec.size))).train(
            data=str(spec.data / "dataset.yaml"), project=str(spec.out.resolve()), name="run", exist_ok=True,
            epochs=spec.epochs, time=spec.hours, batch=spec.batch, imgsz=spec.image_px, device=spec.device,
            pretrained=spec.start is not None, amp="bf16" if spec.device != "cpu" else False, plots=False, seed=0,
            deterministic=False, cos_lr=True, close_mosaic=0, warmup_epochs=1.0, warmup_bias_lr=0.0,
            optimizer=spec.optimizer, lr0=spec.rate, momentum=0.9, val=False, workers=4, trainer=trainer,
        )  # fmt: skip
    return spec.out / "run" / "weights" / "best.pt"


def _configuration(size: str) -> str:
    """The network in ultralytics' format."""
    if size != RESNET:
        return f"yolo26{size}.yaml"
    from perception.detection.resnet.network import CONFIGURATION

    return str(CONFIGURATION)


def _trainer(spec: TrainingSpec) -> Any:
    """A class of ultralytics' detection trainer with the resident loader and the lenient loss."""
    from ultralytics.models.yolo.detect import DetectionTrainer

    from perception.detection.ignoring_loss import ignoring_loss
    from perception.detection.resnet.distillation import DistillingLoss, load_teacher

    class Trainer(DetectionTrainer):  # type: ignore[misc]  # ultralytics is untyped
        def _setup_train(self) -> None:
            super()._setup_train()
            before = getattr(self.model, "criterion", None)  # exists where a run is resumed
            loss = ignoring_loss(self.model, before.updates if before else 0)
            if spec.teacher is not None:
                loss = DistillingLoss(loss, load_teacher(spec.teacher, self.device), TEACHER_WEIGHT)
            self.model.criterion = loss

        def get_dataloader(self, dataset_path: str, batch_size: int = 16, rank: int = 0, mode: str = "train") -> Any:
            if mode != "train":
                return super().get_dataloader(dataset_path, batch_size, rank, mode)
            return _loader(spec, batch_size, self.device)

    return Trainer


def _loader(spec: TrainingSpec, batch_size: int, device: Any) -> ResidentLoader | MixedLoader:
    vary = augment_varied if spec.varied else augment
    if spec.second is None:
        return ResidentLoader(spec.data, "train", batch_size, device, spec.epoch_pictures, vary=vary)
    size = second_size(batch_size)
    first = ResidentLoader(spec.data, "train", batch_size - size, device, spec.epoch_pictures, vary=vary)
    second = ResidentLoader(spec.second, "train", size, device, None, seed=1, vary=vary)
    return MixedLoader(first, second, unlabelled_classes(spec.second))
