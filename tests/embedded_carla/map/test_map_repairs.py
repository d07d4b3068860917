"""Repaired maps work in the wheel; maps that work in the wheel are not made worse."""

from __future__ import annotations

import re
from collections.abc import Iterator

import carla
import numpy as np
import pytest

from embedded_carla.errors import MapError
from embedded_carla.maps.proof import Prover
from embedded_carla.opendrive import parse
from tests.embedded_carla.map.handmade_maps import road, town

PIECE = '<geometry s="0" x="0" y="0.0" hdg="0" length="100.0"><line/></geometry>'
LINK = '<link><predecessor id="{0}"/><successor id="{0}"/></link>'


@pytest.fixture(scope="module")
def prover() -> Iterator[Prover]:
    with Prover() as prover:
        yield prover


def _linked(text: str) -> str:
    """With links from every driving lane to the lane of the same id."""
    for lane in (1, -1):
        text = text.replace(
            f'<lane id="{lane}" type="driving">', f'<lane id="{lane}" type="driving">{LINK.format(lane)}'
        )
    return text


def _two_roads(first: str) -> str:
    """Road 1 as given, and road 2 behind it."""
    second = road(2, link='<predecessor elementType="road" elementId="1" contactPoint="end"/>')
    behind = '<successor elementType="road" elementId="2" contactPoint="start"/>'
    return _linked(
        town(first.replace("<link></link>", f"<link>{behind}</link>", 1), second.replace('x="0"', 'x="100"'))
    )


def _pieces(*rows: tuple[float, float]) -> str:
    """Two roads, the first with lines of these (s, length)."""
    made = "".join(f'<geometry s="{s}" x="{s}" y="0" hdg="0" length="{n}"><line/></geometry>' for s, n in rows)
    text = _two_roads(road())
    assert PIECE in text
    return text.replace(PIECE, made)


@pytest.mark.parametrize("length", [0.0, 1e-15, 1e-9, 1e-7, 1e-6, 1e-3])
@pytest.mark.parametrize("shape", ["<line/>", '<spiral curvStart="0" curvEnd="0.1"/>', '<arc curvature="0.1"/>'])
def test_a_sliver_of_geometry_at_the_start_is_left_to_the_wheel(prover: Prover, length: float, shape: str) -> None:
    text = _pieces((0.0, length), (length, 100.0 - length)).replace("<line/>", shape, 1)
    network = parse(text, "Sliver")
    assert network.xodr_text is text
    prover.prove("Sliver", network.xodr_text)
    x, y, heading = network.roads[1].plan(np.array([0.0, 50.0, 100.0]))
    assert np.allclose(x, [0.0, 50.0, 100.0], atol=1e-2)
    assert np.all(np.isfinite([y, heading]))


@pytest.mark.parametrize("start", [0.0, 0.02, -0.05, 0.3])
@pytest.mark.parametrize("change", [0.0, 1e-18, -1e-15, 1e-12, -1e-11, 1e-10, 1e-9, -1e-6, 1e-3])
def test_a_spiral_of_almost_constant_curvature_is_where_the_wheel_computes_it(start: float, change: float) -> None:
    text = town(road(shape=f'<spiral curvStart="{start!r}" curvEnd="{start + change!r}"/>'))
    network = parse(text, "Spiral")
    wheel = carla.Map("Spiral", network.xodr_text)
    for s in np.linspace(0.0, 99.9, 15):
        (x,), (y,), (heading,) = network.roads[1].plan(np.array([s]))
        found = wheel.get_waypoint_xodr(1, -1, float(s))
        assert found is not None
        ahead = found.transform.get_forward_vector()
        left_m = found.lane_width / 2.0
        assert found.transform.location.x == pytest.approx(x + left_m * np.sin(heading), abs=1e-3)
        assert -found.transform.location.y == pytest.approx(y - left_m * np.cos(heading), abs=1e-3)
        assert (ahead.x, -ahead.y) == pytest.approx((np.cos(heading), np.sin(heading)), abs=1e-3)


def test_a_spiral_that_the_wheel_reads_well_is_left_alone() -> None:
    text = town(road(shape='<spiral curvStart="0.02" curvEnd="0.0200001"/>'))
    assert parse(text, "Spiral").xodr_text is text


@pytest.mark.parametrize("start", [1e-15, 1e-9, 1e-5, 0.05])
def test_a_plan_view_that_begins_late_is_extended_to_the_start(prover: Prover, start: float) -> None:
    network = parse(_pieces((start, 100.0 - start)), "Late")
    prover.prove("Late", network.xodr_text)
    assert "plan view" in network.repairs[0]
    assert np.allclose(network.roads[1].plan(np.array([0.0, 40.0]))[0], [0.0, 40.0], atol=1e-8)


def test_a_plan_view_that_begins_much_later_is_refused() -> None:
    with pytest.raises(MapError, match=r"map Late: road 1: its first geometry begins at s=3, not at s=0"):
        parse(_pieces((3.0, 97.0)), "Late")


@pytest.mark.parametrize(
    ("sections", "wanted"),
    [
        ((0.0, 40.0, 40.0), (0.0, 40.0)),
        ((0.0, 40.0, 40.00000000000001), (0.0, 40.00000000000001)),
        ((0.0, 0.0), (0.0, 0.001)),
        ((0.0, 1e-15, 50.0), (0.0, 0.001, 50.0)),
        ((0.0, 100.0), (0.0, 99.999)),
        ((0.0, 40.0, 40.0, 100.0), (0.0, 40.0, 99.999)),
        ((1e-9,), (0.0,)),
        ((-0.01, 50.0), (0.0, 50.0)),
        ((50.0, 0.0), (0.0, 50.0)),
        ((0.0, 99.9995), (0.0, 99.9995)),  # the wheel reads thin sections as they are
        ((0.0, 40.0, 40.0001), (0.0, 40.0, 40.0001)),
    ],
)
def test_lane_sections_of_no_length_are_mended(
    prover: Prover, sections: tuple[float, ...], wanted: tuple[float, ...]
) -> None:
    network = parse(_two_roads(road(sections=sections)), "Double")
    assert [s.s_m for s in network.roads[1].sections] == pytest.approx(sorted(wanted), abs=6e-4)
    assert bool(network.repairs) == (sections != wanted)
    prover.prove("Double", network.xodr_text)


@pytest.mark.parametrize("sections", [(0.0, 0.0), (0.0, 1e-15), (0.0, 100.0), (0.0, 99.99999999999)])
def test_a_section_of_no_length_that_no_lane_leads_to_is_left_out(prover: Prover, sections: tuple[float, ...]) -> None:
    """With a length, a route planner would find lanes there on which it cannot make a step."""
    apart = re.sub(r"<link><predecessor id=[^>]*><successor id=[^>]*></link>", "", _two_roads(road(sections=sections)))
    network = parse(apart, "Apart")
    assert [s.s_m for s in network.roads[1].sections] == [0.0]
    prover.prove("Apart", network.xodr_text)


def test_sections_beyond_the_end_are_refused() -> None:
    with pytest.raises(MapError, match=r"road 1: a laneSection begins at s=120, the road ends at s=100"):
        parse(_two_roads(road(sections=(0.0, 120.0))), "Beyond")


@pytest.mark.parametrize("start", [99.9995, 100.0 - 1e-7, 100.0])
def test_a_thin_last_section_keeps_its_lane_offset(prover: Prover, start: float) -> None:
    """One lane more on the left from `start` on: lane -1 goes on as lane -2, and the offset moves by a lane's width."""
    text = _two_roads(road(sections=(0.0, start)))
    last = text.index("<laneSection", text.index("<laneSection") + 1)
    head, tail = text[:last], text[last:]
    head = head.replace("<lanes>", f"<lanes>{_offset(0.0, 0.0)}{_offset(start, 3.5)}", 1)
    head = head.replace('<successor id="-1"/>', '<successor id="-2"/>', 1)
    tail = tail.replace("<lanes>", f"<lanes>{_offset(0.0, 3.5)}", 1)
    sidewalk, lane = '"sidewalk"><width sOffset="0" a="2"', f'"driving">{LINK.format(-2)}<width sOffset="0" a="3.5"'
    tail = tail.replace(f'<lane id="-2" type={sidewalk}', f'<lane id="-2" type={lane}')
    text = head + tail.replace('<predecessor id="-2"/>', '<predecessor id="-1"/>', 1)
    network = parse(text, "Widening")
    prover.prove("Widening", network.xodr_text)
    before = carla.Map("Widening", network.xodr_text).get_waypoint_xodr(1, -1, 99.0)
    assert before is not None
    lateral_m = [before.next(step_m)[0].transform.location.y for step_m in np.arange(0.01, 2.0, 0.01).tolist()]
    assert before.next(2.0)[0].road_id == 2
    assert lateral_m == pytest.approx([before.transform.location.y] * len(lateral_m), abs=0.01)
    section = network.roads[1].sections[-1]
    assert network.roads[1].offset(np.array([section.s_m - 1e-4, section.s_m + 1e-8])) == pytest.approx([0.0, 3.5])


@pytest.mark.parametrize("start", [100.0 - 1e-10, 100.0])
def test_a_moved_last_section_takes_no_offset_along_that_shifts_its_lanes(prover: Prover, start: float) -> None:
    """An offset at the end of a road without a lane more: nothing lies there, so it shifts nothing."""
    text = _two_roads(road(sections=(0.0, start)))
    text = text.replace("<lanes>", f"<lanes>{_offset(0.0, 0.0)}{_offset(100.0, -3.5)}", 1)
    network = parse(text, "Unmoved")
    assert network.repairs
    prover.prove("Unmoved", network.xodr_text)
    mended = carla.Map("Unmoved", network.xodr_text)
    waypoints = [mended.get_waypoint_xodr(1, -1, s_m) for s_m in (50.0, 99.9985, 99.9995)]
    assert [waypoint and waypoint.transform.location.y for waypoint in waypoints] == pytest.approx([1.75] * 3, abs=0.01)


def _offset(s: float, a: float) -> str:
    return f'<laneOffset s="{s}" a="{a}" b="0" c="0" d="0"/>'


@pytest.mark.parametrize("start", [1e-15, 1e-9, 1e-3, 5.0])
def test_profiles_are_defined_from_their_start_on(prover: Prover, start: float) -> None:
    elevation = f'<elevation s="{start}" a="7" b="0" c="0" d="0"/>'
    text = _two_roads(road(elevation=elevation)).replace("<lanes>", f"<lanes>{_offset(start, 1.0)}", 1)
    text = text.replace('sOffset="0" a="3.5"', f'sOffset="{start}" a="3.5"')
    network = parse(text, "Profiles")
    assert len(network.repairs) > 2
    prover.prove("Profiles", network.xodr_text)
    before = np.array([min(start, 50.0) / 2.0])
    assert network.roads[1].elevation(before) == pytest.approx([7.0])
    assert network.roads[1].offset(before) == pytest.approx([0.0 if start > 1e-3 else 1.0])
    assert network.roads[1].sections[0].lanes[-1].width(before) == pytest.approx([3.5])


def test_links_to_missing_lanes_of_the_next_road_are_removed(prover: Prover) -> None:
    network = parse(_two_roads(road()).replace('<successor id="-1"/>', '<successor id="-5"/>', 1), "Loose")
    assert network.repairs == ("road 1 lane -1: link to a missing lane removed",)
    prover.prove("Loose", network.xodr_text)


def test_lanes_do_not_lead_to_road_0_where_no_road_is_given(prover: Prover) -> None:
    """Removing the link to a missing road made the wheel take road 0 for it, which has no such lane."""
    without = road(0).replace('<lane id="1" type="driving">', '<lane id="1" type="none">')
    lanes = without[without.index("<right>") : without.index("</right>") + 8]
    text = _linked(town(without.replace(lanes, ""), road(1, y=50.0)))
    for link in ("", '<successor elementType="road" elementId="7" contactPoint="start"/>'):
        network = parse(text.replace("<link></link>", f"<link>{link}</link>"), "Zero")
        prover.prove("Zero", network.xodr_text)
        assert all(lane.successor is None for lane in network.roads[1].sections[0].lanes.values())


def test_a_road_without_the_junction_attribute_belongs_to_none() -> None:
    network = parse(town(road()).replace('junction="-1"', ""), "Plain")
    assert network.roads[1].junction == -1
    assert not carla.Map("Plain", network.xodr_text).generate_waypoints(50.0)[0].is_junction


def test_a_namespace_changes_nothing() -> None:
    text = town(road()).replace("<OpenDRIVE>", '<OpenDRIVE xmlns="http://www.opendrive.org">')
    network = parse(text, "Named")
    assert network.xodr_text is text
    assert list(network.roads) == [1]
