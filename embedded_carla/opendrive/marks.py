"""Road marks: the painted lines that OpenDRIVE's mark types stand for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from embedded_carla.opendrive.network import MarkLine, RoadMark

# Used if the file gives a type without <line>: US practice, like the paint of CARLA's own towns.
DASH_M, GAP_M = 3.0, 4.5
STANDARD_WIDTH_M, BOLD_WIDTH_M = 0.12, 0.25


def read_marks(elements: Iterable[Any], section_s_m: float) -> tuple[RoadMark, ...]:
    """The `<roadMark>` elements of one lane, in order of s."""
    return tuple(sorted((_read_mark(e, section_s_m) for e in elements), key=lambda mark: mark.s_m))


def _read_mark(element: Any, section_s_m: float) -> RoadMark:
    kind = element.get("type", "none")
    colour = element.get("color", "standard")
    given = element.get("width")
    usual = BOLD_WIDTH_M if element.get("weight") == "bold" else STANDARD_WIDTH_M
    width = float(given) if given and float(given) > 0.0 else usual
    explicit = tuple(
        MarkLine(
            float(line.get("width", width)) or width, float(line.get("tOffset", 0.0)),
            float(line.get("length", 0.0)) if float(line.get("space", 0.0)) > 0.0 else 0.0,
            float(line.get("space", 0.0)),
        )
        for line in element.iterfind("type/line")
    )  # fmt: skip
    s_m = section_s_m + float(element.get("sOffset", 0.0))
    return RoadMark(s_m, kind, colour, explicit or usual_lines(kind, width))


def usual_lines(kind: str, width_m: float) -> tuple[MarkLine, ...]:
    """The lines of a mark type, from left to right if there are two; none for "none", "curb", "grass", "edge"."""
    dash = {"solid": (0.0, 0.0), "broken": (DASH_M, GAP_M), "botts": (0.1, 1.9)}
    parts = ["botts"] if kind == "botts dots" else kind.split()
    if not parts or any(part not in dash for part in parts):
        return ()
    middle = 0.5 * (len(parts) - 1)
    return tuple(
        MarkLine(width_m, (middle - i) * 2.0 * width_m, *dash[part]) for i, part in enumerate(parts)
    )  # fmt: skip
