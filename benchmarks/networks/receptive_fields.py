"""Receptive fields of ResNet, VGG, YOLO and a vision transformer: in theory, before, during and after training.

    python -m benchmarks.networks.receptive_fields classifiers DATA RECORD.json FIGURE.png --device cuda:0
    python -m benchmarks.networks.receptive_fields detectors DATA RECORD.json FIGURE.png

`classifiers` trains three small networks from scratch to tell which classes a crop of a picture shows, and measures the
effective field of their last features as training goes on. `detectors` measures the layers that the heads of our
detectors read, with their trained and with untrained weights, and the theoretical fields of known networks. DATA is a
folder of `av-stack dataset`. The results are added to RECORD, and FIGURE shows the effective fields.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
import torchvision
from numpy.typing import NDArray
from torch import nn

from perception.detection.classes import CLASSES
from perception.detection.offline import ultralytics
from perception.detection.resident import UNLEARNT, read_labelled
from perception.detection.resnet.network import CONFIGURATION, narrow_resnet18
from perception.networks.field_picture import field_picture
from perception.networks.receptive_field import EffectiveField, effective_field, theoretical_fields

Image = NDArray[np.uint8]

CROP_PX = 224
BATCH = 64
RATE = 1e-3
STEPS = (0, 30, 100, 300, 1000)
"""Steps of training after which the effective field is measured."""

MEASURED = 64
"""Pictures over which a classifier's field is averaged."""

DETECTOR_PICTURES = 16
WEIGHTS = Path(__file__).parents[2] / "perception" / "weights"
TILE_PX = (160, 96)
"""Width and height of one field in a figure of the detectors."""


def vgg() -> nn.Sequential:
    """VGG-16's convolutions with a quarter of its channels, up to the last one before its last pooling."""
    widths = (16, 16, 0, 32, 32, 0, 64, 64, 64, 0, 128, 128, 128, 0, 128, 128, 128)
    layers: list[nn.Module] = []
    before = 3
    for width in widths:
        if width == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(before, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        before = width
    return nn.Sequential(*layers)


class Tokens(nn.Module):
    """A vision transformer (Dosovitskiy et al., 2021) without its classifier: patches of 16 px, 6 layers of width 192.

    Gives a map (N, 192, H / 16, W / 16).
    """

    def __init__(self) -> None:
        super().__init__()
        self.body = torchvision.models.VisionTransformer(CROP_PX, 16, 6, 3, 192, 768)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        tokens = self.body._process_input(pictures)
        first = self.body.class_token.expand(len(tokens), -1, -1)
        encoded = self.body.encoder(torch.cat([first, tokens], dim=1))[:, 1:]
        side = CROP_PX // 16
        found: torch.Tensor = encoded.transpose(1, 2).reshape(len(tokens), -1, side, side)
        return found


FEATURES: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "ResNet-18 (narrow)": (narrow_resnet18, 320),
    "VGG-16 (narrow)": (vgg, 128),
    "vision transformer": (Tokens, 192),
}
"""By name: the network and its number of output channels."""


class Classifier(nn.Module):
    """Tells which classes a crop shows: the features' mean, and one linear layer."""

    def __init__(self, features: nn.Module, channels: int) -> None:
        super().__init__()
        self.features, self.last = features, nn.Linear(channels, len(CLASSES))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.last(self.features(pictures).mean(dim=(2, 3)))
        return found


class Crops:
    """Random crops of labelled pictures on `device`, and which classes have the middle of a box in them."""

    def __init__(self, root: Path, device: str, limit: int) -> None:
        read = [read_labelled(path) for path in sorted((root / "images" / "train").glob("*.jpg"))[:limit]]
        self._pictures = torch.stack([torch.from_numpy(picture) for picture, _ in read]).to(device)
        self._boxes = [boxes[boxes[:, 0] != UNLEARNT] for _, boxes in read]
        self._rng = np.random.default_rng(0)

    def draw(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Crops (count, 3, CROP_PX, CROP_PX) around 0, and targets (count, classes)."""
        height, width = self._pictures.shape[1:3]
        chosen = self._rng.integers(len(self._pictures), size=count)
        left, top = self._rng.integers(width - CROP_PX, size=count), self._rng.integers(height - CROP_PX, size=count)
        target = np.zeros((count, len(CLASSES)), np.float32)
        crops = []
        for k, (i, u, v) in enumerate(zip(chosen, left, top, strict=True)):
            crops.append(self._pictures[i, v : v + CROP_PX, u : u + CROP_PX])
            boxes = self._boxes[i]
            middle_u, middle_v = 0.5 * (boxes[:, 1] + boxes[:, 3]) - u, 0.5 * (boxes[:, 2] + boxes[:, 4]) - v
            inside = (middle_u >= 0) & (middle_u < CROP_PX) & (middle_v >= 0) & (middle_v < CROP_PX)
            target[k, boxes[inside, 0].astype(int)] = 1.0
        pictures = torch.stack(crops).permute(0, 3, 1, 2).float() / 127.5 - 1.0
        return pictures, torch.from_numpy(target).to(pictures.device)


def classifiers(
    data: Path, device: str, steps: Sequence[int] = STEPS, limit: int = 3000, batch: int = BATCH
) -> tuple[dict[str, Any], list[list[Image]]]:
    """Train each of `FEATURES` and measure its field after each of `steps`; the figures, and a row of tiles of each."""
    out: dict[str, Any] = {}
    tiles: list[list[Image]] = []
    crops = Crops(data, device, limit)
    held = [crops.draw(16)[0] for _ in range(MEASURED // 16)]
    for name, (make, channels) in FEATURES.items():
        torch.manual_seed(0)
        model = Classifier(make(), channels).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.05)
        out[name] = {"batch": batch, "parameters": sum(p.numel() for p in model.parameters()), "training": []}
        losses: list[float] = []
        tiles.append([])
        for step in range(steps[-1] + 1):
            if step in steps:
                field = effective_field(model.eval(), "features", held)
                loss = float(np.mean(losses[-50:])) if losses else None
                out[name]["training"].append({"step": step, "loss": loss, **told(field)})
                tiles[-1].append(_tile(field, (CROP_PX // 2, CROP_PX // 2)))
                print(name, step, loss, field.sigma_px, field.size_px, field.gaussian_fit, flush=True)
                model.train()
            for group in optimizer.param_groups:
                group["lr"] = RATE * min((step + 1) / 100, 1.0, (steps[-1] - step + 1) / (0.5 * steps[-1]))
            pictures, target = crops.draw(batch)
            with torch.autocast(device.partition(":")[0], torch.bfloat16, enabled=device != "cpu"):
                found = model(pictures)
            loss_now = nn.functional.binary_cross_entropy_with_logits(found.float(), target)
            optimizer.zero_grad(set_to_none=True)
            loss_now.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(float(loss_now.detach()))
    return out, tiles


def told(field: EffectiveField) -> dict[str, Any]:
    """A field's figures."""
    return {
        "sigma_px": round(field.sigma_px, 2),
        "size_px": field.size_px,
        "gaussian_fit": round(field.gaussian_fit, 4),
    }


def _tile(field: EffectiveField, size_px: tuple[int, int]) -> Image:
    """A small heat map of the field."""
    return np.asarray(cv2.resize(field_picture(field.map), size_px, interpolation=cv2.INTER_AREA), np.uint8)


def sheet(tiles: Sequence[Sequence[Image]]) -> Image:
    """One picture of rows of tiles of equal size, with a dark line between them."""
    framed = [[np.pad(tile, ((0, 4), (0, 4), (0, 0)), constant_values=64) for tile in row] for row in tiles]
    return np.concatenate([np.concatenate(row, axis=1) for row in framed])


def detectors(data: Path) -> tuple[dict[str, Any], list[list[Image]]]:
    """Fields of the layers that the heads of our detectors read, and a row of tiles of each detector.

    For each layer the untrained network comes first.
    """
    paths = sorted((data / "images" / "train").glob("*.jpg"))
    chosen = paths[:: max(len(paths) // DETECTOR_PICTURES, 1)][:DETECTOR_PICTURES]
    pictures = [_padded(read_labelled(path)[0]) for path in chosen]
    out: dict[str, Any] = {}
    tiles: list[list[Image]] = []
    package = ultralytics()
    for name, blank in (("n", "yolo26n.yaml"), ("s", "yolo26s.yaml"), ("resnet", str(CONFIGURATION))):
        if not (WEIGHTS / f"detector_{name}.pt").is_file():
            continue
        trained = package.YOLO(str(WEIGHTS / f"detector_{name}.pt")).model.float().eval()
        torch.manual_seed(0)
        untrained = package.YOLO(blank).model.float().eval()
        layers = [f"model.{number}" for number in trained.model[-1].f]
        theory = {field.name: field for field in theoretical_fields(trained, layers, (2048, 64))}
        out[name] = {}
        tiles.append([])
        for layer in layers:
            networks = {"untrained": untrained, "trained": trained}
            fields = {kind: effective_field(network, layer, pictures) for kind, network in networks.items()}
            tiles[-1] += [_tile(field, TILE_PX) for field in fields.values()]
            out[name][layer] = {
                "stride_px": theory[layer].stride_px,
                "theoretical_px": theory[layer].size_px,
                "is_at_least": theory[layer].reaches_border,
                **{kind: told(field) for kind, field in fields.items()},
            }
            print(name, layer, out[name][layer], flush=True)
    return out, tiles


def theory() -> dict[str, Any]:
    """Theoretical fields of the known networks by stage."""
    resnet, big = torchvision.models.resnet18(weights=None), torchvision.models.vgg16(weights=None).features
    stages = ["conv1", "maxpool", "layer1", "layer2", "layer3", "layer4"]
    pools = ["4", "9", "16", "23", "30"]
    return {
        "ResNet-18": {field.name: field.size_px for field in theoretical_fields(resnet, stages)},
        "VGG-16": {f"pool{k + 1}": f.size_px for k, f in enumerate(theoretical_fields(big, pools, (512, 64)))},
    }


def _padded(picture: np.ndarray) -> torch.Tensor:
    rgb = torch.from_numpy(picture).permute(2, 0, 1)[None].float() / 255.0
    return nn.functional.pad(rgb, (0, 0, 0, -rgb.shape[2] % 32), value=114 / 255)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("part", choices=("classifiers", "detectors"))
    parser.add_argument("data", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("figure", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=BATCH, help="Crops of a step of the classifiers.")
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS)
    given = parser.parse_args()
    record = json.loads(given.record.read_text()) if given.record.exists() else {}
    if given.part == "classifiers":
        record["classifiers"], tiles = classifiers(given.data, given.device, given.steps, batch=given.batch)
    else:
        record["theory"] = theory()
        record["detectors"], tiles = detectors(given.data)
    given.record.write_text(json.dumps(record, indent=1) + "\n")
    cv2.imwrite(str(given.figure), sheet(tiles))


if __name__ == "__main__":
    main()
