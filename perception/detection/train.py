"""Trains the detector, from scratch or from existing weights of ours; no weights are downloaded.

It can also train pruned networks, sparse networks (their zeros are kept), and networks that compute in eight bits.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import pad

from perception.detection.mixed_loader import MixedLoader, second_size, unlabelled_classes
from perception.detection.offline import ultralytics
from perception.detection.resident import GREY, STRIDE_PX, ResidentLoader, augment, read_labelled
from perception.detection.varied_augmentation import augment_varied

SIZES = ("n", "s")
"""Sizes of YOLO26 that are trained here."""

RESNET = "resnet"
"""Value of `TrainingSpec.size` for the ResNet detector."""

TEACHER_WEIGHT = 2.0
"""Weight of the distance to the teacher's outputs; the loss of the labels has weight 1."""

CALIBRATION_PICTURES = 300
"""Maximum number of pictures on which quantization-aware training measures the ranges of activations."""


@dataclass(frozen=True, slots=True)
class TrainingSpec:
    """Options of a training run.

    * `data`, `out`: folders of the data set and of the run.
    * `size`: of YOLO26, "n" or "s"; or `RESNET`.
    * `epochs`: passes over the data. `hours`: time limit that replaces it, counted from the end of the first step.
    * `batch`: pictures in a step; `image_px`: width of the input.
    * `epoch_pictures`: pictures in an epoch; None means all of the data set.
    * `optimizer`: name of an optimizer of ultralytics; `rate`: its learning rate at the start.
    * `start`: weights of this size to continue from; None means from scratch.
    * `varied`: augment with `augment_varied`, to imitate other renderers and cameras.
    * `second`: another data set; a part of each batch comes from it (`mixed_loader`).
    * `teacher`: weights of a trained detector; its outputs are learnt in addition to the labels. With `both_heads`, the
      one-to-one head learns from them too, which suits a network that was pruned or quantized from the teacher.
    * `hold_zeros`: keep the zeros that the sparse layers of `start` have.
    * `quantize_aware`: train a network that computes in eight bits, from `start`; the ranges are measured on training
      pictures. It needs a lower rate, and an optimizer that suits folded weights, such as AdamW.
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
    both_heads: bool = False
    hold_zeros: bool = False
    quantize_aware: bool = False


def train(spec: TrainingSpec) -> Path:
    """Train, or resume a stopped run in `spec.out`; returns the path of the best weights (stripped, fp16)."""
    if spec.size not in (*SIZES, RESNET):
        raise ValueError(f"unknown size {spec.size}; there are {', '.join((*SIZES, RESNET))}")
    if spec.start is None and (spec.hold_zeros or spec.quantize_aware):
        raise ValueError("hold_zeros and quantize_aware need weights to start from")
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
            pretrained=spec.start is not None, amp=_precision(spec), plots=False, seed=0,
            deterministic=False, cos_lr=True, close_mosaic=0, warmup_epochs=1.0, warmup_bias_lr=0.0,
            optimizer=spec.optimizer, lr0=spec.rate, momentum=0.9, val=False, workers=4, trainer=trainer,
        )  # fmt: skip
    return spec.out / "run" / "weights" / "best.pt"


def _precision(spec: TrainingSpec) -> Any:
    """The value for ultralytics' `amp`: bfloat16 on a GPU, except in eight-bit training, which it would disturb."""
    return False if spec.device == "cpu" or spec.quantize_aware else "bf16"


def _configuration(size: str) -> str:
    """The network's configuration file in ultralytics' format."""
    if size != RESNET:
        return f"yolo26{size}.yaml"
    from perception.detection.resnet.network import CONFIGURATION

    return str(CONFIGURATION)


def _trainer(spec: TrainingSpec) -> Any:
    """A subclass of ultralytics' detection trainer with the resident loader and the loss of `ignoring_loss`."""
    from ultralytics.models.yolo.detect import DetectionTrainer

    from perception.detection.ignoring_loss import ignoring_loss
    from perception.detection.resnet.distillation import BOTH, BRANCH, DistillingLoss, load_teacher
    from perception.networks.aware_training import rounding_detector
    from perception.networks.fake_quantization import rounds
    from perception.networks.sparsity import hold_zeros

    class Trainer(DetectionTrainer):  # type: ignore[misc]  # ultralytics is untyped
        has_stepped = False

        def get_model(self, cfg: Any = None, weights: Any = None, verbose: bool = True) -> Any:
            """The network to train: built from its configuration, or a copy of a pruned or quantized `weights`."""
            made = super().get_model(cfg, weights, verbose)
            if weights is not None and _is_other(weights, made):
                made = self.set_model_names_for_load(copy.deepcopy(weights).float())
                for parameter in made.parameters():
                    parameter.requires_grad_(parameter.dtype.is_floating_point)
            if spec.quantize_aware and not rounds(made):
                made = rounding_detector(made, partial(_calibration, spec.data))
            return made

        def _setup_train(self) -> None:
            super()._setup_train()
            if spec.hold_zeros:
                hold_zeros(self.model, self.optimizer)
            before = getattr(self.model, "criterion", None)  # exists if a run is resumed
            loss = ignoring_loss(self.model, before.updates if before else 0)
            if spec.teacher is not None:
                branches = BOTH if spec.both_heads else (BRANCH,)
                loss = DistillingLoss(loss, load_teacher(spec.teacher, self.device), TEACHER_WEIGHT, branches)
            self.model.criterion = loss

        def optimizer_step(self) -> None:
            """Make a step, and start the clock of the training at the end of the first step.

            On a GPU the first step also loads and chooses kernels, which can take half a minute. Ultralytics estimates
            the number of epochs as `hours` divided by the mean time of an epoch, and lowers the rate over these epochs.
            With that half minute it would expect too few epochs and lower the rate too early.
            """
            super().optimizer_step()
            if not self.has_stepped:
                self.has_stepped = True
                self.train_time_start = self.epoch_time_start = time.time()

        def get_dataloader(self, dataset_path: str, batch_size: int = 16, rank: int = 0, mode: str = "train") -> Any:
            if mode != "train":
                return super().get_dataloader(dataset_path, batch_size, rank, mode)
            return _loader(spec, batch_size, self.device)

    return Trainer


def _is_other(weights: Any, made: Any) -> bool:
    """Whether the network `weights` has the classes of `made`, but other layers or widths, for example when pruned."""
    shapes = [{name: value.shape for name, value in one.state_dict().items()} for one in (weights, made)]
    return shapes[0] != shapes[1] and weights.model[-1].nc == made.model[-1].nc


def _calibration(data: Path) -> Iterator[torch.Tensor]:
    """Pictures (1, 3, H, W) in 0..1 of a data set, padded with grey below to a height that the stride divides."""
    paths = sorted((data / "images" / "train").glob("*.jpg"))
    count = min(CALIBRATION_PICTURES, len(paths))
    for number in sorted(np.random.default_rng(0).choice(len(paths), count, replace=False)):
        picture = torch.from_numpy(read_labelled(paths[number])[0]).permute(2, 0, 1)[None].float()
        yield pad(picture, (0, -picture.shape[3] % STRIDE_PX, 0, -picture.shape[2] % STRIDE_PX), value=GREY) / 255.0


def _loader(spec: TrainingSpec, batch_size: int, device: Any) -> ResidentLoader | MixedLoader:
    vary = augment_varied if spec.varied else augment
    if spec.second is None:
        return ResidentLoader(spec.data, "train", batch_size, device, spec.epoch_pictures, vary=vary)
    size = second_size(batch_size)
    first = ResidentLoader(spec.data, "train", batch_size - size, device, spec.epoch_pictures, vary=vary)
    second = ResidentLoader(spec.second, "train", size, device, None, seed=1, vary=vary)
    return MixedLoader(first, second, unlabelled_classes(spec.second))
