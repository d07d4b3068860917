"""The map of the measurement: two straight roads that cross on open ground, with two lanes each way."""

from __future__ import annotations

HALF_LENGTH_M = 350.0
LANE_M, SHOULDER_M = 3.5, 1.8
"""Widths; the road is too wide for houses beside it."""

LIMIT_KMH = 70

_MARK = '<roadMark sOffset="0" type="{}" weight="standard" color="standard" width="0.12"/>'
_LANE = (
    '<lane id="{}" type="{}" level="false"><width sOffset="0" a="{}" b="0" c="0" d="0"/>'
    '<roadMark sOffset="0" type="{}" weight="standard" color="standard" width="0.12"/></lane>'
)
_ROAD = (
    '<road name="{name}" length="{length}" id="{number}" junction="-1"><link/>'
    '<type s="0" type="town"><speed max="{limit}" unit="km/h"/></type><planView>'
    '<geometry s="0" x="{x}" y="{y}" hdg="{heading}" length="{length}"><line/></geometry></planView>'
    '<elevationProfile/><lateralProfile/><lanes><laneSection s="0"><left>{left}</left>'
    '<center><lane id="0" type="none" level="false">{middle}</lane></center><right>{right}</right>'
    "</laneSection></lanes></road>"
)


def map_text() -> str:
    """The map as OpenDRIVE; the roads run along x and y and meet at the origin."""
    header = '<header revMajor="1" revMinor="4" name="open_crossing" version="1" date="" '
    header += 'north="0" south="0" east="0" west="0"/>'
    start = -HALF_LENGTH_M
    roads = _road(1, "along x", start, 0.0, 0.0) + _road(2, "along y", 0.0, start, 1.5707963267948966)
    return f'<?xml version="1.0" standalone="yes"?>\n<OpenDRIVE>{header}{roads}</OpenDRIVE>\n'


def _road(number: int, name: str, x: float, y: float, heading: float) -> str:
    kinds = ((1, "driving", LANE_M, "broken"), (2, "driving", LANE_M, "solid"), (3, "shoulder", SHOULDER_M, "none"))
    right = "".join(_LANE.format(-i, *rest) for i, *rest in kinds)
    left = "".join(_LANE.format(i, *rest) for i, *rest in reversed(kinds))
    return _ROAD.format(
        name=name, number=number, length=2.0 * HALF_LENGTH_M, limit=LIMIT_KMH, x=x, y=y, heading=heading,
        left=left, right=right, middle=_MARK.format("solid solid"),
    )  # fmt: skip
