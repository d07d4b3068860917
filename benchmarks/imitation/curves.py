"""Draws how the imitation networks learnt, and writes the figures of the epochs that were kept for the page.

    python -m benchmarks.imitation.curves docs/networks/imitation_training.json docs/networks/imitation_curves.png

The first file holds the `training.json` of each network by its name; `--add NAME=training.json` puts one into it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from benchmarks import markdown_tables

SIZE_IN, DPI = (10.0, 3.4), 80
DIGITS = 4

PANELS = {
    "path_loss": "training: smooth L1 of the path",
    "speed_loss": "training: cross-entropy of the speed",
    "path_error_m": "drives held back: error of the path, m",
    "speed_error_mps": "drives held back: error of the speed, m/s",
}
"""By figure of the curves: the title of its panel."""

Trainings = Mapping[str, Mapping[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path, help="JSON file with the trainings by name")
    parser.add_argument("picture", type=Path, help="PNG to draw")
    parser.add_argument("--add", action="append", default=[], metavar="NAME=FILE", help="put a training in; repeatable")
    given = parser.parse_args()
    trainings = json.loads(given.record.read_text()) if given.record.exists() else {}
    for added in given.add:
        name, _, file = added.partition("=")
        trainings[name] = rounded(json.loads(Path(file).read_text()))
    if given.add:
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in trainings.items())
        given.record.write_text(f"{{\n{lines}\n}}\n")
    draw(given.picture, trainings)


def rounded(value: Any) -> Any:
    """The same with every fraction rounded."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, Mapping):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def draw(path: Path, trainings: Trainings) -> None:
    """One panel for each of `PANELS`, one line for each training; those with the same first word share a colour."""
    figure, panels = plt.subplots(1, len(PANELS), figsize=SIZE_IN)
    kinds = list(dict.fromkeys(kind(name) for name in trainings))
    for axes, (figure_name, title) in zip(panels, PANELS.items(), strict=True):
        told = set()
        for name, training in trainings.items():
            rows = [row for row in training["curves"] if figure_name in row]
            label = None if kind(name) in told else kind(name)
            told.add(kind(name))
            shares = [row["epoch"] / training["curves"][-1]["epoch"] for row in rows]
            axes.plot(shares, [row[figure_name] for row in rows], f"C{kinds.index(kind(name))}", lw=1, label=label)
        axes.set_title(title, fontsize=7)
        axes.set_xlabel("share of the training", fontsize=7)
        axes.set_ylim(0.0, None)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    plt.close(figure)


def kind(name: str) -> str:
    """What a training is of, without its seed: `round 1, seed 2` is of `round 1`."""
    return name.partition(", seed")[0]


def table(trainings: Trainings) -> str:
    """The epoch of each training that was kept: its errors on the drives held back."""
    cells = []
    for name, training in trainings.items():
        last, held = training["curves"][-1], kept(training)
        epochs = str(last["epoch"]) if held is last else f"{held['epoch']} of {last['epoch']}"
        cells.append([
            name, f"{training['samples']:,}", epochs, f"{last['seconds']:.0f}",
            f"{held['path_error_m']:.2f}", f"{held['by_group']['turn']['path_error_m']:.2f}",
            f"{held['speed_error_mps']:.2f}", f"{least_speed_error(training):.2f}",
            f"{held['speed_error_without_speed_mps']:.2f}",
        ])  # fmt: skip
    columns = [
        "network", "samples", "epochs", "seconds", "path, m", "path in turns, m", "speed, m/s", "least before, m/s",
        "without its speed, m/s",
    ]  # fmt: skip
    return markdown_tables.rows(columns, cells)


def kept(training: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row of the curves whose weights were kept: the last where the training does not name another."""
    curves: Sequence[Mapping[str, Any]] = training["curves"]
    return next((row for row in curves if row["epoch"] == training.get("kept_epoch")), curves[-1])


def least_speed_error(training: Mapping[str, Any]) -> float:
    """The least error of the speed, m/s, that any measured epoch had."""
    return min(float(row["speed_error_mps"]) for row in training["curves"] if "speed_error_mps" in row)


if __name__ == "__main__":
    main()
