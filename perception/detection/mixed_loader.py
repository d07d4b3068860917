"""Loads batches that mix two data sets; the labels of the second may lack some classes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from perception.detection.classes import CLASSES
from perception.detection.resident import ResidentLoader

SECOND_SHARE = 0.125
"""Fraction of each batch that comes from the second data set."""

UNLABELLED_FILE = "unlabelled.json"
"""File in a data set's folder that lists the classes its labels lack; without the file, the labels have all classes."""


class MixedLoader:
    """Batches of `first` with pictures of `second` added at the end; an epoch has as many batches as one of `first`.

    "unlabelled" (N, 1, classes) in a batch marks the classes that the labels of each picture lack.
    """

    drop_last = True
    num_workers = 0

    def __init__(self, first: ResidentLoader, second: ResidentLoader, unlabelled: torch.Tensor) -> None:
        self._first, self._second, self._unlabelled = first, second, unlabelled
        self.batch_size = first.batch_size + second.batch_size
        self.dataset, self.sampler, self.labels = first.dataset, first.sampler, first.labels

    def __len__(self) -> int:
        return len(self._first)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._first:
            yield concatenated(batch, self._second.batch(), self._unlabelled)

    def reset(self) -> None:
        """Does nothing, like `ResidentLoader.reset`."""


def second_size(batch_size: int) -> int:
    """The number of pictures in a batch that come from the second data set."""
    return max(round(SECOND_SHARE * batch_size), 1)


def unlabelled_classes(root: Path) -> torch.Tensor:
    """Mask (classes,) bool of the classes that the labels of the data set in `root` lack.

    Raises ValueError if the file names a class that does not exist.
    """
    path = root / UNLABELLED_FILE
    names = json.loads(path.read_text()) if path.is_file() else []
    unknown = sorted(set(names) - set(CLASSES))
    if unknown:
        raise ValueError(f"{path} names unknown classes: {', '.join(unknown)}")
    return torch.tensor([name in names for name in CLASSES])


def concatenated(first: dict[str, Any], second: dict[str, Any], unlabelled: torch.Tensor) -> dict[str, Any]:
    """One batch with the pictures of both batches; the labels of `second` lack the classes `unlabelled`."""
    before, after = len(first["img"]), len(second["img"])
    moved = {**second, "batch_idx": second["batch_idx"] + before, "ignored": second["ignored"].clone()}
    moved["ignored"][:, 0] += before
    lacks = torch.zeros((before + after, 1, len(unlabelled)), dtype=torch.bool, device=first["img"].device)
    lacks[before:] = unlabelled.to(lacks.device)
    out: dict[str, Any] = {
        name: torch.cat([value, moved[name]]) for name, value in first.items() if isinstance(value, torch.Tensor)
    }
    return {**out, "im_file": first["im_file"] + second["im_file"], "unlabelled": lacks}
