"""Tables of peers: CARLA's own controller on the same manoeuvres, and PDM-Lite on Bench2Drive's routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks import markdown_tables
from benchmarks.pdm_lite import Drive
from benchmarks.pdm_lite import table as drives_table

Rows = Sequence[Mapping[str, Any]]


def control(rows: Rows) -> str:
    """Lateral and speed error of both controllers over all manoeuvres and speeds, for each road."""
    roads = list(dict.fromkeys(row["road"] for row in rows))
    controllers = list(dict.fromkeys(row["controller"] for row in rows))
    cells = []
    for road in roads:
        for controller in controllers:
            own = [row for row in rows if (row["road"], row["controller"]) == (road, controller)]
            cells.append(
                (
                    road,
                    controller,
                    f"{median(row['lateral_rms_m'] for row in own):.3f}",
                    f"{max(row['lateral_rms_m'] for row in own):.3f}",
                    f"{median(row['speed_rms_mps'] for row in own):.3f}",
                )
            )
    names = ("road", "controller", "lateral RMS, median, m", "largest, m", "speed RMS, median, m/s")
    return markdown_tables.rows(names, cells)


def pdm_lite(rows: Rows) -> str:
    """The driving scores of PDM-Lite, which reads the simulator's truth, and of the stack on the same routes."""
    return drives_table([Drive(**row) for row in rows])
