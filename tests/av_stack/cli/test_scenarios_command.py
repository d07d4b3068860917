"""What `av-stack scenarios lint`, `types` and `place` print, and their status."""

from __future__ import annotations

from pathlib import Path

from av_stack.server_process import embedded_map_files, embedded_town
from scenarios.leaderboard.types import TYPES
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.scenarios.leaderboard.route_text import VALID, changed

SUMMARY = "triggers not compared with the road: no map of Town99 (--maps DIR)"


def written(folder: Path, text: str) -> str:
    path = folder / "routes.xml"
    path.write_text(text)
    return str(path)


def test_a_good_file(tmp_path: Path) -> None:
    path = written(tmp_path, VALID)
    done = av_stack("scenarios", "lint", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{path}: 1 route, 3 scenarios, 0 problems; {SUMMARY}\n"


def test_a_problem_is_one_line_and_status_1(tmp_path: Path) -> None:
    path = written(tmp_path, changed('value="left"', 'value="[bold]up\u009b31m"'))
    done = av_stack("scenarios", "lint", path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        f"{path}:15: direction of Accident: '[bold]up\\x9b31m' is not allowed; expected one of left, right",
        f"{path}: 1 route, 3 scenarios, 1 problem; {SUMMARY}",
    ]


def test_triggers_are_compared_with_the_road_of_a_map(tmp_path: Path) -> None:
    city = embedded_town("city_grid")
    assert city is not None
    path = written(tmp_path, VALID.replace("Town99", "city_grid"))
    done = av_stack("scenarios", "lint", path, "--maps", str(city.parent))
    assert done.returncode == 1
    assert "is not on a driving lane of city_grid" in done.stdout
    assert "not compared" not in done.stdout


def test_files_that_are_no_routes_end_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, "<OpenDRIVE/>")
    assert f"{path}:1: this is an OpenDRIVE map" in complaint(av_stack("scenarios", "lint", path))
    assert "No such file" in complaint(av_stack("scenarios", "lint", str(tmp_path / "nowhere.xml")))


def test_types_are_listed() -> None:
    done = av_stack("scenarios", "types")
    assert done.returncode == 0
    assert all(name[:15] in done.stdout for name in TYPES)


def test_places_are_listed_and_written(tmp_path: Path) -> None:
    out = tmp_path / "places.xml"
    done = av_stack("scenarios", "place", "T_Junction", "--map", "country_road", "--out", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("T_Junction") == 2
    assert done.stdout.splitlines()[-1] == f"2 routes in {out}"
    checked = av_stack("scenarios", "lint", str(out), "--maps", str(embedded_map_files()["country_road"].parent))
    assert checked.stdout == f"{out}: 2 routes, 2 scenarios, 0 problems\n"


def test_a_map_without_a_place_is_one_line_and_status_1() -> None:
    done = av_stack("scenarios", "place", "StaticCutIn", "--map", str(embedded_map_files()["country_road"]))
    assert (done.returncode, done.stderr) == (1, "")
    assert "-      StaticCutIn  none            country_road has no road with another lane of" in done.stdout
    assert done.stdout.count("\n") == 2


def test_bad_arguments_of_place_end_in_one_line(tmp_path: Path) -> None:
    assert "unknown type 'Acident'" in complaint(av_stack("scenarios", "place", "Acident", "--map", "city_grid"))
    assert "unknown map 'Town99'" in complaint(av_stack("scenarios", "place", "all", "--map", "Town99"))
    assert "No such file" in complaint(av_stack("scenarios", "place", "all", "--map", "nowhere.xodr"))
    out = str(tmp_path / "no" / "places.xml")
    assert "no such folder" in complaint(av_stack("scenarios", "place", "all", "--map", "city_grid", "--out", out))
