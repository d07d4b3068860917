"""Renders labelled data sets for training and evaluating the detector (`av-stack dataset`).

The folder has the layout of ultralytics (`dataset.yaml`, `images/<split>`, `labels/<split>`). In addition there is one
JSON line per label (`objects/<split>`: class, box, visible share, distance, weather), so that figures can be split by
range and weather. The work is cut into episodes, each a map and a seed; an episode that exists is not made again.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import active_children, get_context
from pathlib import Path

import cv2
import numpy as np
import yaml

from av_core.errors import ConfigError, WorldError
from av_stack.server_process import ServerProcess
from av_stack.world.carla.capture.shots import CaptureSpec, Shot, capture
from av_stack.world.carla.client import connect
from av_stack.world.carla.weather import weather_presets
from perception.detection.classes import CLASSES

JPEG_QUALITY = 92
TRAINING_FOV_DEG = (60.0, 60.0, 60.0, 53.13, 90.0, 30.0)
"""Horizontal fields of view from which a camera's is drawn: those of the compact and of the full rig.

The full rig's are as they appear in a picture of 640x360: its front picture is twice as wide, at 90 degrees, and the
middle of it looks like one at 53 degrees.
"""

TRAINING = CaptureSpec("", 0, fov_deg=TRAINING_FOV_DEG, guests=36, guests_m=(10.0, 100.0), redraw_limits=True)
"""The pattern of a training episode.

Its people stand up to the largest distance that counts, because distant people are the hardest to detect.
"""

LOOKS_TRAINING = replace(
    TRAINING, scenes=4, shots=4, fov_deg=(60.0, 60.0, 53.13, 75.0, 90.0, 90.0, 30.0), large_vehicles=8, props=40
)
"""As `TRAINING`, with objects that detectors confuse in other renderers: large vehicles close by, and roadside props.

Its episodes are shorter, so that a data set of the same size has more looks.
"""

DEFAULT_LOOK_SHARE = 0.3
"""In a data set with looks, the fraction of episodes in the default look."""

DESERTED_SHARE = 0.125
"""In a data set with looks, the fraction of episodes with nearly empty roads."""

ATTEMPTS = 3
"""Attempts at an episode: with many servers at once, two sometimes pick the same port."""

FIRST_HELD_OUT_LOOK = 900_000
"""Looks from this one on are for evaluation; no data set for training has them."""

FIRST_SEED = {"train": 1000, "val": 500_000}
"""First seed of each split. The seeds of the splits never overlap, nor do they overlap those of scenarios."""


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """What to render: `frames` pictures of `split`, spread evenly over `maps`; `capture` describes each episode.

    With `looks`, an episode takes the server's default look or, more often, one of looks 1 to `looks`, by its seed.
    """

    split: str
    maps: tuple[str, ...]
    frames: int
    capture: CaptureSpec
    maps_folder: Path | None = None
    looks: int = 0

    def episodes(self) -> Iterator[CaptureSpec]:
        """The episodes, maps and weathers in turn; the last one may yield more frames than needed."""
        each = self.capture.views * self.capture.scenes * self.capture.shots
        for number in range(-(-self.frames // each)):
            town, seed = self.maps[number % len(self.maps)], FIRST_SEED[self.split] + number
            weathers, first = self.capture.weathers, number * self.capture.scenes
            turned = tuple(weathers[(first + k) % len(weathers)] for k in range(len(weathers)))
            episode = replace(self.capture, map_name=town, seed=seed, weathers=turned)
            is_deserted = self.looks > 0 and np.random.default_rng([seed, 17]).uniform() < DESERTED_SHARE
            yield _deserted(episode) if is_deserted else episode

    def look(self, episode: CaptureSpec) -> int:
        """The look of one of the episodes: a seed for the server, 0 for its default."""
        rng = np.random.default_rng([episode.seed, 13])
        if not self.looks or rng.uniform() < DEFAULT_LOOK_SHARE:
            return 0
        return int(rng.integers(1, self.looks + 1))


def _deserted(episode: CaptureSpec) -> CaptureSpec:
    """The episode with nearly empty roads: the cars that carry the cameras, as many other cars, and no people."""
    return replace(episode, vehicles=2 * episode.views, walkers=0, guests=0, large_vehicles=0)


def write_dataset(
    specs: Sequence[DatasetSpec], out: Path, workers: int, tell: Callable[[int, int], None]
) -> dict[str, object]:
    """Render what is missing of the data set in `out`; returns its summary, which is also written to `summary.json`.

    `tell(done, all)` is called after each episode. Raises ConfigError where `out` holds a different data set.
    """
    claim(out, specs)
    todo = [(spec, episode) for spec in specs for episode in spec.episodes()]
    missing = [(spec, episode) for spec, episode in todo if not is_made(out, spec.split, episode)]
    done = len(todo) - len(missing)
    tell(done, len(todo))
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        with children_ignore_interrupts():
            futures = [pool.submit(_write_with_retries, out, spec, episode) for spec, episode in missing]
        try:
            for future in as_completed(futures):
                future.result()
                done += 1
                tell(done, len(todo))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():  # an episode takes minutes; its server ends with the worker
                worker.terminate()
            raise
    return summarise(out, specs)


@contextmanager
def children_ignore_interrupts() -> Iterator[None]:
    """Processes started in this context ignore Ctrl-C, which a terminal sends to all its processes.

    The parent ends them instead.
    """
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)


def claim(out: Path, specs: Sequence[DatasetSpec]) -> None:
    """Prepare the folders; raises ConfigError where `out` holds a data set made with other options."""
    wanted = json.loads(json.dumps([_plain(spec) for spec in specs]))
    made = out / "made.json"
    if made.exists() and json.loads(made.read_text()) != wanted:
        raise ConfigError(f"{out} holds a data set made with other options ({made}); name another folder")
    for spec in specs:
        for kind in ("images", "labels", "objects", "episodes"):
            (out / kind / spec.split).mkdir(parents=True, exist_ok=True)
    made.write_text(json.dumps(wanted, indent=1) + "\n")
    table = {"path": str(out.resolve()), "names": dict(enumerate(CLASSES))}
    table |= {spec.split: f"images/{spec.split}" for spec in specs if spec.frames}
    table.setdefault("val", table.get("train", ""))  # the trainer wants one, and does not use it
    (out / "dataset.yaml").write_text(yaml.safe_dump(table, sort_keys=False))


def _plain(spec: DatasetSpec) -> dict[str, object]:
    shape = {name: getattr(spec.capture, name) for name in CaptureSpec.__dataclass_fields__}
    return {"split": spec.split, "maps": spec.maps, "frames": spec.frames, "capture": shape, "looks": spec.looks}


def is_made(out: Path, split: str, episode: CaptureSpec) -> bool:
    """Whether all pictures of the episode have been written."""
    return _marker(out, split, episode).exists()


def _marker(out: Path, split: str, episode: CaptureSpec) -> Path:
    return out / "episodes" / split / f"{_name(episode)}.json"


def _name(episode: CaptureSpec) -> str:
    return f"{episode.map_name}_{episode.seed}"


def _write_with_retries(out: Path, spec: DatasetSpec, episode: CaptureSpec) -> None:
    """Write an episode, with up to `ATTEMPTS` attempts."""
    for attempt in range(ATTEMPTS):
        try:
            return _write_episode(out, spec, episode)
        except WorldError:
            if attempt == ATTEMPTS - 1:
                raise
    return None


def _write_episode(out: Path, spec: DatasetSpec, episode: CaptureSpec) -> None:
    """Render one episode with its own server."""
    folder = [] if spec.maps_folder is None else ["--maps", str(spec.maps_folder)]
    options = ["--map", episode.map_name, "--seed", str(episode.seed), "--look", str(spec.look(episode)), *folder]
    with ServerProcess(options) as address:
        write_episode(out, spec.split, episode, capture(connect(address), episode, weather_presets()))


def write_episode(out: Path, split: str, episode: CaptureSpec, shots: Iterable[Shot]) -> None:
    """Write the shots of one episode. The marker file is written last, so a broken episode is made again."""
    counts: Counter[str] = Counter()
    frames = 0
    for number, shot in enumerate(shots):
        counts.update(_write_shot(out, split, f"{_name(episode)}_{number:05d}", shot))
        frames += 1
    marker = _marker(out, split, episode)
    part = marker.with_suffix(".part")
    part.write_text(json.dumps({"frames": frames, **counts}) + "\n")
    os.replace(part, marker)


def _write_shot(out: Path, split: str, name: str, shot: Shot) -> Counter[str]:
    height, width = shot.bgr.shape[:2]
    cv2.imwrite(str(out / "images" / split / f"{name}.jpg"), shot.bgr, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    lines, objects = [], []
    counts: Counter[str] = Counter()
    for label in shot.labels:
        u0, v0, u1, v1 = label.box_px
        counts[f"{'kept' if label.counts else 'left out'}: {label.name}"] += 1
        objects.append(
            json.dumps(
                {
                    "class": label.name,
                    "box_px": label.box_px,
                    "visible": round(label.visible, 3),
                    "distance_m": round(label.distance_m, 2),
                    "counts": label.counts,
                    "weather": shot.weather,
                }
            )
        )
        if label.counts:
            middle = (0.5 * (u0 + u1) / width, 0.5 * (v0 + v1) / height)
            size = ((u1 - u0) / width, (v1 - v0) / height)
            lines.append(f"{CLASSES.index(label.name)} " + " ".join(f"{v:.6f}" for v in (*middle, *size)))
    (out / "labels" / split / f"{name}.txt").write_text("".join(line + "\n" for line in lines))
    (out / "objects" / split / f"{name}.jsonl").write_text("".join(line + "\n" for line in objects))
    return counts


def summarise(out: Path, specs: Sequence[DatasetSpec]) -> dict[str, object]:
    """The numbers of pictures and objects of a complete data set; also written to `summary.json`."""
    totals: Counter[str] = Counter()
    for spec in specs:
        for episode in spec.episodes():
            totals.update(json.loads(_marker(out, spec.split, episode).read_text()))
    kept = sum(n for name, n in totals.items() if name.startswith("kept"))
    left_out = sum(n for name, n in totals.items() if name.startswith("left out"))
    summary: dict[str, object] = {
        "frames": totals.pop("frames", 0),
        "objects": kept,
        "share_left_out": left_out / max(kept + left_out, 1),
        "by_class": dict(sorted(totals.items())),
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    return summary
