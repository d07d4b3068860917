"""Route files are read as they are written; hostile and broken ones end in one line that names file and line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.errors import ConfigError
from scenarios.leaderboard.lint import lint
from scenarios.leaderboard.route_xml import read_routes, survey
from scenarios.leaderboard.routes import Interval, Location
from scenarios.leaderboard.routes import RouteFile as File
from scenarios.leaderboard.xml_elements import BYTES_MAX, ELEMENTS_MAX
from tests.scenarios.leaderboard.route_text import VALID, changed, route_files, write

SECONDS_MAX = 5.0


def refusal(tmp_path: Path, content: str | bytes) -> str:
    path = tmp_path / "routes.xml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    started = time.process_time()
    with pytest.raises(ConfigError) as refused:
        read_routes(path)
    assert time.process_time() - started < SECONDS_MAX
    message = str(refused.value)
    assert "\n" not in message
    assert message.startswith(f"{path}:")
    return message.removeprefix(f"{path}:")


@given(route_files())
@settings(max_examples=150, deadline=None)
def test_random_routes_are_read_as_they_were_written(file: File) -> None:
    assert survey(write(file).encode(), "routes.xml") == file


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_mutated_files_never_end_in_a_traceback(data: st.DataObject) -> None:
    """Bytes are cut out, repeated, replaced; whole parts of the file swap places."""
    content = bytearray(VALID.encode())
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(content)))
        end = min(start + data.draw(st.integers(0, 60)), len(content))
        piece = data.draw(
            st.sampled_from([b"", b"<", b'"', b"nan", b"-1e999", b"<a>", b"&amp;", b"]]>", b"\x00", b"\xff", b"<!--"])
            | st.binary(max_size=8)
            | st.just(bytes(content[start:end]) * 2)
        )
        content[start:end] = piece
    started = time.process_time()
    try:
        problems = lint(survey(bytes(content), "routes.xml"), lambda town: None).problems
        lines = [problem.message for problem in problems]
    except ConfigError as error:
        lines = [str(error).removeprefix("routes.xml:")]
    assert all("\n" not in line and not line.startswith("routes.xml") for line in lines)
    assert time.process_time() - started < SECONDS_MAX


def test_values_lines_and_shapes() -> None:
    (route,) = survey(VALID.encode(), "routes.xml").routes
    assert (route.route_id, route.town, route.line) == ("0", "Town99", 2)
    assert [row.line for row in route.weather] == [4, 5]
    assert [waypoint.line for waypoint in route.waypoints] == [8, 9]
    accident, parked, enter = route.scenarios
    assert (accident.line, accident.trigger.line, accident.trigger.x_m) == (12, 13, 100.0)
    assert [(entry.name, entry.value, entry.line) for entry in accident.parameters] == [
        ("distance", 60.0, 14),
        ("direction", "left", 15),
        ("speed", 50.0, 16),
    ]
    frequency, start = parked.parameter("frequency"), enter.parameter("start_actor_flow")
    assert frequency is not None
    assert frequency.value == Interval(20.0, 60.0)
    assert start is not None
    assert start.value == Location(310.0, 5.0, 0.0)


def test_a_line_is_where_its_element_begins() -> None:
    text = changed('<position x="500" y="0" z="0"/>', '<position\n x="500"\n y="0"\n z="0"/>')
    assert survey(text.encode(), "routes.xml").routes[0].waypoints[1].line == 9


BOMB = (
    '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
    + "]>\n<routes>&j;</routes>"
)
XXE = '<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><routes>&x;</routes>'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (BOMB, "1: a document type declaration (<!DOCTYPE) is not allowed"),
        (XXE, "2: a document type declaration (<!DOCTYPE) is not allowed"),
        (XXE.encode("utf-16"), "2: a document type declaration (<!DOCTYPE) is not allowed"),
        ('<?xml version="1.0" encoding="utf-7"?><routes/>', "1: not XML in UTF-8"),
        ('<?xml version="1.0" encoding="nothing"?><routes/>', "1: not XML in UTF-8"),
        ("", "1: the file is empty"),
        (" " * (BYTES_MAX + 1), "1: larger than 16 MiB"),
        ("<routes>" + "<a/>" * ELEMENTS_MAX + "</routes>", "1: more than 300000 elements"),
        ("<routes>" + "<a>" * 100_000, "1: nested more than 20 levels deep"),
        ("<routes>\n<route>\n", "3: not well-formed XML"),
        ("<routes>\n&x;</routes>", "2: not well-formed XML: undefined entity"),
        ("<routes/>", "1: <routes> has no <route>; expected one or more"),
        ('<?xml version="1.0"?>\n<OpenDRIVE/>', "2: this is an OpenDRIVE map (.xodr); expected a Leaderboard 2"),
        ("<OpenSCENARIO/>", "1: this is an OpenSCENARIO 1 scenario (.xosc); expected"),
        ('<scenarios><scenario name="a"/></scenarios>', "1: this is a configuration of single scenarios for scenario_"),
        ('<routes>\n<route id="0"><waypoint x="1"/></route></routes>', "2: this is a Leaderboard 1 route"),
        ('{"available_scenarios": []}', "1: this is JSON, as Leaderboard 1 has"),
        ("import osc.standard", "1: this is an OpenSCENARIO 2 scenario (.osc)"),
        ("name: town_drive", "1: this is not XML"),
        ("<html/>", "1: the root element is <html>; expected a Leaderboard 2 route file"),
        (changed(' town="Town99"', ""), '2: <route> has no town; expected town="…"'),
        (changed('x="500" ', ""), '9: <position> has no x; expected x="number"'),
        (changed('x="500"', 'x="5oo"'), "9: x of <position>: '5oo' is not allowed; expected a number from -100000"),
        (changed('x="500"', 'x="nan"'), "9: x of <position>: nan is not allowed"),
        (changed('      <position x="500" y="0" z="0"/>\n', ""), "2: the route has fewer than two <position>"),
        (changed(' yaw="0.5"', ""), '19: <trigger_point> has no yaw; expected yaw="number"'),
        (
            changed('        <trigger_point x="200" y="0" z="0" yaw="0.5"/>\n', ""),
            "18: the scenario has no <trigger_poi",
        ),
        (
            changed('<frequency from="20" to="60"/>', '<frequency value="20"/>'),
            '20: <frequency value="…"/> has the wron',
        ),
        (changed('<distance value="60"/>', '<distance from="1" to="2"/>'), 'expected <distance value="number"/>'),
        (changed('percentage="100"', 'percentage="0"'), "5: route_percentage 0 is repeated (first in line 4)"),
        (
            changed("<scenarios>", "<scenario>").replace("</scenarios>", "</scenario>"),
            "2: the route has no <scenarios>",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) and len(value) < 200 else "file",
)
def test_each_file_is_refused_in_one_line(tmp_path: Path, content: str | bytes, words: str) -> None:
    assert words in refusal(tmp_path, content)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.xml: No such file or directory"):
        read_routes(tmp_path / "nowhere.xml")


def test_the_official_devtest_file_is_read(data_dir: Path) -> None:
    path = data_dir / "routes" / "routes_devtest.xml"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    file = read_routes(path)
    assert [(route.route_id, route.town) for route in file.routes] == [("0", "Town12"), ("1", "Town12")]
    assert len(file.routes[0].waypoints) == 35
    assert file.routes[0].scenarios[0].type == "ParkingExit"
    assert lint(file, lambda town: None).problems == ()
