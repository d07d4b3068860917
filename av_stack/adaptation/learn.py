"""Fine-tunes the shipped detector on collected pictures."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from av_core.errors import WorldError
from perception.detection.finetune import FinetuneSpec, Step, finetune, load_weights, write_averaged
from perception.detection.foreign_batches import SIGNS, ForeignBatches, Pictures
from perception.detection.offline import ultralytics
from perception.detection.resident import UNLEARNT, read_labelled

SHARE = 0.6
"""Fraction of the weight change that is added to the shipped weights: 0 keeps them, 1 takes the fine-tuned weights.

Weights in between detect well in the old pictures and in the new ones (WiSE-FT: Wortsman et al., CVPR 2022)."""

EPOCHS = 30
"""Passes over the server's pictures, unless the time limit ends the training earlier."""

BATCHES = {"cpu": (4, 4, 2e-4), "cuda": (32, 64, 5e-4)}
"""For each device: the server's pictures and our own pictures in one step, and the learning rate."""

DECODERS = 2
"""Threads that decode the pictures."""


def tune(
    weights: Path, server: Path, own: Path, out: Path, spec: FinetuneSpec, device: str, tell: Callable[[Step], None]
) -> None:
    """Write `weights`, fine-tuned on the training pictures of the data set `server`, to the file `out`.

    The pictures of the data set `own` preserve the detector's present knowledge. A checkpoint is kept beside `out`; a
    stopped training resumes from it. Raises WorldError if the server's pictures show no object to learn.
    """
    ultralytics()
    foreign = labelled_pictures(server, device)
    if not any((boxes[:, 0] != UNLEARNT).any() for boxes in foreign.boxes):
        raise WorldError(f"the pictures in {server} show no road user and no traffic light: nothing to learn from")
    kept = Pictures(labelled_pictures(own, device).rgb, [np.zeros((0, 5))] * len(_paths(own)))
    tuned = finetune(
        load_weights(weights, device), ForeignBatches(foreign), kept, spec, tell, out.with_name("checkpoint.pt")
    )
    write_averaged(weights, tuned, SHARE, out)


def finetune_spec(pictures: int, hours: float, device: str) -> FinetuneSpec:
    """The training options for a number of `pictures` of a server: `EPOCHS` passes, or `hours` at most."""
    foreign, own, rate = BATCHES[device]
    steps = max(EPOCHS * pictures // foreign, 1)
    return FinetuneSpec(steps, rate, foreign_batch=foreign, own_batch=own, seconds=3600.0 * hours)


def labelled_pictures(folder: Path, device: str) -> Pictures:
    """The training pictures of a data set, on `device`.

    Signs count as unlabelled: not every sign actor of CARLA has a visible sign.
    """
    with ThreadPoolExecutor(DECODERS) as pool:
        read = list(pool.map(read_labelled, _paths(folder)))
    is_sign = SIGNS.numpy()
    for _, boxes in read:
        known = boxes[:, 0] != UNLEARNT
        boxes[known & is_sign[boxes[:, 0].astype(int)], 0] = UNLEARNT
    rgb = torch.from_numpy(np.stack([picture for picture, _ in read])).to(device)
    return Pictures(rgb, [boxes for _, boxes in read])


def _paths(folder: Path) -> list[Path]:
    return sorted((folder / "images" / "train").glob("*.jpg"))
