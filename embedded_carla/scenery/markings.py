"""Painted lines along lane borders, as the file gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.opendrive.network import MarkLine, RoadMark
from embedded_carla.scene import Material
from embedded_carla.scenery.grid import BEFORE_M, SectionGrid
from embedded_carla.scenery.soup import QuadSoup, face_normals, ribbon
from embedded_carla.scenery.surfaces import surface_of
from embedded_carla.types import SemanticTag

LIFT_M = 0.008  # height of paint above the road


def draw(grids: Sequence[SectionGrid], soup: QuadSoup) -> None:
    """Add every marking of every lane border."""
    for grid in grids:
        for border, marks in _borders(grid):
            for mark, start, end in _spans(marks, grid):
                for line in mark.lines:
                    _line(grid, border, line, material_of(mark.colour), start, end, soup)


def material_of(colour: str) -> Material:
    """Paint for an OpenDRIVE colour name: yellow for "yellow" and "orange", else white."""
    return Material.MARKING_YELLOW if colour in ("yellow", "orange") else Material.MARKING_WHITE


def _borders(grid: SectionGrid) -> Iterator[tuple[int, tuple[RoadMark, ...]]]:
    """Yield (index of a border in the grid, the marks on it); a lane's marks lie on its outer border."""
    left = sum(lane > 0 for lane in grid.lanes)
    if 0 in grid.section.lanes:
        yield left, grid.section.lanes[0].marks
    for i, lane_id in enumerate(grid.lanes):
        yield (i if lane_id > 0 else i + 1), grid.section.lanes[lane_id].marks


def _spans(marks: tuple[RoadMark, ...], grid: SectionGrid) -> Iterator[tuple[RoadMark, float, float]]:
    ends = [mark.s_m for mark in marks[1:]] + [float(grid.s[-1])]
    for mark, end in zip(marks, ends, strict=False):
        start = max(mark.s_m, float(grid.s[0]))
        end = min(end, float(grid.s[-1]))
        if mark.lines and end - start > 1e-3:
            yield mark, start, end


def _line(
    grid: SectionGrid, border: int, line: MarkLine, material: Material, start: float, end: float, soup: QuadSoup
) -> None:
    if line.space_m > 0.0:
        begins: NDArray[np.float64] = np.arange(start, end, line.length_m + line.space_m, dtype=np.float64)
        ends = np.minimum(begins + line.length_m, end)
        long = ends - begins > 0.2
        begins, ends = begins[long], ends[long]
    else:
        begins, ends = np.array([start]), np.array([end])
    # Follow the surface's chords: the surface's stations inside each dash become corners.
    s = np.unique(np.concatenate([begins, ends, grid.s[(grid.s > start) & (grid.s < end)]]))
    middle = 0.5 * (s[:-1] + s[1:])
    jump = np.diff(s) <= 2.0 * BEFORE_M
    painted = ~jump & (np.searchsorted(begins, middle, side="right") > np.searchsorted(ends, middle, side="right"))
    centre, leftward = grid.at(border, s), grid.leftward_at(s)
    edges = []
    shift = line.offset_m + _kerb_shift_m(grid, border, line.width_m)
    for side in (0.5, -0.5):
        edge = centre.copy()
        edge[:, :2] += (shift + side * line.width_m) * leftward
        edge[:, 2] += LIFT_M
        edges.append(edge)
    quads = ribbon(*edges)[painted]
    along = np.stack([s[:-1], s[:-1], s[1:], s[1:]], axis=1)[painted]
    across = np.broadcast_to([line.width_m, 0.0, 0.0, line.width_m], along.shape)
    uv = np.stack([along, across], axis=-1)
    soup.add(material, SemanticTag.ROAD_LINES, quads, face_normals(quads), uv)


def _kerb_shift_m(grid: SectionGrid, border: int, width_m: float) -> float:
    """Lateral shift (positive left) of a line beside a kerb; without it, half of the line is under the kerb stone."""
    surfaces = [surface_of(grid.kind(i)) if 0 <= i < len(grid.lanes) else None for i in (border - 1, border)]
    left, right = (surface is not None and surface.raised for surface in surfaces)
    return 0.0 if left == right else (-1.0 if left else 1.0) * (0.5 * width_m + 0.02)
