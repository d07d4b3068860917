"""Each single fault of a route file is reported once, in its line; a file without a fault gives no report."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from av_core.types import LaneGraph
from av_stack.server_process import embedded_town
from av_stack.world.carla.map import read_lane_graph
from scenarios.leaderboard.lint import PROBLEMS_MAX, LintReport, lint
from scenarios.leaderboard.lint_placement import heading_error_deg
from scenarios.leaderboard.route_xml import survey
from tests.scenarios.leaderboard.route_text import VALID, changed, line_of

SECOND_ROUTE = VALID[VALID.index("  <route ") : VALID.index("</routes>")]
PARKING_EXIT = """<scenario name="Exit_1" type="ParkingExit">
        <trigger_point x="3" y="0" z="0" yaw="0"/>
      </scenario>
      <scenario name="Accident_1" """


def report(text: str) -> LintReport:
    return lint(survey(text.encode(), "routes.xml"), lambda town: None)


def test_a_good_file_has_no_problem() -> None:
    found = report(VALID)
    assert found.problems == ()
    assert found.unchecked_towns == ("Town99",)


FAULTS = [
    ("unknown tag", '<speed value="50"/>', '<sped value="50"/>', "Accident has no parameter sped (did you mean speed"),
    ("parameter of another type", '<speed value="50"/>', '<offset value="1"/>', "Accident has no parameter offset, so"),
    ("other_actor", '<speed value="50"/>', '<other_actor x="1"/>', "Accident has no parameter other_actor"),
    ("no effect", '<frequency from="20" to="60"/>', '<speed value="60"/>', "speed has no effect on ParkedObstacleTwo"),
    ("wrong shape", '<frequency from="20" to="60"/>', '<frequency value="20"/>', "has the wrong shape; expected <fre"),
    ("km/h for m/s", '<flow_speed value="15"/>', '<flow_speed value="60"/>', "(if 60 km/h is meant: 16.7 m/s)"),
    ("m/s for km/h", '<speed value="50"/>', '<speed value="14"/>', "(if 14 m/s is meant: 50.4 km/h)"),
    ("rate for a gap", 'from="20" to="60"', 'from="0.2" to="60"', "from=0.2 m is not plausible; expected 5 to 500 m"),
    ("typing error", '<distance value="60"/>', '<distance value="6000"/>', "distance of Accident: 6000 m is not plau"),
    ("interval backwards", 'from="20" to="60"', 'from="60" to="20"', "from 60 is larger than to 20"),
    ("word", 'value="left"', 'value="lefft"', "direction of Accident: lefft is not allowed (did you mean left?)"),
    ("number as word", 'value="left"', 'value="40"', "direction of Accident: '40' is not allowed; expected one of le"),
    ("yaw of a place", 'y="5" z="0"/>\n        <end', 'y="5" z="0" yaw="3"/>\n        <end', "yaw has no effect; read"),
    ("unknown type", 'type="Accident"', 'type="Acident"', "unknown scenario type Acident (did you mean Accident?)"),
    ("required", '        <start_actor_flow x="310" y="5" z="0"/>\n', "", "EnterActorFlow needs the parameter start"),
    ("repeated parameter", '<speed value="50"/>', '<distance value="70"/>', "<distance> is given more than once"),
    ("attribute", '<position x="500"', '<position yaw="1" x="500"', "unknown attribute yaw of <position> has no"),
    ("weather attribute", 'cloudiness="90"', 'cloudines="90"', "attribute cloudines of <weather> (did you mean cloudi"),
    ("element of a route", "<waypoints>", "<waypoint_list/>\n<waypoints>", "unknown element <waypoint_list> in <route"),
    ("percentage", 'percentage="100"', 'percentage="101"', "route_percentage 101 is not allowed; expected 0 to 100"),
    ("last below 100", 'percentage="100"', 'percentage="90"', "the last of several weathers is at 90 %; the official"),
    ("first above 0", 'percentage="0"', 'percentage="10"', "the first of several weathers is at 10 %; the official"),
    ("weather value", 'cloudiness="90"', 'cloudiness="900"', "cloudiness 900 is not allowed; expected 0 to 100"),
    ("dust", 'cloudiness="90"', 'dust_storm="90"', "dust_storm has no effect where there are two or more weathers"),
    ("yaw", 'yaw="0.5"', 'yaw="5000"', "yaw 5000 is not allowed; expected -720 to 720 degrees"),
    ("overlap", 'x="200" y="0" z="0" yaw="0.5"', 'x="101" y="0" z="0" yaw="0.5"', "Parked_1 starts together with Acc"),
    ("parking exit", '<scenario name="Accident_1" ', PARKING_EXIT, "the trigger of ParkingExit is 3.0 m from the"),
    ("trigger twice", '<speed value="50"/>', '<trigger_point x="9" y="0" z="0" yaw="0"/>', "<trigger_point> is given"),
    ("route id", "</routes>", f"{SECOND_ROUTE}</routes>", "route id '0' is repeated; it is first in line 2"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_fault_is_reported_once(old: str, new: str, words: str) -> None:
    (problem,) = report(changed(old, new)).problems
    assert words in problem.message


@pytest.mark.parametrize("name", ["unknown tag", "wrong shape", "km/h for m/s", "weather value", "yaw of a place"])
def test_a_fault_is_reported_in_its_line(name: str) -> None:
    old, new = next(fault[1:3] for fault in FAULTS if fault[0] == name)
    text = changed(old, new)
    assert report(text).problems[0].line == line_of(text, new)


def test_weather_out_of_order() -> None:
    first, second = (line for line in VALID.splitlines(keepends=True) if "<weather " in line)
    (problem,) = report(VALID.replace(first + second, second + first)).problems
    assert (problem.line, "out of order" in problem.message) == (5, True)


def test_yaw_in_radians() -> None:
    """A route to the south, with headings of a quarter turn."""
    text = VALID.replace('x="500" y="0"', 'x="0" y="500"')
    for x, yaw in ((100, "0"), (200, "0.5"), (300, "359")):
        text = text.replace(f'x="{x}" y="0" z="0" yaw="{yaw}"', f'x="0" y="{x}" z="0" yaw="1.57"')
    (problem,) = report(text).problems
    assert "are in radians, as it seems" in problem.message
    assert report(text.replace('yaw="1.57"', 'yaw="90"')).problems == ()


def test_a_report_of_very_many_problems_is_cut_and_quick() -> None:
    one = '<scenario name="a{0}" type="Accidentt{0}"><trigger_point x="{0}" y="0" z="0" yaw="0"/></scenario>\n'
    text = changed("<scenarios>", "<scenarios>" + "".join(one.format(number) for number in range(20_000)))
    started = time.process_time()
    found = report(text)
    assert time.process_time() - started < 5.0
    assert (len(found.problems), found.is_cut) == (PROBLEMS_MAX, True)
    assert "1000 problems; more than 1000 problems, the others are not listed" in found.summary(
        survey(text.encode(), "routes.xml")
    )


def test_many_triggers_in_one_place_are_quick() -> None:
    one = '<scenario name="a" type="ControlLoss"><trigger_point x="9.{0:05}" y="0" z="0" yaw="{0}"/></scenario>\n'
    text = changed("<scenarios>", "<scenarios>" + "".join(one.format(number) for number in range(20_000)))
    started = time.process_time()
    assert report(text).is_cut
    assert time.process_time() - started < 5.0


def test_very_many_waypoints_are_quick() -> None:
    one = '<position x="{0}" y="0" z="0"/>\n'
    text = changed("<waypoints>", "<waypoints>" + "".join(one.format(number / 4) for number in range(200_000)))
    text = text.replace('yaw="359"', 'yaw="-1"')
    started = time.process_time()
    assert report(text).problems == ()
    assert time.process_time() - started < 5.0


# ---------------------------------------------------------------- with a map


@pytest.fixture(scope="module")
def city() -> LaneGraph:
    path = embedded_town("city_grid")
    assert path is not None
    return read_lane_graph(path)


def on_the_road(graph: LaneGraph, *, away_m: float = 0.0, turned_deg: float = 0.0, up_m: float = 0.0) -> str:
    """A route along the longest straight lane of the map, and a trigger in the middle of it, moved to the left."""
    straight = [entry for entry in graph.lanes.values() if abs(entry.curvature_1pm).max() < 1e-6]
    lane = max(straight, key=lambda entry: entry.length_m)
    places = [lane.curve.pose_at(part * lane.length_m, d_m) for part, d_m in ((0.1, 0.0), (0.9, 0.0), (0.5, away_m))]
    start, end, trigger = ((float(x), -float(y), -float(yaw) * 57.29577951308232) for x, y, yaw in places)
    z_m = float(lane.points[len(lane.points) // 2, 2]) + up_m
    return f"""<routes><route id="0" town="city_grid"><waypoints>
<position x="{start[0]}" y="{start[1]}" z="0"/>
<position x="{end[0]}" y="{end[1]}" z="0"/></waypoints><scenarios><scenario name="Loss_1" type="ControlLoss">
<trigger_point x="{trigger[0]}" y="{trigger[1]}" z="{z_m}" yaw="{trigger[2] + turned_deg}"/></scenario></scenarios>
</route></routes>"""


@pytest.mark.parametrize(
    ("moved", "words"),
    [
        ({}, None),
        ({"away_m": 1.9}, None),
        ({"turned_deg": -9.5}, None),
        ({"away_m": 2.5}, "Loss_1: the trigger is 2.5 m from the route"),
        ({"away_m": 40.0}, "m from the route; the official code drops it"),
        ({"turned_deg": 10.5}, "Loss_1: the trigger's yaw is 10 degrees off the route's"),
        ({"turned_deg": 180.0}, "the trigger's yaw is 180 degrees off"),
        ({"up_m": 2.5}, "m above the road; the official code drops it"),
    ],
)
def test_triggers_off_the_route(city: LaneGraph, moved: dict[str, float], words: str | None) -> None:
    found = lint(survey(on_the_road(city, **moved).encode(), "routes.xml"), lambda town: city)
    assert found.unchecked_towns == ()
    assert [problem.line for problem in found.problems] == ([] if words is None else [4])
    assert words is None or words in found.problems[0].message


def test_a_waypoint_off_the_road(city: LaneGraph) -> None:
    text = on_the_road(city)
    start = text.splitlines()[1]
    found = lint(
        survey(text.replace(start, '<position x="9000" y="9000" z="0"/>').encode(), "r.xml"), lambda town: city
    )
    assert [(problem.line, problem.message) for problem in found.problems] == [
        (2, "the waypoint (9000.0, 9000.0) is not on a driving lane of city_grid")
    ]


def test_too_many_waypoints_for_the_road(city: LaneGraph) -> None:
    text = on_the_road(city)
    start = text.splitlines()[1]
    (problem,) = lint(survey(text.replace(start, start * 2000).encode(), "r.xml"), lambda town: city).problems
    assert (problem.line, problem.message.split(";")[0]) == (
        1,
        "2001 waypoints are too many to compare the route with the road",
    )


@pytest.mark.parametrize(("one", "other", "error"), [(0, 350, 10), (-180, 180, 0), (90, -90, 180), (725, 0, 5)])
def test_heading_error(one: float, other: float, error: float) -> None:
    assert heading_error_deg(one, other) == pytest.approx(error)


def test_a_town_without_a_map_is_named(data_dir: Path) -> None:
    """The devtest file's town is not at hand, so that its triggers stay unchecked and the report says so."""
    path = data_dir / "routes" / "routes_devtest.xml"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    file = survey(path.read_bytes(), str(path))
    assert "no map of Town12" in lint(file, lambda town: None).summary(file)
