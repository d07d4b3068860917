"""Writes the tables of docs/networks/ from the files that the measurements wrote.

python -m benchmarks.networks.tables
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import markdown_tables
from benchmarks.imitation import curves
from benchmarks.imitation import tables as imitation

DOCS = Path(__file__).parents[2] / "docs" / "networks"
DETECTORS = {"n": "YOLO26n", "s": "YOLO26s", "resnet": "ResNet detector"}


def detector_fields(record: dict[str, Any]) -> str:
    """Effective fields of the detectors' layers, untrained and trained."""
    cells = []
    for name, layers in record["detectors"].items():
        for layer in layers.values():
            before, after = layer["untrained"], layer["trained"]
            cells.append([
                DETECTORS[name], f"{layer['stride_px']:.0f}", _theoretical(layer),
                f"{before['sigma_px']:.1f}, {after['sigma_px']:.1f}", f"{before['size_px']}, {after['size_px']}",
                f"{before['gaussian_fit']:.2f}, {after['gaussian_fit']:.2f}",
            ])  # fmt: skip
    columns = ["network", "stride", "theoretical size", "deviation", "size", "Gaussian"]
    return markdown_tables.rows(columns, cells)


def _theoretical(layer: dict[str, Any]) -> str:
    return "all of 2,048 px" if layer["is_at_least"] else f"{layer['theoretical_px']} px"


def known_fields(record: dict[str, Any]) -> str:
    """Theoretical fields of known networks by stage."""
    cells = [
        [network, ", ".join(f"{stage} {size}" for stage, size in stages.items())]
        for network, stages in record["theory"].items()
    ]
    return markdown_tables.rows(["network", "size after each stage, px"], cells)


def growth(record: dict[str, Any]) -> str:
    """Effective fields of the classifiers as training goes on: deviation and Gaussian fit after each step."""
    measured = record["classifiers"]
    steps = [str(one["step"]) for one in next(iter(measured.values()))["training"]]
    cells = [
        [name, *(f"{one['sigma_px']:.1f} ({one['gaussian_fit']:.2f})" for one in network["training"])]
        for name, network in measured.items()
    ]
    return markdown_tables.rows(["network", *(f"step {step}" for step in steps)], cells)


def deployed(record: dict[str, Any], weights: str) -> str:
    """Precision, size and time of each network of a weights file, as OpenVINO runs it."""
    found = record["weights"][weights]["networks"]
    base = found["float32"]["map"]
    cells = [
        [
            name, f"{one['map']:.4f}", f"{100 * (one['map'] - base):+.2f}", f"{one['mb']:.2f}",
            f"{one['ms_median']:.1f} ({one['ms_10th_percentile']:.1f})",
        ]
        for name, one in found.items()
    ]  # fmt: skip
    return markdown_tables.rows(["network", "mAP50-95", "points to float32", "MB", "ms"], cells)


def sensitive(record: dict[str, Any], weights: str) -> str:
    """The ten layers that move the scores most."""
    found = record["weights"][weights]["sensitivity"]
    return markdown_tables.rows(
        ["layer", "moves the scores by"], [[name, f"{value:.2%}"] for name, value in list(found.items())[:10]]
    )


def precisions(record: dict[str, Any]) -> str:
    """Precision of each network, and points to the float one."""
    base = record["networks"]["float32"]["map"]
    cells = [
        [name, f"{one['map']:.4f}", f"{100 * (one['map'] - base):+.2f}"] for name, one in record["networks"].items()
    ]
    return markdown_tables.rows(["network", "mAP50-95", "points to float32"], cells)


def pruned(record: dict[str, Any]) -> str:
    """Precision of each pruned network to the dense one, and how many times faster it is."""
    networks = record["networks"]
    dense = networks["dense"]
    cells = []
    for name, one in networks.items():
        cost = f"{one['after']['cost'] / one['before']['cost']:.0%}" if "pattern" in one else "100%"
        kind = f"{one['pattern']}, {one['criterion']}" if "pattern" in one else "dense"
        kind = TUNED.get(name, kind)
        value = one["float32"]["map"]
        cells.append([
            kind, cost, f"{one['not_zero'] / dense['weights']:.0%}", f"{value:.3f}",
            f"{100 * (value - dense['float32']['map']):+.1f}", *(_speed_up(one[form]) for form in FORMS),
        ])  # fmt: skip
    columns = ["network", "cost", "weights", "mAP50-95", "points", "speed-up, float32", "speed-up, eight bits"]
    return markdown_tables.rows(columns, cells)


FORMS = ("float32", "eight bits")


def _speed_up(form: dict[str, Any]) -> str:
    if "speed_up" not in form:
        return "–"
    low, high = form["speed_up_quartiles"]
    return f"{form['speed_up']:.2f} ({low:.2f} to {high:.2f})"


TUNED = {
    "two_four": "2:4",
    "qat": "eight bits",
    "c60": "channels",
    "c60_more": "channels, trained longer",
}
"""Pruned and rounding networks that were trained further, by the name of their training."""


def tuned(record: dict[str, Any]) -> str:
    """How long each network was trained further, and its distance to the teacher at the start, halfway and last."""
    cells = []
    for name, one in record.items():
        losses = [loss["teacher"] for _, loss in one["losses"]]
        shown = (losses[0], losses[len(losses) // 2], losses[-1])
        cells.append([
            TUNED[name], one["options"]["rate"], str(one["steps"]), f"{one['seconds']:.0f}",
            *(f"{loss:.2f}" for loss in shown),
        ])  # fmt: skip
    columns = ["network", "rate", "steps", "s", "teacher's loss, first step", "halfway", "last"]
    return markdown_tables.rows(columns, cells)


COMPARED = (
    "mAP50-95, all presets", "AP50-95, car", "AP50-95, pedestrian", "recall of vehicles at IoU 0.5, all presets",
    "recall of vehicles at IoU 0.5, 0-20 m", "recall of vehicles at IoU 0.5, 20-40 m",
    "recall of vehicles at IoU 0.5, 40-80 m", "recall of pedestrians at IoU 0.5, all presets",
    "recall of pedestrians at IoU 0.5, 0-20 m", "recall of pedestrians at IoU 0.5, 20-40 m",
    "recall of pedestrians at IoU 0.5, 40-80 m", "state of lights found, within 25 m",
)  # fmt: skip
"""Figures of the detectors that the page compares."""


def compared(record: dict[str, Any]) -> str:
    """The figures of each weights file, and the size of its network."""
    files = record["weights"]
    cells = [["million parameters in use", *(f"{one['parameters_in_use'] / 1e6:.1f}" for one in files.values())]]
    for name in COMPARED:
        count = next(iter(files.values()))["figures"][name][1]
        cells.append([f"{name} ({count})", *(f"{one['figures'][name][0]:.3f}" for one in files.values())])
    return markdown_tables.rows(["figure (objects)", *(Path(name).stem for name in files)], cells)


ON_CARLA = {
    "recall of vehicles at score 0.25": "vehicle: recall at score 0.25",
    "AP50-95, vehicles": "vehicle: AP50-95",
    "false vehicles a picture": "vehicle: false a picture",
    "false pedestrians a picture": "pedestrian: false a picture",
    "signal heads found": "heads: share found",
}
"""Figures of `benchmarks.unreal.goals` that the page compares, by their words there."""


def on_carla(record: dict[str, Any]) -> str:
    """The figures of each weights file on CARLA's own pictures."""
    cells = [[words, *(f"{one[name]:.2f}" for one in record.values())] for words, name in ON_CARLA.items()]
    pictures = next(iter(record.values()))["pictures"]
    return markdown_tables.rows([f"figure, {pictures} pictures", *(Path(name).name for name in record)], cells)


def speeds(record: dict[str, Any]) -> str:
    """The times of the detectors in each run: median, and 10th percentile."""
    names = [name for name in record["runs"][0] if name != "load"]
    cells = [
        [str(number), *(f"{run[name]['ms_median']:.1f} ({run[name]['ms_10th_percentile']:.1f})" for name in names)]
        for number, run in enumerate(record["runs"], 1)
    ]
    return markdown_tables.rows(["run", *(f"{name}, ms" for name in names)], cells)


def simulated(record: dict[str, Any]) -> str:
    """Points of mAP50-95 to float of the networks simulated on a GPU."""
    studies = record["weights"]
    first = next(iter(studies.values()))
    cells = [["float: mAP50-95", *(f"{one['float']:.4f}" for one in studies.values())]]
    for name in first["calibrators"]:
        cells.append([name, *(_points(one["calibrators"][name], one) for one in studies.values())])
    cells.append(["the head too", *(_points(one["head too"], one) for one in studies.values())])
    for count in first["kept"]:
        if count != "0":
            cells.append([f"{count} layers kept", *(_points(one["kept"][count], one) for one in studies.values())])
    cells.append(["trained", *(_points(one["aware"], one) for one in studies.values())])
    return markdown_tables.rows(["network", *studies], cells)


def _points(value: float, one: dict[str, Any]) -> str:
    return f"{100 * (value - one['float']):+.2f}"


TABLES: dict[str, dict[str, tuple[str, Callable[[dict[str, Any]], str]]]] = {
    "receptive-fields.md": {
        "known fields": ("receptive_fields.json", known_fields),
        "detectors' fields": ("receptive_fields.json", detector_fields),
        "growth": ("growth.json", growth),
    },
    "sparsity.md": {
        "channels": ("pruned_untuned.json", pruned),
        "zeros": ("sparse_untuned.json", pruned),
        "criteria": ("criteria_untuned.json", pruned),
        "tuned": ("pruned_tuned.json", pruned),
        "trainings": ("tuned_training.json", tuned),
    },
    "imitation.md": {
        "trained": ("imitation_training.json", curves.table),
        "held back": ("imitation_held_back.json", imitation.held_back),
        "drives": ("imitation_held_back.json", imitation.ends),
        "obstacles": ("imitation_obstacles.json", imitation.obstacles),
    },
    "resnet-detector.md": {
        "compared": ("detectors.json", compared),
        "on CARLA's pictures": ("resnet_unreal.json", on_carla),
        "speeds": ("resnet_speed.json", speeds),
    },
    "quantization.md": {
        "deployed n": ("deployed.json", lambda record: deployed(record, "detector_n")),
        "deployed s": ("deployed_s.json", lambda record: deployed(record, "detector_s")),
        "sensitivity n": ("deployed.json", lambda record: sensitive(record, "detector_n")),
        "deployed resnet": ("deployed.json", lambda record: deployed(record, "detector_resnet")),
        "onnx runtime": ("onnx_runtime.json", precisions),
        "aware": ("aware.json", precisions),
        "simulated": ("simulated.json", simulated),
    },
}
"""By page: its tables, each with its file and the function that makes it. Pages may lack some of them."""


def filled(page: str, text: str) -> str:
    """The page's text with every table that it has marks for."""
    for name, (file, table) in TABLES[page].items():
        if markdown_tables.marks(name)[0] in text:
            record = json.loads((DOCS / file).read_text())
            text = markdown_tables.placed(text, name, table(record))
    return text


def main() -> None:
    for page in TABLES:
        path = DOCS / page
        path.write_text(filled(page, path.read_text()))


if __name__ == "__main__":
    main()
