"""Texts that would crash or stop a client are refused with one line before a client gets them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from embedded_carla import maps
from embedded_carla.errors import MapError
from embedded_carla.maps import MapLibrary, build
from embedded_carla.maps.cache import MapCache
from embedded_carla.maps.loader import MapLoader
from embedded_carla.maps.proof import Prover, prove
from tests.embedded_carla.map.handmade_maps import road, town

LATE_OFFSET = '<lanes><laneOffset s="1" a="1" b="0" c="0" d="0"/>'


def _roads(count: int, bad: int) -> str:
    """Parallel roads, one of which makes `carla.Map` segfault."""
    rows = [road(i, y=20.0 * i) for i in range(1, count + 1)]
    rows[bad - 1] = rows[bad - 1].replace("<lanes>", LATE_OFFSET)
    return town(*rows)


def test_the_road_that_crashes_the_wheel_is_named() -> None:
    with Prover() as prover:
        for bad in (1, 17, 40):
            with pytest.raises(MapError) as caught:
                prover.prove("Crash", _roads(40, bad))
            assert str(caught.value) == f"map Crash: road {bad} crashes CARLA's map parser (Segmentation fault)"
        prover.prove("Fine", town(road()))  # the same child goes on


def test_an_error_of_the_wheel_is_told() -> None:
    text = town(road(), road(2, y=50.0).replace('<lane id="-2" type="sidewalk">', '<lane id="-9" type="driving">'))
    with pytest.raises(MapError, match=r"^map Gap: road 2 is refused by CARLA's map parser \(map::at\)$"):
        prove("Gap", text)


def test_a_lane_that_a_route_planner_never_leaves_is_named() -> None:
    """Road 1 ends 15 m beside the start of a ring of roads 2, 3 and 4: no step comes near the edge's end."""
    offset = '<lanes><laneOffset s="0" a="0" b="0" c="0" d="0"/><laneOffset s="{}" a="15" b="0" c="0" d="0"/>'
    rows = []
    for number, before, after, begins in ((1, 0, 2, 90.0), (2, 1, 3, 1e-3), (3, 2, 4, 1e-3), (4, 3, 2, 1e-3)):
        link = f'<successor elementType="road" elementId="{after}" contactPoint="start"/>'
        if before:
            link += f'<predecessor elementType="road" elementId="{before}" contactPoint="end"/>'
        made = road(number, length=100.5 if number == 1 else 100.0, link=link, y=40.0 * number)
        rows.append(made.replace("<lanes>", offset.format(begins)))
    link = '<lane id="-1" type="driving"><link><predecessor id="-1"/><successor id="-1"/></link>'
    text = town(*rows).replace('<lane id="-1" type="driving">', link)
    with pytest.raises(MapError, match=r"^map Loop: road [14] has a lane \(-1\) that a route planner follows for ever"):
        prove("Loop", text)


def test_time_and_memory_are_limited() -> None:
    """No road is named, because no road alone takes so much."""
    roads = [road(i, y=20.0 * i, length=6e4) for i in range(1, 21)]
    with pytest.raises(MapError, match=r"^map Long: it takes CARLA's map parser more than 1 s$"):
        prove("Long", town(*roads), seconds=1.0)
    with pytest.raises(MapError, match=r"^map Large: it takes CARLA's map parser more than 0.13 GiB$"):
        prove("Large", town(*roads[:4]), most_bytes=130 << 20)


def test_a_prover_that_was_killed_is_started_again() -> None:
    with Prover() as prover:
        prover.prove("Fine", town(road()))
        assert prover._process is not None
        prover._process.kill()
        with pytest.raises(MapError, match="map Fine: the process that tests it has ended"):
            prover.prove("Fine", town(road()))
        prover.prove("Fine", town(road()))


def test_the_prover_ends_with_its_parent() -> None:
    script = (
        "import os; from embedded_carla.maps.proof import Prover; p = Prover(); p._started();"
        "print(p._process.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    status = Path(f"/proc/{int(child.stdout)}/stat")
    for _ in range(200):
        if not status.exists() or status.read_text().split(")")[1].split()[0] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("the prover is still there")


def test_a_map_that_is_kept_needs_no_second_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proved: list[str] = []
    monkeypatch.setattr(build, "prove", lambda name, text: proved.append(name))
    (tmp_path / "Hamlet.xodr").write_text(town(road()))
    cache = MapCache(tmp_path / "cache")
    for _ in range(2):
        MapLoader(MapLibrary([tmp_path]), 0, cache).load("Hamlet")
    assert proved == ["Hamlet"]
    monkeypatch.setattr(maps, "OWN_MAPS", tmp_path)
    MapLoader(MapLibrary(), 0, MapCache(tmp_path / "other")).load("Hamlet")
    assert proved == ["Hamlet"]


@pytest.mark.parametrize("name", MapLibrary().names())
def test_our_own_towns_hold(name: str) -> None:
    assert prove(name, MapLibrary().load_text(name)[1]) == ""
