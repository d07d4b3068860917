"""Finds the OpenVINO network of a weights file: shipped beside it, in the cache, or exported now.

Networks are matched by a hash of the weights file's content, so other weights under the same name are exported again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from av_core.errors import ConfigError, install_hint
from perception.detection.offline import ultralytics

COMPACT = Path(__file__).parents[1] / "weights" / "detector_n.pt"
LARGE = COMPACT.with_name("detector_s.pt")
"""Shipped weights for a CPU and for a GPU, trained on the embedded server's pictures in many looks and on a few of
CARLA's renderer. docs/detector.md has figures."""

RESNET = COMPACT.with_name("resnet.pt")
"""Shipped weights of the ResNet detector; docs/networks/resnet-detector.md has figures."""

DETECTORS = {"n": COMPACT, "s": LARGE, "resnet": RESNET}
"""Shipped weights by the name that `--detector` takes."""

SHIPPED = {"cpu": COMPACT, "cuda": LARGE}
"""Shipped weights by the device that perception runs on."""

COMPACT_SIZE_PX = (640, 384)
"""The network's input size (width, height), px, for the compact rig's pictures of 640x360."""

STRIDE_PX = 32


@dataclass(frozen=True, slots=True)
class Exported:
    """A network in OpenVINO's format.

    `model` is the .xml with its .bin beside it, for pictures of `size_px` (width, height); `names` are the classes in
    the order of its outputs.
    """

    model: Path
    size_px: tuple[int, int]
    names: tuple[str, ...]


def network_size(width_px: int, height_px: int) -> tuple[int, int]:
    """The smallest network input size, a multiple of `STRIDE_PX`, that holds a picture of the given size."""
    return -(-width_px // STRIDE_PX) * STRIDE_PX, -(-height_px // STRIDE_PX) * STRIDE_PX


def exported(weights: Path, size_px: tuple[int, int], cache: Path | None = None) -> Exported:
    """The network of `weights` for pictures of `size_px`.

    Raises ConfigError if the weights do not exist, or if they must be exported and ultralytics is not installed.
    """
    if not weights.is_file():
        raise ConfigError(f"weights {weights}: no such file")
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    stem = f"{weights.stem}_{size_px[0]}x{size_px[1]}"
    cached = (cache or _cache()) / digest[:16]
    for folder in (weights.parent, cached):
        about = folder / f"{stem}.json"
        if about.is_file():
            told = json.loads(about.read_text())
            if told["weights_sha256"] == digest:
                return Exported(folder / f"{stem}.xml", size_px, tuple(told["names"]))
    return export(weights, size_px, cached)


def export(weights: Path, size_px: tuple[int, int], folder: Path) -> Exported:
    """Export the network of `weights` into `folder`, in fp16, with a JSON file of its hash and class names.

    The JSON file is written last, so that it marks a complete export. Raises ConfigError if ultralytics is not
    installed, and for weights that were trained in eight bits; `av-stack quantize` writes the network of such weights.
    """
    try:
        model = ultralytics().YOLO(str(weights.resolve()))
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"weights {weights} have to be exported for pictures of {size_px[0]}x{size_px[1]}, and {error.name} is not "
            f"installed; {install_hint('train')}"
        ) from None
    from perception.networks.fake_quantization import rounds  # imports torch, which a drive on a CPU does not need

    if rounds(model.model):
        raise ConfigError(f"weights {weights} were trained in eight bits; `av-stack quantize` writes their network")
    stem = f"{weights.stem}_{size_px[0]}x{size_px[1]}"
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as work:
        copy = Path(shutil.copy(weights, work))
        model = ultralytics().YOLO(str(copy))
        # nms=False keeps the one-to-one head, which needs no non-maximum suppression.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"torch\.jit|ultralytics")  # noise of ultralytics' tracing
            made = Path(
                model.export(format="openvino", imgsz=(size_px[1], size_px[0]), half=True, nms=False, verbose=False)
            )
        for suffix in (".bin", ".xml"):
            os.replace(next(made.glob(f"*{suffix}")), folder / f"{stem}{suffix}")
        names = [model.names[i] for i in range(len(model.names))]
        about = {"weights_sha256": hashlib.sha256(weights.read_bytes()).hexdigest(), "names": names}
        part = Path(work) / "about.json"
        part.write_text(json.dumps(about, indent=1) + "\n")
        os.replace(part, folder / f"{stem}.json")
    return Exported(folder / f"{stem}.xml", size_px, tuple(names))


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "av-stack" / "detector"
