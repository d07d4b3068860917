"""Draws the figures of `av-stack eval` as bar charts over weathers and ranges; a line marks the goal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from av_core.types import Image
from av_stack.evaluation.table import Figure

BAR_PX, LABEL_PX, WIDTH_PX, HEAD_PX = 18, 230, 420, 34
INK, GRID, BAR, MISSED, GOAL = (40, 40, 40), (215, 215, 215), (170, 120, 60), (70, 70, 210), (60, 140, 60)
FONT = cv2.FONT_HERSHEY_SIMPLEX
GROUPS_MIN = 3
"""Minimum number of bars of a chart; for fewer groups the table is enough."""


def draw_figures(figures: Sequence[Figure], out: Path) -> list[Path]:
    """Write one PNG to `out/figures` for each figure that was measured over several groups; returns their paths."""
    by_name: dict[tuple[str, str], list[Figure]] = defaultdict(list)
    for figure in figures:
        if np.isfinite(figure.value):
            by_name[figure.part, figure.name].append(figure)
    paths = []
    for (part, name), group in by_name.items():
        if len(group) >= GROUPS_MIN:
            path = out / "figures" / f"{part}_{_file_name(name)}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(path), bars(f"{part}: {name}", group))
            paths.append(path)
    return paths


def bars(title: str, figures: Sequence[Figure]) -> Image:
    """Chart (height, width, 3) BGR: one bar for each group, in the given order; a green line marks each goal."""
    top = max([f.value for f in figures] + [f.goal for f in figures if f.goal is not None] + [1e-9]) * 1.08
    canvas: Image = np.full((HEAD_PX + BAR_PX * len(figures) + 10, LABEL_PX + WIDTH_PX + 80, 3), 255, dtype=np.uint8)
    cv2.putText(canvas, title, (8, 20), FONT, 0.5, INK, 1, cv2.LINE_AA)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        u = LABEL_PX + round(share * WIDTH_PX)
        cv2.line(canvas, (u, HEAD_PX - 4), (u, len(canvas) - 8), GRID, 1)
    for row, figure in enumerate(figures):
        v = HEAD_PX + BAR_PX * row
        end = LABEL_PX + round(max(figure.value, 0.0) / top * WIDTH_PX)
        cv2.rectangle(canvas, (LABEL_PX, v + 3), (end, v + BAR_PX - 4), MISSED if figure.is_met is False else BAR, -1)
        cv2.putText(canvas, figure.group[:34], (8, v + 13), FONT, 0.38, INK, 1, cv2.LINE_AA)
        text = f"{figure.value:.3g} {figure.unit}".strip()
        cv2.putText(canvas, text, (end + 5, v + 13), FONT, 0.38, INK, 1, cv2.LINE_AA)
        if figure.goal is not None:
            u = LABEL_PX + round(figure.goal / top * WIDTH_PX)
            cv2.line(canvas, (u, v), (u, v + BAR_PX - 1), GOAL, 2)
    return canvas


def _file_name(name: str) -> str:
    kept = "".join(letter if letter.isalnum() else "_" for letter in name.lower())
    return "_".join(part for part in kept.split("_") if part)
