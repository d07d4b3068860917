"""Prunes a detector (channels, the 2:4 pattern, or single weights) and writes an ordinary weights file."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import pad

from perception.detection.finetune import load_weights
from perception.detection.offline import ultralytics
from perception.detection.resident import GREY, STRIDE_PX, augment, read_labelled
from perception.networks import pruning, sparsity

CRITERIA = {
    "channels": ("taylor", "scale", "filters"),
    "2:4": ("magnitude", "inputs"),
    "single": ("magnitude", "inputs"),
}
"""Criteria by which channels or weights are chosen, for each pattern; the first one is the default.

`inputs` is a weight's magnitude times that of its input."""

BATCH = 4
"""Pictures of one gradient: in larger batches the effects of a channel on single pictures cancel."""


@dataclass(frozen=True, slots=True)
class PruningSpec:
    """Options of a pruning.

    * `pattern`: a key of `CRITERIA`; `criterion`: one of its criteria.
    * `share`: fraction that is kept: of the cost for `channels`, of the weights for `single`; 2:4 always keeps half.
    * `pictures`: maximum number of pictures to measure on.
    """

    pattern: str
    share: float = 0.5
    criterion: str = "taylor"
    pictures: int = 256


def prune_detector(weights: Path, paths: Sequence[Path], spec: PruningSpec, out: Path) -> dict[str, Any]:
    """Write the pruned network of `weights`, under the same name, and `pruning.json` to `out`.

    `paths` are labelled pictures of a data set. Returns the content of `pruning.json`. Raises ValueError if `share`
    cannot be reached.
    """
    package = ultralytics()
    checkpoint = torch.load(weights, map_location="cpu", weights_only=False)
    model = checkpoint["model"].float()
    chosen = np.random.default_rng(0).choice(len(paths), min(spec.pictures, len(paths)), replace=False)
    taken = [paths[number] for number in sorted(chosen)]
    size = _size(model)
    before = copy.deepcopy(model)
    pruning.recalibrate(before, _pictures(taken))
    if spec.pattern == "channels":
        about = _prune_channels(model, before, weights, taken, spec)
    else:
        about = _make_sparse(model, taken, spec)
    after = copy.deepcopy(model)
    pruning.recalibrate(after, _pictures(taken))
    pruning.shift_statistics(model, before, after)
    record = {
        **asdict(spec), "weights": weights.name, "ultralytics": package.__version__, "before": size,
        "after": _size(model), **about,
    }  # fmt: skip
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    checkpoint["model"] = model.half()
    out.mkdir(parents=True, exist_ok=True)
    part = out / f"{weights.name}.part"
    torch.save(checkpoint, part)
    part.replace(out / weights.name)
    (out / "pruning.json").write_text(json.dumps(record, indent=1) + "\n")
    return record


def _prune_channels(model: Any, before: Any, weights: Path, paths: Sequence[Path], spec: PruningSpec) -> dict[str, Any]:
    """Remove channels from `model`, and the same channels from `before`."""
    from perception.networks.channels import channels_of  # imports ultralytics

    channels = channels_of(model)
    if spec.criterion == "taylor":
        scored = load_weights(weights, "cpu")
        scores = pruning.taylor_scores(channels_of(scored), _losses(scored, paths))
    else:
        scores = {"scale": pruning.scale_scores, "filters": pruning.filter_scores}[spec.criterion](channels)
    kept = pruning.choose(channels, scores, spec.share)
    widths = {layer.name: layer.conv.out_channels for layer in channels.layers}
    pruning.prune(channels, kept)
    pruning.prune(channels_of(before), kept)
    return {"widths": {layer.name: [widths[layer.name], layer.conv.out_channels] for layer in channels.layers}}


def _make_sparse(model: Any, paths: Sequence[Path], spec: PruningSpec) -> dict[str, Any]:
    layers = sparsity.sparse_layers(model)
    inputs = None
    if spec.criterion == "inputs":
        model.eval()
        inputs = sparsity.input_scales(model, layers, lambda: [model(batch) for batch in _pictures(paths)])
    scores = sparsity.weight_scores(model, layers, inputs)
    if spec.pattern == "2:4":
        masks = {name: sparsity.two_of_four(score) for name, score in scores.items()}
    else:
        masks = sparsity.largest(scores, spec.share)
    sparsity.apply(model, masks)
    return {"zeros": {name: round(1.0 - float(mask.float().mean()), 4) for name, mask in masks.items()}}


def _size(model: Any) -> dict[str, Any]:
    """Numbers of all and of nonzero weights of the deployed network, and its cost (`pruning.cost`)."""
    from perception.networks.channels import channels_of

    channels = channels_of(model)
    counts = {channels.root(segment): width for segment, width in enumerate(channels.widths)}
    deployed = [layer.conv.weight for layer in channels.layers if layer.is_deployed]
    return {
        "weights": sum(weight.numel() for weight in deployed),
        "not_zero": sum(int((weight != 0).sum()) for weight in deployed),
        "cost": pruning.cost(channels, channels.layers, counts),
    }


def _losses(model: Any, paths: Sequence[Path]) -> Iterator[torch.Tensor]:
    """The training loss of each batch of the pictures; the statistics of batch norm are fixed."""
    from perception.detection.ignoring_loss import ignoring_loss

    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()
    loss = ignoring_loss(model)
    loss.o2m = loss.o2o = 0.5  # equal weights of both heads, as in the middle of a training
    rng = np.random.default_rng(0)
    for start in range(0, len(paths), BATCH):
        pictures, boxes = zip(*(read_labelled(path) for path in paths[start : start + BATCH]), strict=True)
        batch = augment(_stack(pictures), list(boxes), rng)
        batch["img"] = batch["img"].float() / 255.0
        yield loss(model(batch["img"]), batch)[0].sum() / len(boxes)


def _pictures(paths: Sequence[Path]) -> Iterator[torch.Tensor]:
    """Batches (N, 3, H, W) in 0..1, padded with grey below to a height that the stride divides."""
    for start in range(0, len(paths), 2 * BATCH):
        batch = _stack([read_labelled(path)[0] for path in paths[start : start + 2 * BATCH]]).float()
        yield pad(batch, (0, -batch.shape[3] % STRIDE_PX, 0, -batch.shape[2] % STRIDE_PX), value=GREY) / 255.0


def _stack(pictures: Sequence[NDArray[np.uint8]]) -> torch.Tensor:
    return torch.stack([torch.from_numpy(one) for one in pictures]).permute(0, 3, 1, 2)
