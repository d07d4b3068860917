"""Trains the imitation network on recorded drives, from scratch; a stopped run continues where it was.

All pictures are kept decoded in memory (184 kB each), on the GPU where there is one. The drives whose numbers end with
9 are held back to measure the network. A running mean of the network's weights is measured several times, and the mean
with the lowest score is kept, because a network can overfit the drives.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import asdict, dataclass
from itertools import compress, repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from av_core.errors import ConfigError
from perception.imitation.groups import GROUPS, group_of
from perception.imitation.network import ImitationNetwork, NetworkShape, chosen_speed, speed_shares, to_input
from perception.imitation.samples import (
    CAUSE_MOST_M,
    CAUSES,
    FAR_HEIGHT_PX,
    HEIGHT_PX,
    WIDTH_PX,
    decode,
    drive_files,
    no_samples,
    read_samples,
)
from perception.imitation.weights import save_weights

HELD_BACK_EVERY = 10
"""One drive of this many is held back for the validation."""

SPEED_DROPOUT = 0.4
"""Fraction of samples in training whose speed is withheld.

In most samples of a standing car the expert stays standing. So a network that always knows its speed would learn never
to start (the inertia problem: Codevilla et al., 2019)."""

WITHHELD = math.nan

ROUTE_NOISE_M = 0.5
"""Standard deviation of the common shift of a sample's route points.

With exact points the network would find its lane by them and not by the picture; with larger errors it could not know
which lane is meant."""

ROUTE_NOISE_RAD = 0.02
"""Standard deviation of the common rotation of a sample's route points."""

PATH_WEIGHT = 1.0
"""Weight of the path's error (m) in the loss, relative to the cross-entropy of the speed."""

CAUSE_WEIGHT = 0.5
"""Weight in the loss of the expert's cause, which the network has to name in training only.

A target speed alone hardly teaches the network where to look, because most target speeds have no visible cause."""

CAUSE_M_WEIGHT = 0.5
"""Weight in the loss of the distance of this cause."""

MEAN_STEPS = 300
"""Number of steps over which the running mean of the weights is taken."""

RARE_MIN = 0.02
"""Least share of the samples for the weight of a speed class; rarer classes get the weight of this share."""

WARM_UP = 0.03
"""Fraction of the training during which the learning rate rises."""

DECAY = 0.05
DECODERS = 4
"""Number of threads that decode pictures."""

DECODED_AT_ONCE = 512
"""Number of pictures that are sent to the device together."""

MEASURED_EVERY = 2
"""Epochs between two measurements on the drives held back; the last epoch is measured too."""

KEEP_S = 60.0
"""Time between two states on disk."""


@dataclass(frozen=True, slots=True)
class TrainingSpec:
    """Options of a run. With `hours` it ends after that time, loading included, instead of after `epochs`."""

    data: tuple[Path, ...]
    out: Path
    is_blind: bool = False
    seed: int = 0
    epochs: int = 30
    hours: float | None = None
    batch: int = 256
    device: str = "cpu"
    rate: float = 6e-4
    width: int = NetworkShape().width

    def shape(self) -> NetworkShape:
        return NetworkShape(width=self.width, far_width=self.width // 2, is_blind=self.is_blind)

    def plain(self) -> dict[str, Any]:
        """The options that must be the same when a stopped run is continued."""
        return {"is_blind": self.is_blind, "seed": self.seed, "batch": self.batch, "rate": self.rate,
                "width": self.width}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """The samples of many drives on the training device; `pictures` and `far` are empty for the blind network."""

    pictures: torch.Tensor
    far: torch.Tensor
    speed_mps: torch.Tensor
    route_m: torch.Tensor
    path_m: torch.Tensor
    target_mps: torch.Tensor
    cause: torch.Tensor
    cause_m: torch.Tensor
    group: torch.Tensor

    def __len__(self) -> int:
        return len(self.speed_mps)


def train(spec: TrainingSpec, tell: Callable[[float, str], None]) -> Path:
    """Train, or go on with the run in `spec.out`; returns the path of the weights.

    `tell(fraction, figures)` is called after each epoch and now and then within it. The curves are in `training.json`.
    Raises ConfigError where `spec.out` holds a run with other options, or there is no drive to learn from.
    """
    begun_s = time.monotonic()
    spec.out.mkdir(parents=True, exist_ok=True)
    device = torch.device(spec.device)
    learnt, held_back = load_tables(spec.data, device, with_pictures=not spec.is_blind)
    run = _Run(spec, device, learnt, begun_s)
    run.resume()
    while not run.is_over:
        run.epoch(tell)
        is_measured = len(held_back) > 0 and (run.epochs % MEASURED_EVERY == 0 or run.is_over)
        run.note(run.judged(held_back) if is_measured else {})
        run.keep()
        tell(run.fraction, run.told())
    weights = spec.out / "imitation.pt"
    save_weights(run.chosen(), weights)
    return weights


def load_tables(folders: tuple[Path, ...], device: torch.device, *, with_pictures: bool) -> tuple[Table, Table]:
    """(training samples, samples held back). Raises ConfigError if there are no training samples."""
    learnt: list[Path] = []
    held_back: list[Path] = []
    for folder in folders:
        for path in drive_files(folder):
            (held_back if int(path.stem) % HELD_BACK_EVERY == HELD_BACK_EVERY - 1 else learnt).append(path)
    if not learnt:
        raise ConfigError(f"{folders[0]} holds no recorded drive; `av-stack dataset drive {folders[0]}` records some")
    return _load(learnt, device, with_pictures), _load(held_back, device, with_pictures)


def _load(paths: list[Path], device: torch.device, with_pictures: bool) -> Table:
    drives = [samples for samples, _ in map(read_samples, paths) if len(samples)] or [no_samples()]
    columns = {
        name: torch.from_numpy(np.concatenate([getattr(samples, name) for samples in drives])).float().to(device)
        for name in ("speed_mps", "route_m", "path_m", "target_mps", "cause_m")
    }
    groups = np.concatenate([group_of(one.speed_mps, one.target_mps, one.path_m) for one in drives])
    causes = np.concatenate([one.cause for one in drives]).astype(np.int64)
    whole = _decoded([jpeg for one in drives for jpeg in one.jpeg] if with_pictures else [], HEIGHT_PX, device)
    far = _decoded([jpeg for one in drives for jpeg in one.far] if with_pictures else [], FAR_HEIGHT_PX, device)
    group, cause = (torch.from_numpy(rows).to(device) for rows in (groups, causes))
    return Table(whole, far, group=group, cause=cause, **columns)


def _decoded(jpegs: list[bytes], height_px: int, device: torch.device) -> torch.Tensor:
    """The pictures (N, 3, height, width), uint8, on the device, which holds them only once meanwhile."""
    pictures = torch.empty((len(jpegs), 3, height_px, WIDTH_PX), dtype=torch.uint8, device=device)
    with ThreadPoolExecutor(DECODERS) as pool:
        for start in range(0, len(jpegs), DECODED_AT_ONCE):
            some = list(pool.map(decode, jpegs[start : start + DECODED_AT_ONCE], repeat(height_px)))
            pictures[start : start + len(some)] = to_input(np.stack(some)).to(device)
    return pictures


class _Run:
    """One training run: network, optimizer, and checkpoints."""

    def __init__(self, spec: TrainingSpec, device: torch.device, table: Table, begun_s: float) -> None:
        self._spec, self._device, self._table = spec, device, table
        torch.manual_seed(spec.seed)
        layout = torch.channels_last if device.type == "cuda" else torch.contiguous_format
        self.network = ImitationNetwork(spec.shape()).to(device).to(memory_format=layout)
        self._causes = nn.Linear(self.network.shape.hidden, len(CAUSES) + 1).to(device)
        learnt = [*self.network.parameters(), *self._causes.parameters()]
        self._optimizer = torch.optim.AdamW(learnt, lr=spec.rate, weight_decay=DECAY)
        self._mean = deepcopy(self.network)
        self._done_steps = 0
        self._kept_epoch: int | None = None
        self._best: tuple[float, dict[str, torch.Tensor]] | None = None
        self._rng = np.random.default_rng([spec.seed, 1])
        self._noise = torch.Generator(device=device).manual_seed(spec.seed + 1)
        self._chances = balanced(table.group)
        self._class_weight = class_weights(table.target_mps)
        self._steps = max(len(table) // spec.batch, 1)
        self.epochs, self._spent_s = 0, 0.0
        self._started = self._kept = begun_s
        self._curves: list[dict[str, Any]] = []
        self._losses: list[torch.Tensor] = []  # (2,) each, on the device: to read one waits for its step

    @property
    def fraction(self) -> float:
        """How much of the training is done."""
        if self._spec.hours is not None:
            return min((self._spent_s + time.monotonic() - self._started) / (3600.0 * self._spec.hours), 1.0)
        return min(self.epochs / self._spec.epochs, 1.0)

    @property
    def is_over(self) -> bool:
        return self.fraction >= 1.0

    def epoch(self, tell: Callable[[float, str], None]) -> None:
        """As many samples as there are, drawn so that rare groups come as often as common ones."""
        self.network.train()
        self._losses = []
        begun = self.fraction
        for step, rows in enumerate(self._batches()):
            now = begun + step / self._steps / self._spec.epochs if self._spec.hours is None else self.fraction
            if now >= 1.0:
                break
            for group in self._optimizer.param_groups:
                group["lr"] = self._spec.rate * schedule(now)
            self._losses.append(self._step(rows))
            if step % 20 == 19:
                tell(now, self.told())
        self.epochs += 1

    def _batches(self) -> Iterator[torch.Tensor]:
        for _ in range(self._steps):
            rows = self._rng.choice(len(self._table), self._spec.batch, p=self._chances)
            yield torch.from_numpy(rows).to(self._device)

    def _step(self, rows: torch.Tensor) -> torch.Tensor:
        table = self._table
        speed = table.speed_mps[rows]
        withheld = torch.rand(len(rows), generator=self._noise, device=self._device) < SPEED_DROPOUT
        speed = torch.where(withheld, WITHHELD, speed)
        pictures, far = table.pictures, table.far
        if len(pictures):
            pictures, far = self._varied(pictures[rows], far[rows])
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            mixed = self.network.grasp(pictures, far, speed, self._moved(table.route_m[rows]))
            path, scores = self.network.answer(mixed)
            told = self._causes(mixed)
        path_loss = functional.smooth_l1_loss(path.float(), table.path_m[rows], beta=0.5)
        shares = speed_shares(table.target_mps[rows])
        crossed = -(shares * scores.float().log_softmax(dim=1) * self._class_weight).sum(dim=1)
        speed_loss = crossed.mean()
        self._optimizer.zero_grad(set_to_none=True)
        (PATH_WEIGHT * path_loss + speed_loss + self._cause_loss(told.float(), rows)).backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self._optimizer.step()
        self._follow()
        return torch.stack([path_loss, speed_loss]).detach()

    def _cause_loss(self, told: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The loss of the expert's cause and, where it is known, of the cause's distance."""
        distance = self._table.cause_m[rows]
        is_known = torch.isfinite(distance)
        off = told[:, -1] - torch.where(is_known, distance, 0.0) / CAUSE_MOST_M
        far_off = torch.where(is_known, functional.smooth_l1_loss(off, torch.zeros_like(off), reduction="none"), 0.0)
        which = functional.cross_entropy(told[:, :-1], self._table.cause[rows])
        return CAUSE_WEIGHT * which + CAUSE_M_WEIGHT * far_off.mean()

    @torch.no_grad()
    def _follow(self) -> None:
        """Let the running mean follow the network: over fewer steps at first, when it is far off."""
        self._done_steps += 1
        share = max(1.0 / MEAN_STEPS, 10.0 / (10.0 + self._done_steps))
        means, values = ([*one.state_dict().values()] for one in (self._mean, self.network))
        is_number = [mean.is_floating_point() for mean in means]  # the others count the steps of normalizations
        torch._foreach_lerp_([*compress(means, is_number)], [*compress(values, is_number)], share)

    def _moved(self, route_m: torch.Tensor) -> torch.Tensor:
        """The route points as an error of the position and the heading would have them."""
        shift, turn = (
            torch.randn(len(route_m), 1, size, generator=self._noise, device=self._device) for size in (2, 1)
        )
        cos, sin = torch.cos(ROUTE_NOISE_RAD * turn[..., 0]), torch.sin(ROUTE_NOISE_RAD * turn[..., 0])
        x, y = route_m[..., 0], route_m[..., 1]
        return torch.stack([cos * x - sin * y, sin * x + cos * y], dim=2) + ROUTE_NOISE_M * shift

    def _varied(self, pictures: torch.Tensor, far: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Both pictures in 0..1 with other brightness, contrast and colours, alike, and noise."""
        count = len(pictures)

        def drawn(low: float, high: float, channels: int = 1) -> torch.Tensor:
            values = torch.rand(count, channels, 1, 1, generator=self._noise, device=self._device)
            return low + (high - low) * values

        contrast, gain, noisy = drawn(0.7, 1.3), drawn(0.7, 1.4) * drawn(0.9, 1.1, 3), drawn(0.0, 0.03)
        mean = pictures.float().mean(dim=(1, 2, 3), keepdim=True) / 255.0

        def varied(raw: torch.Tensor) -> torch.Tensor:
            noise = torch.randn(raw.shape, generator=self._noise, device=self._device)
            return ((mean + (raw.float() / 255.0 - mean) * contrast) * gain + noise * noisy).clamp(0.0, 1.0)

        return varied(pictures), varied(far)

    # ------------------------------------------------------------ checkpoints and validation

    def judged(self, held_back: Table) -> dict[str, Any]:
        """Measure the network with mean weights on the drives held back; keep it if its score is the best so far."""
        measured = measure(self._mean, held_back, self._spec.batch)
        if self._best is None or measured["score"] < self._best[0]:
            self._kept_epoch = self.epochs
            state = {name: value.detach().cpu().clone() for name, value in self._mean.state_dict().items()}
            self._best = (measured["score"], state)
        return measured

    def chosen(self) -> ImitationNetwork:
        """The kept network: the one with the best score, or the last one if none was measured."""
        if self._best is not None:
            self._mean.load_state_dict(self._best[1])
        return self._mean.eval()

    def note(self, measured: dict[str, Any]) -> None:
        """Add this epoch to the curves."""
        path, speed = torch.stack(self._losses).mean(dim=0).tolist() if self._losses else (0.0, 0.0)
        seconds = round(self._spent_s + time.monotonic() - self._started, 1)
        row = {"epoch": self.epochs, "seconds": seconds, "path_loss": path, "speed_loss": speed}
        self._curves.append(row | measured)
        record = {
            "options": self._spec.plain(),
            "shape": asdict(self._spec.shape()),
            "parameters": sum(value.numel() for value in self.network.parameters()),
            "samples": len(self._table),
            "groups": {name: int((self._table.group == k).sum()) for k, name in enumerate(GROUPS)},
            "device": torch.cuda.get_device_name() if self._device.type == "cuda" else "cpu",
            "kept_epoch": self._kept_epoch,
            "curves": self._curves,
        }
        (self._spec.out / "training.json").write_text(json.dumps(record, indent=1) + "\n")

    def told(self) -> str:
        """The last figures in one line."""
        if not self._losses:
            return ""
        path, speed = torch.stack(self._losses[-20:]).mean(dim=0).tolist()
        held = self._curves[-1].get("path_error_m") if self._curves else None
        tail = f", held back {held:.2f} m" if held is not None else ""
        return f"{self.epochs} epochs: path {path:.3f}, speed {speed:.3f}{tail}"

    def keep(self) -> None:
        """Write the state, at most every `KEEP_S` and at the end; it is on disk whole or not at all."""
        if not self.is_over and time.monotonic() - self._kept < KEEP_S and self.epochs > 1:
            return
        self._kept = time.monotonic()
        state = {
            "options": self._spec.plain(),
            "network": self.network.state_dict(),
            "causes": self._causes.state_dict(),
            "mean": self._mean.state_dict(),
            "steps": self._done_steps,
            "best": self._best,
            "kept_epoch": self._kept_epoch,
            "optimizer": self._optimizer.state_dict(),
            "rng": self._rng.bit_generator.state,
            "noise": self._noise.get_state(),
            "epochs": self.epochs,
            "spent_s": self._spent_s + time.monotonic() - self._started,
            "curves": self._curves,
        }
        part = self._spec.out / "last.part"
        torch.save(state, part)
        os.replace(part, self._spec.out / "last.pt")

    def resume(self) -> None:
        """Go on from the state in the run's folder, if there is one."""
        last = self._spec.out / "last.pt"
        if not last.exists():
            return
        state = torch.load(last, map_location="cpu", weights_only=True)
        if state["options"] != self._spec.plain():
            raise ConfigError(f"{self._spec.out} holds a run with other options ({state['options']}); name another")
        self.network.load_state_dict(state["network"])
        self._causes.load_state_dict(state["causes"])
        self._mean.load_state_dict(state["mean"])
        self._done_steps, self._best, self._kept_epoch = state["steps"], state["best"], state["kept_epoch"]
        self._optimizer.load_state_dict(state["optimizer"])
        self._rng.bit_generator.state = state["rng"]
        self._noise.set_state(state["noise"])
        self.epochs, self._spent_s, self._curves = state["epochs"], state["spent_s"], state["curves"]


def schedule(fraction: float) -> float:
    """The learning rate as a part of the largest: a short rise, then half a cosine."""
    if fraction < WARM_UP:
        return max(fraction / WARM_UP, 0.01)
    return 0.5 * (1.0 + math.cos(math.pi * min((fraction - WARM_UP) / (1.0 - WARM_UP), 1.0))) + 1e-3


def balanced(group: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(N,) Chances with which samples are drawn: each group's share is as the square root of its size."""
    rows = group.cpu().numpy()
    counts = np.bincount(rows, minlength=len(GROUPS)).astype(np.float64)
    chances = 1.0 / np.sqrt(counts[rows])
    return np.asarray(chances / chances.sum())


def class_weights(target_mps: torch.Tensor) -> torch.Tensor:
    """(classes,) Weights of the speed classes, 1 on average over the samples: more for rare ones."""
    share = speed_shares(target_mps).mean(dim=0)
    weight = share.clamp_min(RARE_MIN).rsqrt()
    return weight / (weight * share).sum()


@torch.inference_mode()
def measure(network: ImitationNetwork, table: Table, batch: int) -> dict[str, Any]:
    """Errors on samples: of the path, m, of the target speed, m/s, also by group, and with the speed withheld.

    The score is the error of the path, m, and the mean over the groups of that of the speed, m/s: while most of the
    samples cruise, what counts are the others.
    """
    network.eval()
    path, speed, without = [], [], []
    for start in range(0, len(table), batch):
        rows = slice(start, start + batch)
        seen = [raw[rows].float() / 255.0 if len(raw) else raw for raw in (table.pictures, table.far)]
        points, scores = network(*seen, table.speed_mps[rows], table.route_m[rows])
        path.append((points - table.path_m[rows]).norm(dim=2).mean(dim=1))
        speed.append((chosen_speed(scores) - table.target_mps[rows]).abs())
        unknown = torch.full_like(table.speed_mps[rows], WITHHELD)
        _, scores = network(*seen, unknown, table.route_m[rows])
        without.append((chosen_speed(scores) - table.target_mps[rows]).abs())
    paths, speeds, withouts = torch.cat(path), torch.cat(speed), torch.cat(without)
    groups = {}
    for number, name in enumerate(GROUPS):
        rows_of = table.group == number
        if rows_of.any():
            groups[name] = {
                "samples": int(rows_of.sum()),
                "path_error_m": float(paths[rows_of].mean()),
                "speed_error_mps": float(speeds[rows_of].mean()),
            }
    return {
        "score": float(paths.mean()) + sum(one["speed_error_mps"] for one in groups.values()) / max(len(groups), 1),
        "path_error_m": float(paths.mean()),
        "speed_error_mps": float(speeds.mean()),
        "speed_error_without_speed_mps": float(withouts.mean()),
        "by_group": groups,
    }
