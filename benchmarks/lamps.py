"""Fits and evaluates the classifier of traffic light states from lamps: `python -m benchmarks.lamps fit|measure`.

Signal heads come from CARLA's pictures, `$AV_STACK_DATA/carla_unreal` with the states of
`av_stack/evaluation/carla_unreal_lamps.json`, and from a data set of the embedded server (`av-stack dataset`). Town02
of both is held out: the fit never sees it. Each head is read from its labelled box with a random shift and scale, like
those of detected boxes. `fit` writes `perception/weights/lamp_states.json`, `measure` a confusion table.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from av_core.types import Image, LightState
from av_stack.evaluation.lights import LabelledHead, read_head, unreal_heads
from perception.detection.classes import LIGHT_STATES, light_state
from perception.lights.lamp_states import COEFFICIENTS, LampAppearance, features
from perception.lights.lamps import Box, Lamp, brightness
from perception.lights.reader import lamps_in_head

Float = NDArray[np.float64]

HELD_BACK = "Town02"
LAMP_PLACES = {LightState.RED: 0.22, LightState.YELLOW: 0.5, LightState.GREEN: 0.78}
PLACE_SLACK = 0.19
"""Largest distance of a spot from the labelled lamp's place, as a fraction of the head's height; others are no lamp."""

BOX_ERROR = 0.06
"""Standard deviation of a detected box's edges, as a fraction of its height."""

VARIANTS = 4
RIDGE = 1e-4
SIZES_PX = (9.0, 16.0, 32.0, 64.0, 1e9)


@dataclass(frozen=True, slots=True)
class Sample:
    features: Float
    state: LightState
    group: str


def own_heads(folder: Path) -> Iterator[LabelledHead]:
    """Signal heads of both splits of an `av-stack dataset`, if they count for the detector and are large enough."""
    for path in sorted(folder.glob("objects/*/*.jsonl")):
        picture = folder / "images" / path.parent.name / f"{path.stem}.jpg"
        for line in path.read_text().splitlines():
            row = json.loads(line)
            state = light_state(row["class"])
            if state is not None and row["counts"]:
                u0, v0, u1, v1 = row["box_px"]
                if v1 - v0 < SIZES_PX[0]:
                    continue
                yield LabelledHead(picture, (u0, v0, u1, v1), state, "own")


def shaken(box: Box, rng: np.random.Generator) -> Box:
    high = box[3] - box[1]
    u0, v0, u1, v1 = np.array(box) + rng.normal(0.0, BOX_ERROR, 4) * high * np.array([0.6, 1.0, 0.6, 1.0])
    return float(u0), float(v0), float(u1), float(v1)


def augmented(bgr: Image, rng: np.random.Generator) -> Iterator[Image]:
    """The picture, and variants of it with the image formation of other cameras (data augmentation)."""
    import torch

    from perception.detection.photometric_augmentation import augment_photometric

    yield bgr
    rgb = torch.from_numpy(np.ascontiguousarray(bgr[:, :, ::-1])).permute(2, 0, 1)
    with torch.inference_mode():
        changed = augment_photometric(rgb.expand(VARIANTS - 1, -1, -1, -1), rng, share=1.0).clamp(0.0, 255.0)
    for one in changed.to(torch.uint8).permute(0, 2, 3, 1).numpy():
        yield np.ascontiguousarray(one[:, :, ::-1])


def samples(heads: Sequence[LabelledHead], rng: np.random.Generator) -> tuple[list[Sample], list[Sample]]:
    """Training samples of the two models: (spots within heads, lit lamps without their head)."""
    in_head, over_post = [], []
    for head in heads:
        whole = _read(head.picture)
        (left, top), part = _around(whole, head.box_px)
        ratio = brightness(whole) / max(brightness(part), 1.0)
        for bgr in augmented(part, rng):
            u0, v0, u1, v1 = shaken(head.box_px, rng)
            for lamp in lamps_in_head(bgr, (u0 - left, v0 - top, u1 - left, v1 - top), ratio * brightness(bgr)):
                state = _spot_state(lamp, head.state)
                group = f"{_group(head)}, {state.value}"
                in_head.append(Sample(features(lamp.appearance), state, group))
                if state is not LightState.OFF:
                    over_post.append(Sample(features(replace(lamp.appearance, place=None)), state, group))
    return in_head, over_post


def _around(bgr: Image, box: Box) -> tuple[tuple[int, int], Image]:
    """First column and row, and the pixels, of the picture's part around a head; only it is augmented, to save time."""
    side = max(box[2] - box[0], box[3] - box[1])
    u0, v0 = max(int(box[0] - side) - 16, 0), max(int(box[1] - side) - 16, 0)
    return (u0, v0), bgr[v0 : int(box[3] + side) + 16, u0 : int(box[2] + side) + 16]


def _spot_state(lamp: Lamp, head: LightState) -> LightState:
    assert lamp.appearance.place is not None
    if head in LAMP_PLACES and abs(lamp.appearance.place - LAMP_PLACES[head]) < PLACE_SLACK:
        return head
    return LightState.OFF


def fit(rows: Sequence[Sample], states: Sequence[LightState], is_balanced: bool) -> Float:
    """Coefficients (4, features) of a softmax regression with ridge penalty.

    `is_balanced` gives all states equal prior probability.
    """
    x = np.stack([row.features for row in rows])
    y = np.array([states.index(row.state) for row in rows])
    count = Counter(row.group for row in rows)
    weight = np.array([count[row.group] ** -0.5 for row in rows])  # rare groups count more, but do not dominate
    if is_balanced:
        weight /= np.bincount(y, weights=weight, minlength=len(states))[y]
    weight /= weight.sum()
    truth = np.eye(len(states))[y]

    def loss(flat: Float) -> tuple[float, Float]:
        w = flat.reshape(len(states), -1)
        score = x @ w.T
        score -= score.max(axis=1, keepdims=True)
        share = np.exp(score)
        share /= share.sum(axis=1, keepdims=True)
        value = -float(weight @ np.log(share[np.arange(len(y)), y] + 1e-12)) + RIDGE * float((w[:, 1:] ** 2).sum())
        slope = (weight[:, None] * (share - truth)).T @ x
        slope[:, 1:] += 2.0 * RIDGE * w[:, 1:]
        return value, slope.ravel()

    best = minimize(loss, np.zeros(len(states) * x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return np.asarray(best.x.reshape(len(states), -1))


def _group(head: LabelledHead) -> str:
    """Name of a head's group: its source and height range."""
    high = head.box_px[3] - head.box_px[1]
    row = max(int(np.searchsorted(SIZES_PX, high, side="right")) - 1, 0)
    upper = f"{SIZES_PX[row + 1]:.0f}" if SIZES_PX[row + 1] < 1e9 else ""
    return f"{head.source}, {SIZES_PX[row]:.0f}-{upper} px"


def measure(heads: Sequence[LabelledHead], rng: np.random.Generator, shake: bool) -> dict[str, dict[str, int]]:
    """Confusion table: how often each state was read, by "source, height range, true state"."""
    table: dict[str, Counter[str]] = {}
    pictures: dict[Path, Image] = {}
    for head in heads:
        if head.picture not in pictures:
            pictures = {head.picture: _read(head.picture)}
        box = shaken(head.box_px, rng) if shake else head.box_px
        read = read_head(pictures[head.picture], box)
        name = f"{_group(head)}, {head.state.value}{' aside' if head.is_aside else ''}"
        table.setdefault(name, Counter())[read.value] += 1
    return {name: dict(sorted(table[name].items())) for name in sorted(table)}


def _blank() -> dict[str, list[list[float]]]:
    appearance = LampAppearance(np.zeros(3), np.zeros(3), 1.0, 1.0, 1.0, 1.0)
    sizes = {"post": len(features(appearance)), "head": len(features(replace(appearance, place=0.5)))}
    return {name: [[0.0] * size] * len(LIGHT_STATES) for name, size in sizes.items()}


def _read(path: Path) -> Image:
    bgr = cv2.imread(str(path))
    if bgr is None:
        raise OSError(f"{path} is no picture")
    return np.asarray(bgr, dtype=np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("fit", "measure"))
    parser.add_argument("--own", type=Path, help="data set of av-stack dataset")
    parser.add_argument("--unreal", type=Path, help="folder carla_unreal")
    parser.add_argument("--out", type=Path, help="file for measure's table")
    options = parser.parse_args()
    heads = list(own_heads(options.own)) if options.own else []
    heads += list(unreal_heads(options.unreal)) if options.unreal else []
    rng = np.random.default_rng(0)
    if options.what == "fit":
        known = [head for head in heads if HELD_BACK not in head.picture.name]
        COEFFICIENTS.write_text(json.dumps(_blank()))  # finding spots needs some coefficients, of any value
        in_head, over_post = samples(known, rng)
        table = {"states": [state.value for state in LIGHT_STATES], "heads": len(known)}
        for name, rows in (("head", in_head), ("post", over_post)):
            table[name] = np.round(fit(rows, LIGHT_STATES, is_balanced=name == "post"), 4).tolist()
            weights, x = np.array(table[name]), np.stack([row.features for row in rows])
            told = [
                LIGHT_STATES[i].value for i in (x @ weights.T + [[0, 0, 0, -1e9 * (name == "post")]]).argmax(axis=1)
            ]
            print(name, Counter(zip([row.state.value for row in rows], told, strict=True)))
        COEFFICIENTS.write_text(json.dumps(table, indent=1) + "\n")
        return
    held = [head for head in heads if HELD_BACK in head.picture.name]
    known = [head for head in heads if HELD_BACK not in head.picture.name]
    result = {name: measure(some, rng, shake=True) for name, some in (("fitted on", known), ("held back", held))}
    text = json.dumps(result, indent=1) + "\n"
    print(text)
    if options.out:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
