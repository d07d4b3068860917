"""Cross-sections of streets: the lanes side by side, their widths, and the marks between them."""

from __future__ import annotations

from dataclasses import dataclass

from embedded_carla.maps.generator.model import Cubic, Lane, Mark, Section

KERB_M = 0.3
APPROACH_M = 22.0  # within this distance of a junction lane lines and centre lines are solid

NO_PARKING_M, TAPER_M = 12.0, 8.0  # distance before a junction at which a parking lane ends, and length of its taper

NO_MARK = Mark()
KERB = Mark("curb", width_m=0.15)
EDGE = Mark("solid")
LANE_LINE = Mark("broken", lane_change="both")


@dataclass(frozen=True, slots=True)
class Profile:
    """A street with the same lanes on both sides; lane 1 is the innermost of each direction.

    * `lanes`, `lane_m`: driving lanes in each direction, and their width.
    * `centre`: mark type of the yellow centre line.
    * `side_m`: width of the strip beside the driving lanes (lane type "shoulder"); before a pavement it is a kerb.
    * `pavement_m`: width of the pavement, 0 for none.
    * `one_way`: the street has lanes on the right only.
    * `bicycle_m`, `parking_m`: widths of a bicycle lane and of a parking lane between driving lanes and strip, 0 for
      none. Before junctions the parking lane ends, and the pavement takes its place.
    """

    lanes: int
    lane_m: float = 3.5
    centre: str = "broken"
    side_m: float = KERB_M
    pavement_m: float = 2.5
    one_way: bool = False
    edge: Mark = EDGE
    bicycle_m: float = 0.0
    parking_m: float = 0.0

    @property
    def half_m(self) -> float:
        """Distance from the centre line to the outer edge of the driving lanes."""
        return self.lanes * self.lane_m

    @property
    def kerb_m(self) -> float:
        """Distance from the centre line to the strip, at a junction."""
        return self.half_m + self.bicycle_m

    @property
    def strip(self) -> int:
        """Number of the strip, counted from the centre line."""
        return self.lanes + 1 + (self.bicycle_m > 0.0) + (self.parking_m > 0.0)


def constant(width_m: float) -> tuple[Cubic, ...]:
    return ((0.0, width_m, 0.0, 0.0, 0.0),)


def beside_lanes(profile: Profile, length_m: float, sign: int) -> dict[int, Lane]:
    """The lanes outside the driving lanes by id, on the left (`sign` 1) or on the right (-1)."""
    kinds: list[Lane] = []
    if profile.bicycle_m > 0.0:
        kinds.append(Lane("biking", constant(profile.bicycle_m)))
    if profile.parking_m > 0.0:
        kinds.append(Lane("parking", _tapered(profile.parking_m, length_m)))
    mark = KERB if profile.pavement_m > 0.0 else NO_MARK
    kinds.append(Lane("shoulder", constant(profile.side_m), (mark,)))
    if profile.pavement_m > 0.0:
        kinds.append(Lane("sidewalk", constant(profile.pavement_m)))
    return {sign * (profile.lanes + 1 + i): lane for i, lane in enumerate(kinds)}


def _tapered(width_m: float, length_m: float) -> tuple[Cubic, ...]:
    """The width of a lane that opens behind a junction and closes before the next one."""
    rise = (3.0 * width_m / TAPER_M**2, -2.0 * width_m / TAPER_M**3)
    closing_s_m = length_m - NO_PARKING_M - TAPER_M
    return (
        (0.0, 0.0, 0.0, 0.0, 0.0),
        (NO_PARKING_M, 0.0, 0.0, *rise),
        (NO_PARKING_M + TAPER_M, width_m, 0.0, 0.0, 0.0),
        (closing_s_m, width_m, 0.0, -rise[0], -rise[1]),
        (length_m - NO_PARKING_M, 0.0, 0.0, 0.0, 0.0),
    )


def _solid_ends(mark: Mark, length_m: float, at_start: bool, at_end: bool) -> tuple[Mark, ...]:
    """`mark` along the road, solid near the ends that approach a junction."""
    if mark.kind != "broken" or length_m < 2.5 * APPROACH_M:
        return (mark,)
    solid = Mark("solid", mark.colour)
    marks = [solid] if at_start else []
    marks.append(Mark(mark.kind, mark.colour, mark.lane_change, APPROACH_M if at_start else 0.0))
    if at_end:
        marks.append(Mark("solid", mark.colour, "none", length_m - APPROACH_M))
    return tuple(marks)


def street_section(profile: Profile, length_m: float, junction_start: bool, junction_end: bool) -> Section:
    """The single lane section of a whole street."""
    centre = Mark(profile.centre, "yellow")
    lanes = {0: Lane("none", (), _solid_ends(centre, length_m, junction_start, junction_end))}
    for sign in (-1,) if profile.one_way else (1, -1):
        ahead_start, ahead_end = (junction_start, False) if sign > 0 else (False, junction_end)
        for k in range(1, profile.lanes + 1):
            inner = _solid_ends(LANE_LINE, length_m, ahead_start, ahead_end)
            mark = (profile.edge,) if k == profile.lanes else inner
            lanes[sign * k] = Lane("driving", constant(profile.lane_m), mark)
        lanes |= beside_lanes(profile, length_m, sign)
    return Section(0.0, lanes)
