"""The commands that analyse networks and make them smaller: receptive-field, quantize and prune."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from av_core.errors import ConfigError, install_hint
from av_stack.checks import check_known, check_out_folder, check_weights, parse_list
from av_stack.cli.output import console
from av_stack.interruption import importing

NOISE_PICTURES = 16
"""Number of pictures of noise that are used if no folder of pictures is given."""


METHODS = {"max": "max", "percentile": "percentile 99.99", "entropy": "entropy"}


def receptive_field_command(
    model: Annotated[str, typer.Argument(help="A weights file (.pt), or a network of torchvision such as resnet18.")],
    layers: Annotated[
        str, typer.Option(help="Modules, comma-separated. Default: all that change the theoretical field.")
    ] = "",
    effective: Annotated[
        str, typer.Option(help="Modules whose effective field is measured and drawn, comma-separated.")
    ] = "",
    pictures: Annotated[
        Path | None, typer.Option(help="Folder of pictures for the effective field; noise if unset.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Pictures to average over.")] = NOISE_PICTURES,
    height: Annotated[int, typer.Option(min=32, help="Rows of the input for the theoretical field.")] = 1536,
    size: Annotated[str, typer.Option(help="Width and height of the input for the effective field.")] = "640x384",
    out: Annotated[Path, typer.Option(help="Folder for receptive_field.json and the pictures.")] = Path(
        "out/receptive_field"
    ),
) -> None:
    """Measure the receptive fields of a network's layers: in theory, and by gradients."""
    check_out_folder(out)
    width_px, height_px = _size(size)
    if pictures is not None and not pictures.is_dir():
        raise ConfigError(f"--pictures {pictures}: no such folder")
    with importing():
        import cv2

        from perception.networks.field_picture import field_picture
        from perception.networks.receptive_field import effective_field, theoretical_fields

    network = _network(model)
    known = dict(network.named_modules())
    for name in (*parse_list(layers), *parse_list(effective)):
        if name not in known:
            raise ConfigError(f"{model} has no module {name}")
    fields = theoretical_fields(network, parse_list(layers) or None, (height, 64))
    if not fields:
        raise ConfigError(f"{model}: none of these modules returns a feature map")
    for field in fields:
        more = " or more" if field.reaches_border else ""
        _say(f"{field.name} ({field.kind}): {field.size_px} px{more}, stride {field.stride_px:g} px")
    out.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {"model": model, "theoretical": [asdict(field) for field in fields], "effective": []}
    for name in parse_list(effective):
        given = _inputs(pictures, count, width_px, height_px)
        measured = effective_field(network, name, given)
        figures = {"sigma_px": measured.sigma_px, "size_px": measured.size_px, "gaussian_fit": measured.gaussian_fit}
        record["effective"].append({"name": name, **figures})
        cv2.imwrite(str(out / f"{name}.png"), field_picture(measured.map))
        _say(
            f"{name}: effective field {measured.size_px} px (90 % of the gradient), standard deviation "
            f"{measured.sigma_px:.1f} px, Gaussian to {measured.gaussian_fit:.3f}"
        )
    (out / "receptive_field.json").write_text(json.dumps(record, indent=1) + "\n")
    _say(f"wrote {out}/")


def quantize_command(
    weights: Annotated[Path, typer.Argument(help="Weights (.pt) of a detector.")],
    data: Annotated[
        Path, typer.Argument(help="Folder of `av-stack dataset`; the ranges are measured on its pictures.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the network, the weights and quantization.json.")] = Path(
        "out/quantized"
    ),
    method: Annotated[str, typer.Option(help="How ranges are chosen: max, percentile or entropy.")] = "max",
    per: Annotated[
        str, typer.Option(help="Scales of the weights: one for each channel, or one for each tensor.")
    ] = "channel",
    keep: Annotated[int, typer.Option(min=0, help="Number of the most sensitive layers kept in float.")] = 0,
    pictures: Annotated[int, typer.Option(min=1, help="Pictures to measure ranges on.")] = 300,
    onnx: Annotated[bool, typer.Option("--onnx", help="Also write ONNX with QDQ nodes (extra onnx).")] = False,
) -> None:
    """Quantize a detector to eight bits for the CPU, with our own calibration; reports each layer's sensitivity."""
    check_known("--method", [method], METHODS)
    check_known("--per", [per], ("channel", "tensor"))
    check_weights(weights, "WEIGHTS")
    check_out_folder(out)
    paths = sorted((data / "images" / "train").glob("*.jpg"))
    if len(paths) < pictures:
        raise ConfigError(f"{data}: {len(paths)} pictures in images/train; expected {pictures}, or fewer --pictures")
    with importing():
        from perception.networks.detector_quantization import QuantizationSpec, quantize_detector

    spec = QuantizationSpec(METHODS[method], per == "channel", keep, pictures, onnx)
    if onnx and find_spec("onnx") is None:
        raise ConfigError("--onnx: onnx is not installed; " + install_hint("onnx"))
    record = quantize_detector(weights, paths, spec, out)
    if record["trained"]:
        _say("trained in eight bits: it keeps the ranges of its training; --method, --per and --keep change nothing")
    for name, error in list(record["sensitivity"].items())[:10]:
        kept = ", kept in float" if name in record["kept"] else ""
        _say(f"{name}: alone in eight bits it moves the scores by {error:.2%}{kept}")
    _say(f"wrote {out}/: drive with it by --weights {out / weights.name} --device cpu")


def prune_command(
    what: Annotated[str, typer.Argument(help="What to prune: detector.")],
    weights: Annotated[Path, typer.Argument(help="Weights (.pt) of a YOLO detector.")],
    data: Annotated[Path, typer.Argument(help="Folder of `av-stack dataset`; importance is measured on its pictures.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights, under their name, and pruning.json.")] = Path(
        "out/pruned"
    ),
    pattern: Annotated[
        str,
        typer.Option(
            help="channels: a smaller dense network; 2:4: two of every four weights are zero; single: any weights."
        ),
    ] = "channels",
    share: Annotated[
        float,
        typer.Option(min=0.01, max=0.99, help="Fraction to keep: of the cost for channels, of the weights for single."),
    ] = 0.5,
    criterion: Annotated[
        str | None,
        typer.Option(
            help="channels: taylor (change of the loss), scale (of batch norm) or filters (their sums); else: "
            "magnitude, or inputs (magnitude times that of the input)."
        ),
    ] = None,
    pictures: Annotated[int, typer.Option(min=1, help="Pictures to measure on, at most.")] = 256,
) -> None:
    """Prune a detector: fewer channels, or zeros in a pattern. Train it further with `av-stack train --start`."""
    check_known("WHAT", [what], ("detector",))
    check_weights(weights, "WEIGHTS")
    check_out_folder(out)
    if (out / weights.name).exists() and (out / weights.name).samefile(weights):
        raise ConfigError(f"--out {out} is the folder of WEIGHTS: the pruned weights would replace them")
    paths = sorted((data / "images" / "train").glob("*.jpg"))
    if not paths:
        raise ConfigError(f"{data}: no picture in images/train; `av-stack dataset {data}` makes some")
    with importing():
        from perception.networks.detector_pruning import CRITERIA, PruningSpec, prune_detector

    check_known("--pattern", [pattern], CRITERIA)
    chosen = criterion or CRITERIA[pattern][0]
    check_known("--criterion", [chosen], CRITERIA[pattern])
    try:
        record = prune_detector(weights, paths, PruningSpec(pattern, share, chosen, pictures), out)
    except ValueError as error:
        raise ConfigError(f"--share: {error}") from None
    left = {name: after / record["before"][name] for name, after in record["after"].items()}
    _say(
        f"{left['weights']:.1%} of the weights and {left['cost']:.1%} of the cost are left; "
        f"{left['not_zero']:.1%} of the weights are not zero"
    )
    zeros = " --hold-zeros" if pattern != "channels" else ""
    _say(f"wrote {out}/; go on: av-stack train detector {data} --start {out / weights.name} --teacher {weights}{zeros}")


def _size(text: str) -> tuple[int, int]:
    parts = text.split("x")
    if len(parts) != 2 or not all(part.isdecimal() and 32 <= int(part) <= 4096 for part in parts):
        raise ConfigError(f"--size {text}: expected width and height of 32 to 4096 px, such as 640x384")
    return int(parts[0]), int(parts[1])


def _network(model: str) -> Any:
    """The network in a weights file, or torchvision's network of this name, untrained; in evaluation mode."""
    with importing():
        import torch
        import torchvision

        from perception.detection.offline import ultralytics

    torch.manual_seed(0)
    if model.endswith(".pt"):
        check_weights(Path(model), "MODEL")
        return ultralytics().YOLO(model).model.float().eval()
    if model not in torchvision.models.list_models():
        raise ConfigError(f"{model}: neither a weights file (.pt) nor a network of torchvision")
    return torchvision.models.get_model(model, weights=None).eval()


def _inputs(folder: Path | None, count: int, width_px: int, height_px: int) -> Iterator[Any]:
    """Pictures (1, 3, height, width) in 0..1, RGB: `count` of the folder's, or noise."""
    import cv2
    import numpy as np
    import torch

    if folder is None:
        generator = torch.Generator().manual_seed(0)
        for _ in range(count):
            yield torch.rand((1, 3, height_px, width_px), generator=generator)
        return
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    if not paths:
        raise ConfigError(f"--pictures {folder}: it holds no .jpg or .png")
    for path in paths[:: max(len(paths) // count, 1)][:count]:
        bgr = cv2.imread(str(path))
        if bgr is None:
            raise ConfigError(f"{path} is not a picture")
        rgb = np.ascontiguousarray(cv2.resize(bgr, (width_px, height_px), interpolation=cv2.INTER_AREA)[:, :, ::-1])
        yield torch.from_numpy(rgb).permute(2, 0, 1)[None].float() / 255.0


def _say(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
