"""The scenery of small maps: surfaces, paint, signals, ground."""

from __future__ import annotations

import carla
import numpy as np
import pytest

from embedded_carla.errors import MapError
from embedded_carla.opendrive import parse
from embedded_carla.opendrive.network import DRIVABLE
from embedded_carla.scene import Material, Mesh, Scenery
from embedded_carla.scenery import build
from embedded_carla.types import SemanticTag
from tests.embedded_carla.map.handmade_maps import road, town


def scenery(*roads: str, extra: str = "", seed: int = 0) -> Scenery:
    return build(parse(town(*roads, extra=extra), "Test"), seed)


def area(meshes: tuple[Mesh, ...], material: Material) -> float:
    """Area seen from above, m^2."""
    total = 0.0
    for mesh in meshes:
        if mesh.material == material:
            a, b, c = np.moveaxis(mesh.vertices[mesh.triangles.astype(int)].astype(float), 1, 0)
            total += 0.5 * float(np.abs(np.cross(b - a, c - a)[:, 2]).sum())
    return total


def test_surfaces_have_the_size_and_height_the_file_says() -> None:
    made = scenery(road(length=100.0))
    assert area(made.meshes, Material.ASPHALT) == pytest.approx(700.0, abs=0.5)
    assert area(made.meshes, Material.PAVEMENT) == pytest.approx(400.0, abs=0.5)
    hit = made.ground.below(np.array([[50.0, 1.0, 0.5], [50.0, 4.5, 0.5], [50.0, -4.5, 0.5], [50.0, 30.0, 5.0]]))
    np.testing.assert_allclose(hit.z[:3], [0.0, 0.15, 0.15], atol=1e-9)
    assert hit.tag.tolist() == [SemanticTag.ROADS, SemanticTag.SIDEWALKS, SemanticTag.SIDEWALKS, SemanticTag.TERRAIN]
    assert hit.road.tolist() == [0, 0, 0, -1]
    faces = [m for m in made.meshes if m.material == Material.KERB]
    assert any(np.any(np.abs(m.normals[:, 2]) < 0.01) for m in faces)  # kerbs have a vertical side


def test_the_frame_is_carlas_left_handed_one() -> None:
    """A road turning left in the file (y up) turns towards -y here."""
    made = scenery(road(length=50.0, shape='<arc curvature="0.02"/>'))
    end = np.concatenate([m.vertices for m in made.meshes if m.material == Material.ASPHALT])[:, 1].min()
    assert end < -15.0


@pytest.mark.parametrize(
    ("mark", "expected_m2"),
    [
        ("none", 0.0),
        ("curb", 0.0),
        ("solid", 12.0),
        ("solid solid", 24.0),
        ("broken", 12.0 * 0.4),
        ("solid broken", 16.8),
    ],
)
def test_only_the_markings_of_the_file_are_painted(mark: str, expected_m2: float) -> None:
    made = scenery(road(length=100.0, mark=mark))
    assert area(made.meshes, Material.MARKING_YELLOW) == pytest.approx(expected_m2, abs=0.3)
    assert area(made.meshes, Material.MARKING_WHITE) == 0.0


def test_a_mark_ends_where_the_next_begins() -> None:
    marks = '<roadMark sOffset="0" type="solid" color="white" width="0.1"/><roadMark sOffset="30" type="none"/>'
    made = scenery(road(length=100.0, right_mark=marks))
    assert area(made.meshes, Material.MARKING_WHITE) == pytest.approx(3.0, abs=0.05)
    white = np.concatenate([m.vertices for m in made.meshes if m.material == Material.MARKING_WHITE])
    np.testing.assert_allclose(white[:, 1].max(), 3.48, atol=1e-3)  # right of the road is +y; clear of the kerb
    assert 0.0 < white[:, 2].min() < 0.02


def test_bridges_are_told_apart_by_height() -> None:
    below = road(1, length=100.0)
    above = road(2, length=100.0, elevation='<elevation s="0" a="6" b="0" c="0" d="0"/>')
    made = scenery(below, above)
    hit = made.ground.below(np.array([[50.0, 0.0, 0.3], [50.0, 0.0, 5.2], [50.0, 0.0, 6.3], [50.0, 0.0, 4.9]]))
    np.testing.assert_allclose(hit.z, [0.0, 6.0, 6.0, 0.0], atol=1e-9)
    assert hit.road.tolist() == [0, 1, 1, 0]
    assert any(p.prototype == "guard_rail" for p in made.placements)


def test_slopes_have_their_normal_and_height() -> None:
    made = scenery(road(elevation='<elevation s="0" a="2" b="0.1" c="0" d="0"/>'))
    hit = made.ground.below(np.array([[40.0, -1.0, 7.0], [40.0, -1.0, 4.0]]))
    assert hit.z[0] == pytest.approx(6.0, abs=1e-6)
    np.testing.assert_allclose(hit.normal[0], np.array([-0.1, 0.0, 1.0]) / np.hypot(0.1, 1.0), atol=1e-9)
    assert np.isnan(hit.z[1])  # two metres under the road there is nothing


def test_terrain_stays_below_a_hilly_road_and_meets_it() -> None:
    hills = "".join(f'<elevation s="{s}" a="0" b="0.08" c="-0.0008" d="0"/>' for s in range(0, 400, 100))
    made = scenery(road(length=400.0, elevation=hills))
    x, y = np.meshgrid(np.arange(1.0, 399.0, 1.0), np.arange(-5.4, 5.5, 0.9))
    points = np.stack([x.ravel(), y.ravel(), np.full(x.size, 50.0)], axis=1)
    surface = made.ground.below(np.column_stack([points[:, :2], np.full(len(points), 3.0)]))
    soil = made.ground.terrain(points[:, :2])[0]  # type: ignore[attr-defined]
    assert np.all(surface.road == 0)
    gap = surface.z - soil
    assert gap.min() > 0.03
    assert np.median(gap) < 0.6


def test_the_same_seed_gives_the_same_scenery() -> None:
    first, again, other = (scenery(road(length=300.0), seed=seed) for seed in (4, 4, 5))
    assert first.placements == again.placements
    assert first.placements != other.placements
    assert all(np.array_equal(a.vertices, b.vertices) for a, b in zip(first.meshes, again.meshes, strict=True))
    assert any(p.prototype == "building" for p in first.placements)


SIGNS = """<signals>
<signal id="7" s="90" t="-4" zOffset="2" orientation="-" dynamic="yes" type="1000001" subtype="-1" value="-1">
<validity fromLane="-1" toLane="-1"/></signal>
<signal id="8" s="20" t="-4.2" zOffset="2" orientation="-" dynamic="no" type="274" subtype="50" value="50" unit="km/h"/>
</signals>"""


def test_a_light_on_its_own_road_has_its_zone_before_it() -> None:
    made = scenery(road(extra=SIGNS), extra='<controller id="3" name=""><control signalId="7" type=""/></controller>')
    light, sign = made.signals
    assert (light.kind, light.controller_id, sign.kind, sign.value) == ("traffic_light", "3", "speed_limit", 50.0)
    (zone,) = light.stop_zones
    np.testing.assert_allclose(zone.centre[:2], (88.25, 1.75), atol=1e-6)
    assert zone.half[1] == pytest.approx(0.95 * 1.75)
    assert zone.yaw_deg == pytest.approx(0.0)
    head = next(p for p in made.placements if p.prototype == "signal_head")
    assert head.signal_id == "7"
    assert abs(abs(head.transform.yaw_deg) - 180.0) < 1e-6  # looks at the traffic that comes along +x
    assert next(p for p in made.placements if p.prototype == "sign_speed").text == "50"


@pytest.mark.parametrize("orientation", ["+", "-", "none"])
def test_a_light_without_validity_governs_the_lanes_that_the_wheel_says(orientation: str) -> None:
    signal = (
        f'<signals><signal id="7" s="50" t="-8" zOffset="2" orientation="{orientation}" dynamic="yes" '
        'type="1000001" subtype="-1" value="-1"/></signals>'
    )
    text = town(road(extra=signal))
    (landmark,) = carla.Map("Test", text).get_all_landmarks()
    spans = landmark.get_lane_validities()
    expected = {lane for lane in (-1, 1) if any(first <= lane <= last for first, last in spans)}
    (site,) = scenery(road(extra=signal)).signals
    assert {-1 if zone.centre[1] > 0.0 else 1 for zone in site.stop_zones} == expected


CROSSING = """<objects><object id="5" name="{name}" type="{kind}" s="50" t="0" zOffset="0" hdg="1.5707963267948966"
orientation="none" length="7" width="3"><outline>{corners}</outline></object></objects>"""


def corners(*uv: tuple[float, float]) -> str:
    return "".join(f'<cornerLocal u="{u}" v="{v}" z="0"/>' for u, v in uv)


def test_crossings_and_stop_lines_are_painted_where_the_file_places_them() -> None:
    zebra = CROSSING.format(
        name="ContinentalCrosswalk",
        kind="crosswalk",
        corners=corners((3.5, 1.5), (3.5, -1.5), (-3.5, -1.5), (-3.5, 1.5)),
    )
    made = scenery(road(extra=zebra))
    assert area(made.meshes, Material.CROSSWALK) == pytest.approx(7 * 0.5 * 3.0, abs=0.1)
    (outline,) = made.crosswalks
    assert np.ptp(outline[:, 0]) == pytest.approx(3.0)
    assert np.ptp(outline[:, 1]) == pytest.approx(7.0)
    line = CROSSING.format(name="StopLine", kind="-1", corners=corners((1.7, 0.0), (-1.7, 0.0)))
    assert area(scenery(road(extra=line)).meshes, Material.MARKING_WHITE) == pytest.approx(3.4 * 0.4, abs=0.01)
    assert area(scenery(road()).meshes, Material.CROSSWALK) == 0.0


def test_a_map_too_wide_to_hold_is_refused_by_name() -> None:
    with pytest.raises(MapError, match="map Test: the map spans 90 km"):
        scenery(road(1), road(2, y=90_000.0))


@pytest.mark.parametrize("kind", sorted(DRIVABLE - {"driving"}))
def test_vehicles_are_spawned_where_get_waypoint_finds_a_lane(kind: str) -> None:
    """Vehicles may drive on other kinds of lanes, but clients and the TrafficManager do not look for them."""
    text = town(road(length=120.0)).replace('<lane id="1" type="driving">', f'<lane id="1" type="{kind}">')
    points = build(parse(text, "Test")).spawn_points
    town_map = carla.Map("Test", text)
    places = [carla.Location(point.x, point.y, point.z) for point in points]
    assert len(places) == 12
    assert all(town_map.get_waypoint(place, project_to_road=False) for place in places)


@pytest.mark.parametrize("pavement_m", [0.3, 1.0, 2.0])
def test_lamps_stay_clear_of_the_lanes_beside_narrow_pavements(pavement_m: float) -> None:
    text = town(road(length=200.0)).replace('type="sidewalk"><width sOffset="0" a="2"',
                                            f'type="sidewalk"><width sOffset="0" a="{pavement_m}"')  # fmt: skip
    made = build(parse(text, "Test"))
    posts = [p.transform for p in made.placements if p.prototype == "street_lamp"]
    assert len(posts) == len(made.lamps) > 8
    assert np.abs(made.lamps[:, 1]).min() > 4.0  # the lanes end at 3.5
    assert min(abs(post.y) for post in posts) > 4.0
