"""Cross-sections of streets: the lanes side by side, their widths, and the marks between them."""

from __future__ import annotations

from dataclasses import dataclass

from embedded_carla.maps.generator.model import Lane, Mark, Section

KERB_M = 0.3
APPROACH_M = 22.0  # within this distance of a junction lane lines and centre lines are solid

NO_MARK = Mark()
KERB = Mark("curb", width_m=0.15)
EDGE = Mark("solid")
LANE_LINE = Mark("broken", lane_change="both")


@dataclass(frozen=True, slots=True)
class Profile:
    """A street with the same lanes on both sides; lane 1 is the innermost of each direction.

    `centre` is the mark type of the yellow centre line. Beside the driving lanes there is a strip of `side_m`
    ("shoulder", ended by a kerb where there is a pavement) and a pavement of `pavement_m`, 0 for none. One-way streets
    have lanes on the right only.
    """

    lanes: int
    lane_m: float = 3.5
    centre: str = "broken"
    side_m: float = KERB_M
    pavement_m: float = 2.5
    one_way: bool = False
    edge: Mark = EDGE

    @property
    def half_m(self) -> float:
        """Distance from the centre line to the outer edge of the driving lanes."""
        return self.lanes * self.lane_m


def constant(width_m: float) -> tuple[tuple[float, float, float, float, float], ...]:
    return ((0.0, width_m, 0.0, 0.0, 0.0),)


def beside_lanes(profile: Profile, first: int) -> dict[int, Lane]:
    """The strip and the pavement, with ids counted outwards from `first`, whose sign tells the side."""
    sign = 1 if first > 0 else -1
    mark = KERB if profile.pavement_m > 0.0 else NO_MARK
    lanes = {first: Lane("shoulder", constant(profile.side_m), (mark,))}
    if profile.pavement_m > 0.0:
        lanes[first + sign] = Lane("sidewalk", constant(profile.pavement_m))
    return lanes


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
        lanes |= beside_lanes(profile, sign * (profile.lanes + 1))
    return Section(0.0, lanes)
