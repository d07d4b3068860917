"""Fine-tunes the detector on pictures of CARLA's own renderer, with Town02 held back.

    python -m benchmarks.unreal.finetune DATA/carla_unreal OWN out/nA.pt --size n --rate 5e-4 --keep 1 --seconds 75
    python -m benchmarks.unreal.finetune DATA/carla_unreal OWN LOOKS out/nB.pt --size n --paste --seconds 300
    python -m benchmarks.unreal.finetune --mix out/n.pt --size n out/nA.pt=0.2 out/nC.pt=0.4
    python -m benchmarks.unreal.finetune --mix out/n.pt --start old.pt out/nA.pt=0.4 old.pt,trained.pt=0.3

OWN and LOOKS are data sets of `av-stack dataset`. With `--paste`, signal heads cut from CARLA's pictures are pasted
into them and into own pictures, which then are a quarter of the labelled batch. `--hold` keeps the outputs of all
classes but lights on labelled pictures too; `--lights-only` learns nothing but lights from CARLA's pictures;
`--without TOWN` leaves out the pictures of one town. `boxes.json` holds the
training labels of the pictures of the other towns: the data set's boxes, where a vehicle has the shipped detector's
class, a signal head its state as marked by hand, and what cannot be told (backs of heads, riders without a box) has
none and does not count in the loss. The result is a state dict, beside which OUT's `.checkpoint` lets a stopped run go
on; `--mix` adds shares of such results to the shipped weights, or to `--start`, and writes a weights file. A result may
also be a weights file, and FROM,TO=SHARE adds a share of the change between two results.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch

from perception.detection.classes import CLASSES
from perception.detection.finetune import FinetuneSpec, Step, averaged, finetune, load_weights
from perception.detection.foreign_batches import ForeignBatches, Pictures
from perception.detection.offline import ultralytics
from perception.detection.pasted_heads import HeadPaster
from perception.detection.resident import UNLEARNT, read_labelled

BOXES = Path(__file__).with_name("boxes.json")
DECODERS = 8
"""Threads that decode pictures."""

SHIPPED = Path(__file__).parents[2] / "perception" / "weights"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("inputs", nargs="+", help="carla_unreal OWN ... OUT, or STATE=SHARE ... with --mix")
    parser.add_argument("--mix", type=Path, help="weights file to write from averaged results")
    parser.add_argument("--start", type=Path, help="weights file to start from; None means the shipped one")
    parser.add_argument("--size", default="n", choices=("n", "s"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--paste", action="store_true", help="paste signal heads in other sizes and places")
    parser.add_argument("--lights-only", action="store_true", help="learn only lights from CARLA's pictures")
    parser.add_argument("--hold", type=float, default=0.0, help="weight of other classes' change on labelled pictures")
    parser.add_argument("--without", help="town whose pictures are left out")
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--keep", type=float, default=1.0)
    parser.add_argument("--foreign-batch", type=int, default=32)
    parser.add_argument("--own-batch", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=75.0)
    told = parser.parse_args()
    ultralytics()
    weights = told.start or SHIPPED / f"detector_{told.size}.pt"
    if told.mix:
        return mix(weights, told.inputs, told.mix)
    unreal, *own, out = (Path(text) for text in told.inputs)
    spec = FinetuneSpec(10**6, told.rate, told.keep, told.foreign_batch, told.own_batch, told.seconds)
    spec = replace(spec, hold=told.hold)
    foreign, kept = unreal_pictures(unreal, told.device, told.without), own_pictures(own, told.device)
    draw = ForeignBatches(foreign, lights_only=told.lights_only)
    if told.paste:
        draw = ForeignBatches(foreign, HeadPaster(foreign.rgb, foreign.boxes), kept, told.lights_only)
    out.parent.mkdir(parents=True, exist_ok=True)
    start = load_weights(weights, told.device)
    tuned = finetune(start, draw, kept, spec, tell, out.with_suffix(".checkpoint"))
    torch.save({name: value.half().cpu() if value.is_floating_point() else value for name, value in tuned.items()}, out)
    return None


def tell(step: Step) -> None:
    if step.number % 100 == 0:
        print(step, flush=True)


def mix(weights: Path, parts: list[str], out: Path) -> None:
    """Write `weights` plus shares of changes; each part is TO=SHARE, the change since `weights`, or FROM,TO=SHARE."""
    kept = torch.load(weights, map_location="cpu", weights_only=False)
    start = kept["model"].float().state_dict()
    mixed = {name: value.clone() for name, value in start.items()}
    for part in parts:
        paths, share = part.rsplit("=", 1)
        *before, after = [_state(Path(path)) for path in paths.split(",")]
        before_it = before[0] if before else start
        moved = averaged(before_it, after, float(share))
        for name, value in mixed.items():
            if value.is_floating_point():
                value += moved[name] - before_it[name]
    kept["model"].load_state_dict(mixed)
    kept["model"].half()
    torch.save(kept, out)


def _state(path: Path) -> dict[str, torch.Tensor]:
    """The weights in a file, which is a weights file or a state dict, in float32."""
    kept = torch.load(path, map_location="cpu", weights_only=False)
    state = kept["model"].state_dict() if "model" in kept else kept
    return {name: value.float() if value.is_floating_point() else value for name, value in state.items()}


def unreal_pictures(folder: Path, device: str, without: str | None = None) -> Pictures:
    """The pictures that `BOXES` lists, except those of the town `without`."""
    every = json.loads(BOXES.read_text())
    labels = {name: rows for name, rows in every.items() if without is None or not name.startswith(without)}
    boxes = [
        np.array([[UNLEARNT if name is None else CLASSES.index(name), *box] for name, *box in rows], dtype=np.float64)
        for rows in labels.values()
    ]
    return Pictures(
        _stack([folder / "images" / f"{name}.jpg" for name in labels], device), [b.reshape(-1, 5) for b in boxes]
    )


def own_pictures(folders: list[Path], device: str) -> Pictures:
    """The labelled training pictures of data sets."""
    paths = [path for folder in folders for path in sorted((folder / "images" / "train").glob("*.jpg"))]
    with ThreadPoolExecutor(DECODERS) as pool:
        read = list(pool.map(read_labelled, paths))
    return Pictures(torch.from_numpy(np.stack([rgb for rgb, _ in read])).to(device), [boxes for _, boxes in read])


def _stack(paths: list[Path], device: str) -> torch.Tensor:
    return torch.from_numpy(np.stack([_read_rgb(path) for path in paths])).to(device)


def _read_rgb(path: Path) -> np.ndarray[Any, Any]:
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise OSError(f"{path} is not a picture")
    return bgr[:, :, ::-1]


if __name__ == "__main__":
    main()
