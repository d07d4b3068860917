"""Broken maps are refused by name or mended before `carla.Map` sees them."""

from __future__ import annotations

from pathlib import Path

import carla
import pytest

from embedded_carla.errors import MapError
from embedded_carla.maps import MapLibrary
from embedded_carla.opendrive import parse
from tests.embedded_carla.map.handmade_maps import road, town

JUMP = '<geometry s="50" x="5000" y="0" hdg="0" length="50"><line/></geometry></planView>'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("hello", "not XML"),
        (town(road())[:400], "truncated"),
        ("<OpenDRIVE><road</OpenDRIVE>", "not well-formed XML"),
        ("<svg/>", "<svg>"),
        (town(), "no drivable lane"),
        (town(road().replace('type="driving"', 'type="border"')), "no drivable lane"),
        (town(road(), road()), "two roads have the id 1"),
        (town(road(length=0.0)), "road 1 has no length"),
        (town(road().replace('hdg="0"', 'hdg="north"')), "hdg='north' is not a number"),
        (town(road().replace('x="0"', "")), "has no x"),
        (town(road(shape="<bezier/>")), "has no shape"),
        (town(road().replace("<lanes>", "<lanes/><lanes>")), "road 1 has more than one <lanes>"),
        (town(road(kind='<type s="0" type="town"><speed max="5" unit="knots"/></type>')), "knots"),
        (town(road(length=1.5e6)), "road 1 reaches more than 1000 km from the origin"),
        (town(road().replace("</planView>", JUMP)), "road 1 jumps by"),
        (town(road(elevation='<elevation s="0" a="0" b="1e6" c="0" d="0"/>')), "reaches a height of more than 100 km"),
        (town(road().replace('a="3.5" b="0"', 'a="3.5" b="1e3"')), "road 1 is wider than 1000 m"),
        (town(road(), road(2, y=1e5), road(3).replace('x="0"', 'x="1e5"')), "100 km by 100 km, which is too large"),
    ],
)
def test_a_broken_map_is_refused_in_one_line(text: str, why: str) -> None:
    with pytest.raises(MapError) as caught:
        parse(text, "Brokenville")
    assert "map Brokenville" in str(caught.value)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_clean_map_is_handed_on_byte_for_byte() -> None:
    text = town(road())
    network = parse(text, "Clean")
    assert network.xodr_text is text
    assert network.repairs == ()
    assert network.geo == (49.5, 8.25)


def test_links_to_nothing_and_empty_connecting_roads_are_removed() -> None:
    link = '<successor elementType="junction" elementId="9"/>'
    junction = (
        '<junction id="9" name=""><connection id="0" incomingRoad="1" connectingRoad="2" contactPoint="start">'
        '<laneLink from="-1" to="-1"/></connection></junction>'
    )
    network = parse(town(road(link=link), road(2, length=0.0, junction=9), extra=junction), "Gaps")
    assert list(network.roads) == [1]
    assert network.junctions[9].connections == ()
    assert len(carla.Map("m", network.xodr_text).generate_waypoints(10.0)) > 10


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("", 30.0),
        ('<type s="0" type="motorway"/>', 120.0),
        ('<type s="0" type="town"><speed max="25" unit="mph"/></type>', 40.2336),
        ('<type s="0" type="town"><speed max="50" unit="km/h"/></type>', 50.0),
        ('<type s="0" type="town"><speed max="10"/></type>', 36.0),
    ],
)
def test_speed_limits_come_in_kmh(kind: str, limit: float) -> None:
    assert parse(town(road(kind=kind)), "Fast").roads[1].speed_kmh == pytest.approx(limit)


@pytest.mark.parametrize("kept", ["", "+proj=tmerc +lat_0=10"])
def test_without_a_readable_origin_the_map_lies_where_the_wheel_puts_it(kept: str) -> None:
    text = town(road()).replace("+proj=tmerc +lat_0=49.5 +lon_0=8.25 +k=1", kept)
    origin = carla.Map("Nowhere", text).transform_to_geolocation(carla.Location())
    assert parse(text, "Nowhere").geo == pytest.approx((origin.latitude, origin.longitude))


def test_the_library_finds_maps_by_any_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "Hamlet.xodr").write_text(town(road()))
    library = MapLibrary([tmp_path])
    assert "Hamlet" in library.names()
    for name in (
        "Hamlet",
        "Hamlet_Opt",
        "/Game/Carla/Maps/Hamlet",
        "Carla/Maps/Hamlet_Opt",
        str(tmp_path / "Hamlet.xodr"),
    ):
        called = "Hamlet_Opt" if name.endswith("_Opt") else "Hamlet"
        assert library.load_text(name) == (called, town(road()))
    with pytest.raises(MapError, match=r"unknown map 'Atlantis'.*Hamlet"):
        library.load_text("Atlantis")
    with pytest.raises(MapError, match="cannot be read"):
        library.load_text(library.add_file(tmp_path / "none.xodr"))
    with pytest.raises(MapError, match="does not exist"):
        MapLibrary([tmp_path / "nowhere"])
