"""Fine-tunes the detector on labelled pictures of another renderer without forgetting its own.

The training loss has two terms:

* On the foreign pictures, the detector's own training loss, without the classes that their labels lack.
* On own pictures, the distance to the outputs of the initial weights (learning without forgetting, Li and Hoiem, 2016).
  Only the trained network gets these pictures with random photometric changes, the initial one without.

With `FinetuneSpec.hold`, the outputs of all classes but lights are also kept near the initial ones on the labelled
pictures. The statistics of batch norm stay fixed. Afterwards the weights can be averaged with the initial ones
(WiSE-FT, Wortsman et al., 2022).
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from perception.detection.foreign_batches import OTHERS, Pictures
from perception.detection.photometric_augmentation import augment_photometric
from perception.detection.resident import UNLEARNT, move_and_warp

Draw = Callable[[int, np.random.Generator], dict[str, Any]]

EMA_DECAY = 0.998
"""Decay per step of the moving average of the weights."""

WARM_STEPS, WARM_SHARE = 50.0, 0.1
"""The learning rate rises to its full value over this many steps, or this fraction of a shorter run."""

CHECKPOINT_S = 60.0
"""Time between two checkpoints, s."""

GRADIENT_MAX = 10.0
"""Largest norm of the gradient; a larger gradient is scaled down to it."""

BOX_SCORE_MIN = 0.05
"""Minimum score of the teacher for which the student also learns the teacher's box."""

OWN_LOOKS = 0.4
"""Fraction of own pictures that get photometric changes."""

HELD = OTHERS.nonzero()[:, 0].tolist()
"""Indices of the classes whose outputs `FinetuneSpec.hold` keeps near the initial ones: all but lights."""


@dataclass(frozen=True, slots=True)
class FinetuneSpec:
    """Options of a fine-tuning; it ends after `steps` or `seconds`, whichever comes first.

    * `rate`: largest learning rate.
    * `keep`: weight of the loss on own pictures.
    * `hold`: weight of the distance to the initial outputs of the classes `HELD` on labelled pictures.
    * `foreign_batch`, `own_batch`: pictures of each kind in a step.
    """

    steps: int = 1500
    rate: float = 5e-4
    keep: float = 1.0
    foreign_batch: int = 32
    own_batch: int = 64
    seconds: float = float("inf")
    seed: int = 0
    hold: float = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """Progress of a fine-tuning.

    * `number`: index of the step.
    * `share`: fraction of the steps or of the time that has passed, 0 to 1.
    * `foreign`, `own`: the two terms of the loss.
    * `took_s`: duration of the run so far, s.
    """

    number: int
    share: float
    foreign: float
    own: float
    took_s: float

    def __str__(self) -> str:
        return f"step {self.number}: foreign {self.foreign:.3f}, own {self.own:.4f}, {self.took_s:.0f} s"


def load_weights(path: Path, device: str) -> Any:
    """The network of a weights file in float32, with every parameter trainable."""
    model = torch.load(path, map_location="cpu", weights_only=False)["model"].float().to(device)
    if isinstance(model.args, dict):
        model.args = SimpleNamespace(**model.args)
    for name, default in (("box", 7.5), ("cls", 0.5), ("dfl", 1.5), ("epochs", 2)):
        if not hasattr(model.args, name):
            setattr(model.args, name, default)
    model.end2end = True  # evaluation uses the one-to-one head alone; training uses both heads
    for parameter in model.parameters():
        parameter.requires_grad_(parameter.dtype.is_floating_point)
    return model


def finetune(
    start: Any,
    draw: Draw,
    own: Pictures,
    spec: FinetuneSpec,
    tell: Callable[[Step], None],
    checkpoint: Path | None = None,
) -> dict[str, torch.Tensor]:
    """Fine-tune a copy of `start`; returns the moving average of its weights as a state dict in float32.

    `draw(count, rng)` returns a batch of `count` labelled pictures, as `ForeignBatches` does. `tell` is called after
    each step. With `checkpoint`, the state is written to this file every `CHECKPOINT_S` seconds and at the end, and
    training resumes from the file if it exists.
    """
    run = _Run(start, draw, own, spec)
    if checkpoint is not None and checkpoint.is_file():
        run.restore(checkpoint)
    saved = time.monotonic()
    while (share := run.share()) < 1.0:
        tell(run.step(share))
        if checkpoint is not None and time.monotonic() - saved >= CHECKPOINT_S:
            run.save(checkpoint)
            saved = time.monotonic()
    if checkpoint is not None:
        run.save(checkpoint)
    return run.average


class _Run:
    """One fine-tuning: the student, its teacher, the optimizer and the moving average of the weights."""

    def __init__(self, start: Any, draw: Draw, own: Pictures, spec: FinetuneSpec) -> None:
        from perception.detection.ignoring_loss import ignoring_loss

        self._draw, self._own, self._spec = draw, own, spec
        self._teacher, self._model = _frozen(start), copy.deepcopy(start)
        _train_mode(self._model)
        self._device = next(self._model.parameters()).device
        self._loss = ignoring_loss(self._model)
        self._loss.o2m, self._loss.o2o = 0.5, 0.5
        slow = [p for p in self._model.parameters() if p.ndim <= 1]
        fast = [p for p in self._model.parameters() if p.ndim > 1]
        groups = [{"params": fast, "weight_decay": 1e-4}, {"params": slow, "weight_decay": 0.0}]
        self._optimizer = torch.optim.AdamW(groups, lr=spec.rate, betas=(0.9, 0.99))
        self.average = {name: value.detach().clone() for name, value in self._model.state_dict().items()}
        self._rng = np.random.default_rng(spec.seed)
        self._number = 0
        self._began = time.monotonic()

    def share(self) -> float:
        """The fraction of the steps or of the time that has passed, whichever is greater."""
        return max(self._number / self._spec.steps, (time.monotonic() - self._began) / self._spec.seconds)

    def step(self, share: float) -> Step:
        """Make one step of the optimizer; `share`, the part of the run that has passed, gives the learning rate."""
        spec, number = self._spec, self._number
        warm = min(max((number + 1) / WARM_STEPS, share / WARM_SHARE), 1.0)
        for group in self._optimizer.param_groups:
            group["lr"] = spec.rate * warm * (0.02 + 0.49 * (1.0 + np.cos(np.pi * share)))
        batch = self._draw(spec.foreign_batch, self._rng)
        plain, changed = _own_batch(self._own, spec.own_batch, self._rng)
        labelled, kept = slice(None, spec.foreign_batch), slice(spec.foreign_batch, None)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            with torch.no_grad():
                wanted = _floats(self._teacher((torch.cat([batch["img"], plain]) if spec.hold else plain) / 255.0))
            found = _floats(self._model(torch.cat([batch["img"], changed]) / 255.0))
        loss, _ = self._loss(_part(found, labelled), batch)
        learn = loss.sum() / spec.foreign_batch
        keep = keep_loss(_part(found, kept), _part(wanted, kept) if spec.hold else wanted)
        if spec.hold:
            learn = learn + spec.hold * keep_loss(_part(found, labelled), _part(wanted, labelled), HELD)
        self._optimizer.zero_grad(set_to_none=True)
        (learn + spec.keep * keep).backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), GRADIENT_MAX)
        self._optimizer.step()
        decay = min(EMA_DECAY, (1.0 + number) / (10.0 + number))
        with torch.no_grad():
            live = dict(self._model.named_parameters())
            torch._foreach_lerp_([self.average[name] for name in live], list(live.values()), 1.0 - decay)
        self._number += 1
        return Step(number, share, float(learn.detach()), float(keep.detach()), time.monotonic() - self._began)

    def save(self, path: Path) -> None:
        """Write the state atomically: a run may be stopped while it writes."""
        part = path.with_suffix(".part")
        state = {
            "model": self._model.state_dict(), "optimizer": self._optimizer.state_dict(), "average": self.average,
            "rng": self._rng.bit_generator.state, "number": self._number, "took_s": time.monotonic() - self._began,
        }  # fmt: skip
        torch.save(state, part)
        part.replace(path)

    def restore(self, path: Path) -> None:
        state = torch.load(path, map_location=self._device, weights_only=False)
        self._model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self.average = state["average"]
        self._rng.bit_generator.state = state["rng"]
        self._number = state["number"]
        self._began = time.monotonic() - state["took_s"]


def write_averaged(weights: Path, tuned: dict[str, torch.Tensor], share: float, out: Path) -> None:
    """Write a copy of the file `weights` in fp16, moved by the fraction `share` towards the weights `tuned`."""
    kept = torch.load(weights, map_location="cpu", weights_only=False)
    start = kept["model"].float().state_dict()
    kept["model"].load_state_dict(averaged(start, {name: value.cpu() for name, value in tuned.items()}, share))
    kept["model"].half()
    part = out.with_suffix(".part")
    torch.save(kept, part)
    part.replace(out)


def averaged(start: dict[str, torch.Tensor], tuned: dict[str, torch.Tensor], share: float) -> dict[str, torch.Tensor]:
    """Weights interpolated between `start` (`share` 0) and `tuned` (`share` 1)."""
    return {
        name: torch.lerp(value, tuned[name].to(value), share) if value.dtype.is_floating_point else value
        for name, value in start.items()
    }


def keep_loss(
    student: dict[str, Any],
    teacher: dict[str, Any],
    classes: Sequence[int] | None = None,
    branches: Sequence[str] = ("one2many", "one2one"),
) -> torch.Tensor:
    """Distance of the outputs to the teacher's: cross-entropy of scores plus L1 distance of the teacher's boxes.

    With `classes`, only the scores and boxes of these classes count. `branches` are the heads that are compared.
    """
    chosen = slice(None) if classes is None else list(classes)
    total = torch.zeros((), device=student[branches[0]]["scores"].device)
    for branch in branches:
        given, wanted = student[branch], teacher[branch]
        target = wanted["scores"][:, chosen].sigmoid()
        entropy = torch.nn.functional.binary_cross_entropy(target, target, reduction="sum")
        cross = torch.nn.functional.binary_cross_entropy_with_logits(
            given["scores"][:, chosen], target, reduction="sum"
        )
        best = target.amax(dim=1)
        mass = best.sum().clamp(min=1.0)
        weight = torch.where(best > BOX_SCORE_MIN, best, torch.zeros_like(best))
        apart = (given["boxes"] - wanted["boxes"]).abs().mean(dim=1)
        total = total + (cross - entropy) / mass + (apart * weight).sum() / mass
    return total


def _frozen(model: Any) -> Any:
    teacher = copy.deepcopy(model)
    _train_mode(teacher)
    for parameter in teacher.parameters():
        parameter.requires_grad_(False)
    return teacher


def _train_mode(model: Any) -> None:
    """Switch `model` to its training outputs; batch norm keeps its statistics."""
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.eval()


def _floats(preds: dict[str, Any]) -> dict[str, Any]:
    return {
        branch: {
            name: [each.float() for each in value] if isinstance(value, list | tuple) else value.float()
            for name, value in some.items()
        }
        for branch, some in preds.items()
    }


def _part(preds: dict[str, Any], pictures: slice) -> dict[str, Any]:
    """The outputs for some of the pictures."""
    return {
        branch: {
            name: [each[pictures] for each in value] if isinstance(value, list) else value[pictures]
            for name, value in some.items()
        }
        for branch, some in preds.items()
    }


def _own_batch(pictures: Pictures, count: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    chosen = rng.choice(len(pictures.boxes), count, replace=len(pictures.boxes) < count)
    rgb = pictures.rgb[torch.from_numpy(chosen).to(pictures.rgb.device)].permute(0, 3, 1, 2)
    none = [np.array([[UNLEARNT, 0.0, 0.0, 1.0, 1.0]])] * count
    moved, _ = move_and_warp(rgb, none, rng, (0.6, 2.0), np.full(count, True))
    plain = moved.clamp(0.0, 255.0)
    return plain, augment_photometric(plain, rng, OWN_LOOKS)
