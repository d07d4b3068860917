"""Trains the imitation network on recorded drives, from scratch; a stopped run goes on where it was.

All pictures are kept decoded in memory (110 kB each), on the GPU where there is one. The drives whose numbers end with
9 are held back to measure the network.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from av_core.errors import ConfigError
from perception.imitation.groups import GROUPS, group_of
from perception.imitation.network import ImitationNetwork, NetworkShape, chosen_speed, speed_shares, to_input
from perception.imitation.samples import HEIGHT_PX, WIDTH_PX, decode, drive_files, no_samples, read_samples
from perception.imitation.weights import save_weights

HELD_BACK_EVERY = 10
"""One of so many drives is held back."""

SPEED_DROPOUT = 0.4
"""Fraction of samples without their speed. A car that stands mostly stays standing, so a network that always knew its
speed would learn never to start (the inertia problem: Codevilla et al., 2019)."""

WITHHELD = math.nan

ROUTE_NOISE_M, ROUTE_NOISE_RAD = 1.0, 0.035
"""Standard deviations by which a sample's route points are shifted, all alike, and turned. A position from GNSS is that
wrong, and a network that could trust it would find the lane by it and not by the picture."""

PATH_WEIGHT = 1.0
"""Weight of the path's error (m) beside the speed's cross-entropy."""

RARE_MIN = 0.02
"""Share of the samples below which a speed class counts no more for being rarer."""

WARM_UP = 0.03
"""Part of the training in which the learning rate rises."""

DECAY = 0.02
DECODERS, DECODED_AT_ONCE = 4, 512
"""Threads that decode pictures, and how many pictures go to the device together."""

MEASURED_EVERY = 4
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
        return NetworkShape(width=self.width, is_blind=self.is_blind)

    def plain(self) -> dict[str, Any]:
        """What a run that goes on must have in common with its start."""
        return {"is_blind": self.is_blind, "seed": self.seed, "batch": self.batch, "rate": self.rate,
                "width": self.width}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """The samples of many drives on the training device; `pictures` is empty for the blind network."""

    pictures: torch.Tensor
    speed_mps: torch.Tensor
    route_m: torch.Tensor
    path_m: torch.Tensor
    target_mps: torch.Tensor
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
        run.note(measure(run.network, held_back, spec.batch) if is_measured else {})
        run.keep()
        tell(run.fraction, run.told())
    weights = spec.out / "imitation.pt"
    save_weights(run.network.eval(), weights)
    return weights


def load_tables(folders: tuple[Path, ...], device: torch.device, *, with_pictures: bool) -> tuple[Table, Table]:
    """The samples to learn from, and those held back. Raises ConfigError where there is none to learn from."""
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
        for name in ("speed_mps", "route_m", "path_m", "target_mps")
    }
    groups = np.concatenate([group_of(one.speed_mps, one.target_mps, one.path_m) for one in drives])
    pictures = _decoded([jpeg for one in drives for jpeg in one.jpeg] if with_pictures else [], device)
    return Table(pictures, group=torch.from_numpy(groups).to(device), **columns)


def _decoded(jpegs: list[bytes], device: torch.device) -> torch.Tensor:
    """The pictures (N, 3, height, width), uint8, on the device, which holds them only once meanwhile."""
    pictures = torch.empty((len(jpegs), 3, HEIGHT_PX, WIDTH_PX), dtype=torch.uint8, device=device)
    with ThreadPoolExecutor(DECODERS) as pool:
        for start in range(0, len(jpegs), DECODED_AT_ONCE):
            some = list(pool.map(decode, jpegs[start : start + DECODED_AT_ONCE]))
            pictures[start : start + len(some)] = to_input(np.stack(some)).to(device)
    return pictures


class _Run:
    """One training run: network, optimizer, and what is written down."""

    def __init__(self, spec: TrainingSpec, device: torch.device, table: Table, begun_s: float) -> None:
        self._spec, self._device, self._table = spec, device, table
        torch.manual_seed(spec.seed)
        layout = torch.channels_last if device.type == "cuda" else torch.contiguous_format
        self.network = ImitationNetwork(spec.shape()).to(device).to(memory_format=layout)
        self._optimizer = torch.optim.AdamW(self.network.parameters(), lr=spec.rate, weight_decay=DECAY)
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
        pictures = self._varied(table.pictures[rows]) if len(table.pictures) else table.pictures
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._device.type == "cuda"):
            path, scores = self.network(pictures, speed, self._moved(table.route_m[rows]))
        path_loss = functional.smooth_l1_loss(path.float(), table.path_m[rows], beta=0.5)
        shares = speed_shares(table.target_mps[rows])
        crossed = -(shares * scores.float().log_softmax(dim=1) * self._class_weight).sum(dim=1)
        speed_loss = crossed.mean()
        self._optimizer.zero_grad(set_to_none=True)
        (PATH_WEIGHT * path_loss + speed_loss).backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self._optimizer.step()
        return torch.stack([path_loss, speed_loss]).detach()

    def _moved(self, route_m: torch.Tensor) -> torch.Tensor:
        """The route points as an error of the position and the heading would have them."""
        shift, turn = (
            torch.randn(len(route_m), 1, size, generator=self._noise, device=self._device) for size in (2, 1)
        )
        cos, sin = torch.cos(ROUTE_NOISE_RAD * turn[..., 0]), torch.sin(ROUTE_NOISE_RAD * turn[..., 0])
        x, y = route_m[..., 0], route_m[..., 1]
        return torch.stack([cos * x - sin * y, sin * x + cos * y], dim=2) + ROUTE_NOISE_M * shift

    def _varied(self, pictures: torch.Tensor) -> torch.Tensor:
        """The pictures in 0..1 with other brightness, contrast and colours, and noise."""
        count = len(pictures)

        def drawn(low: float, high: float, channels: int = 1) -> torch.Tensor:
            values = torch.rand(count, channels, 1, 1, generator=self._noise, device=self._device)
            return low + (high - low) * values

        varied = pictures.float() / 255.0
        mean = varied.mean(dim=(1, 2, 3), keepdim=True)
        varied = (mean + (varied - mean) * drawn(0.7, 1.3)) * drawn(0.7, 1.4) * drawn(0.9, 1.1, 3)
        noise = torch.randn(varied.shape, generator=self._noise, device=self._device)
        return (varied + noise * drawn(0.0, 0.03)).clamp(0.0, 1.0)

    # ------------------------------------------------------------ what is written down

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
    """Errors on samples: of the path, m, of the target speed, m/s, also by group, and with the speed withheld."""
    network.eval()
    path, speed, without = [], [], []
    for start in range(0, len(table), batch):
        rows = slice(start, start + batch)
        pictures = table.pictures[rows].float() / 255.0 if len(table.pictures) else table.pictures
        points, scores = network(pictures, table.speed_mps[rows], table.route_m[rows])
        path.append((points - table.path_m[rows]).norm(dim=2).mean(dim=1))
        speed.append((chosen_speed(scores) - table.target_mps[rows]).abs())
        unknown = torch.full_like(table.speed_mps[rows], WITHHELD)
        _, scores = network(pictures, unknown, table.route_m[rows])
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
        "path_error_m": float(paths.mean()),
        "speed_error_mps": float(speeds.mean()),
        "speed_error_without_speed_mps": float(withouts.mean()),
        "by_group": groups,
    }
