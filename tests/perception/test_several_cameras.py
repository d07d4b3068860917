"""Road users that several cameras see, one after the other or at once: made boxes, as the full rig would show them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.frames import vehicle_to_image
from av_core.types import (
    CameraDetections,
    CameraImage,
    CameraModel,
    Detection,
    EgoState,
    LaneEstimate,
    ObjectKind,
    Stamp,
    TrackedObject,
)
from perception.depth.ground import PitchFilter
from perception.depth.ranging import SIZES, range_objects
from perception.objects import ObjectPerception
from perception.tracking.tracker import Tracker
from sim_configs.load import load_rig
from tests.perception.depth.test_ranging import box_of
from tests.perception.simulated_drives import straight_ahead

RIG = load_rig("full").cameras
DT_S, EGO_MPS = 0.05, 10.0
Place = tuple[float, float]
Box = tuple[float, float, float, float]


def box_in(camera: CameraModel, at: Place) -> Box | None:
    """The box of what the picture shows of a car that heads as the ego does, a body with wheels and roof where `Size`
    says they are; None where that is too little to be detected."""
    size = SIZES[ObjectKind.CAR]
    layers = (size.length_m, 0.5), (size.length_m - 2.0 * size.stand_m, 0.0), (size.length_m - 2.0 * size.roof_m, 1.0)
    body = [
        [at[0] + length * along, at[1] + size.width_m * across, size.height_m * up]
        for length, up in layers
        for along in np.linspace(-0.5, 0.5, 25)
        for across in (-0.5, 0.5)
    ]
    pixels, depth = vehicle_to_image(body, camera)
    shown = pixels[depth > 0.2]
    if not len(shown):
        return None
    u0, v0 = np.maximum(shown.min(axis=0), -0.5).tolist()
    u1, v1 = np.minimum(shown.max(axis=0), [camera.width_px - 0.5, camera.height_px - 0.5]).tolist()
    return (u0, v0, u1, v1) if min(u1 - u0, v1 - v0) >= 8.0 else None


class Drive:
    """An ego that drives straight on at `EGO_MPS` and sees boxes alone."""

    def __init__(self, cameras: Sequence[CameraModel] = RIG) -> None:
        self._sense, self._cameras, self._frame = ObjectPerception(use_parallax=False), cameras, 0
        self._blank = {one.name: np.full((one.height_px, one.width_px, 3), 90, dtype=np.uint8) for one in cameras}
        self._rng = np.random.default_rng(0)

    def see(self, places: Sequence[Place], blind: str = "") -> tuple[TrackedObject, ...]:
        """The tracks, their places in the vehicle frame, when cars stand at `places` of that frame; `blind` names a
        camera of which nothing is believed."""
        stamp = Stamp(self._frame, self._frame * DT_S)
        self._frame += 1
        way_m = EGO_MPS * stamp.time_s
        ego = EgoState(stamp, way_m, 0.0, 0.0, EGO_MPS, 0.0, 0.0, np.eye(4) * 1e-4)
        frame = straight_ahead(stamp, EGO_MPS)
        (image, found), *others = [self._detections(camera, places, stamp) for camera in self._cameras]
        trusted = [None if other[0].camera.name == blind else other for other in others]
        lanes = LaneEstimate(stamp, None, None)
        seen = self._sense.update(None if blind == "front" else image, ego, frame, lanes, found, trusted)
        return tuple(replace(track, x_m=track.x_m - way_m) for track in seen.tracked)

    def _detections(self, camera: CameraModel, places: Sequence[Place], stamp: Stamp) -> CameraDetections:
        boxes = [box for at in places if (box := box_in(camera, at)) is not None]
        jittered = [np.array(box) + self._rng.normal(0.0, 0.5, 4) for box in boxes]
        limits = [camera.width_px - 0.5, camera.height_px - 0.5] * 2
        cut = [np.clip(box, -0.5, limits).tolist() for box in jittered]
        found = [Detection("car", (u0, v0, u1, v1), 0.9) for u0, v0, u1, v1 in cut]
        return CameraImage(stamp, camera, self._blank[camera.name]), found


def test_the_rig_sees_all_round() -> None:
    seen_by = {
        at: [camera.name for camera in RIG if box_in(camera, at) is not None]
        for at in ((40.0, 0.0), (8.0, 3.5), (1.5, 3.5), (1.5, -3.5), (-6.0, 0.0))
    }
    assert seen_by[40.0, 0.0] == ["front", "front_narrow"]
    assert seen_by[8.0, 3.5] == ["front"]
    assert seen_by[1.5, 3.5] == ["left"]
    assert seen_by[1.5, -3.5] == ["right"]
    assert seen_by[-6.0, 0.0] == ["rear"]


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("relative_mps", [4.0, -4.0])
def test_who_passes_beside_keeps_its_identity_from_camera_to_camera(side: float, relative_mps: float) -> None:
    """From 25 m behind to 35 m ahead in the next lane, or the other way round: rear, side and front camera."""
    drive, ids, errors, speeds = Drive(), set[int](), [], []
    from_m, to_m = (-25.0, 35.0) if relative_mps > 0.0 else (35.0, -25.0)
    steps = round((to_m - from_m) / (relative_mps * DT_S))
    for step in range(steps):
        x, y = from_m + relative_mps * step * DT_S, 3.5 * side
        tracks = drive.see([(x, y)])
        if step < 20:
            continue
        assert len(tracks) == 1, f"at {x:.1f} m: {[(round(t.x_m, 1), round(t.y_m, 1)) for t in tracks]}"
        ids.add(tracks[0].track_id)
        errors.append(math.hypot(tracks[0].x_m - x, tracks[0].y_m - y))
        speeds.append(tracks[0].velocity_mps[0] - EGO_MPS - relative_mps)
    assert len(ids) == 1
    assert np.median(errors) < 0.8
    assert max(errors) < 2.5
    assert float(np.sqrt(np.mean(np.square(speeds)))) < 1.5


def test_what_two_cameras_see_is_one_road_user_and_no_surer_for_it() -> None:
    both, single = Drive(), Drive(RIG[:1])
    for step in range(40):
        tracks, alone = both.see([(40.0, 0.5)]), single.see([(40.0, 0.5)])
        assert len(tracks) == len(alone) == (0 if step < 2 else 1)  # given out after as many pictures
    assert tracks[0].confidence == pytest.approx(alone[0].confidence)
    assert tracks[0].box_px is not None
    assert alone[0].box_px is not None
    np.testing.assert_allclose(tracks[0].box_px, alone[0].box_px, atol=4.0)  # the first camera's
    assert tracks[0].covariance is not None
    assert alone[0].covariance is not None
    assert np.linalg.det(tracks[0].covariance[:2, :2]) > 0.1 * np.linalg.det(alone[0].covariance[:2, :2])


def test_what_a_camera_does_not_show_is_not_missed_by_it() -> None:
    """A car behind that only the rear camera shows, for much longer than a track outlives its last sighting."""
    drive = Drive()
    for step in range(100):
        tracks = drive.see([(-12.0, 0.0)])
        assert [track.box_px for track in tracks] == ([] if step < 2 else [None])  # not in the first camera
    assert (tracks[0].x_m, tracks[0].y_m) == pytest.approx((-12.0, 0.0), abs=1.0)


@pytest.mark.parametrize(("blind", "left"), [("rear", [30.0]), ("front_narrow", [30.0, -12.0])])
def test_a_camera_that_is_not_believed_shows_nothing(blind: str, left: list[float]) -> None:
    """What it alone showed ends in its time; the others' goes on."""
    drive, places = Drive(), [(30.0, 0.0), (-12.0, 0.0)]
    for step in range(60):
        tracks = drive.see(places, blind if step >= 20 else "")
    assert sorted(round(track.x_m, -1) for track in tracks) == sorted(round(x, -1) for x in left)


def test_others_go_on_seeing_when_the_camera_ahead_does_not() -> None:
    drive, places = Drive(), [(40.0, 0.0), (1.5, 3.6)]
    for step in range(60):
        tracks = drive.see(places, "front" if step >= 20 else "")
    assert len(tracks) == 2
    assert all(track.box_px is None for track in tracks)


def test_cars_all_round_are_each_one_track() -> None:
    drive, places = Drive(), [(30.0, 0.0), (12.0, 4.0), (1.0, -3.6), (-14.0, 0.0), (-20.0, 3.5), (55.0, 3.5)]
    for _ in range(30):
        tracks = drive.see(places)
    assert len(tracks) == len(places)
    for at in places:
        assert min(math.hypot(track.x_m - at[0], track.y_m - at[1]) for track in tracks) < 0.07 * math.hypot(*at) + 0.6


@settings(max_examples=40, deadline=None)
@given(
    heading_deg=st.floats(-180.0, 180.0),
    x=st.floats(6.0, 40.0),
    aside=st.floats(-0.5, 0.5),
    turn_rad=st.floats(-3.1, 3.1),
    kind=st.sampled_from(list(ObjectKind)),
)
def test_ranging_is_the_same_whichever_way_the_camera_looks(
    heading_deg: float, x: float, aside: float, turn_rad: float, kind: ObjectKind
) -> None:
    ahead = CameraModel("ahead", 640, 360, math.radians(90.0), 0.0, 0.0, 1.5, math.radians(2.0))
    turned = replace(ahead, yaw_rad=math.radians(heading_deg))
    found = [Detection(kind.value, box_of(x, aside * x, turn_rad, kind, ahead), 0.9)]
    here, there = range_objects(found, ahead, 0.002), range_objects(found, turned, 0.002)
    assert len(here) == len(there)
    c, s = math.cos(turned.yaw_rad), math.sin(turned.yaw_rad)
    turn = np.array([[c, -s], [s, c]])
    for one, other in zip(here, there, strict=True):
        np.testing.assert_allclose([other.x_m, other.y_m], turn @ [one.x_m, one.y_m], atol=1e-8)
        np.testing.assert_allclose(other.covariance, turn @ one.covariance @ turn.T, atol=1e-8)
        assert other.near_m == pytest.approx(one.near_m)
        if one.yaw_rad is not None:
            assert other.yaw_rad is not None
            assert math.remainder(other.yaw_rad - one.yaw_rad - turned.yaw_rad, 2.0 * math.pi) == pytest.approx(
                0.0, abs=1e-8
            )


@pytest.mark.parametrize("camera", RIG, ids=lambda camera: camera.name)
def test_the_bodys_pitch_tilts_each_camera_its_own_way(camera: CameraModel) -> None:
    """What is level beside the car stays level when it nods; ahead the road rises, behind it sinks."""
    pitch = PitchFilter()
    pitch.update(0.05, 0.4, None, camera)
    nod = pitch.pitch_rad
    assert nod > 0.01
    level, nodding = camera, pitch.camera(camera)
    c, s = math.cos(nod), math.sin(nod)
    body = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])  # nose down about y
    eye = np.array([camera.x_m, camera.y_m, camera.z_m])
    ray = np.array([math.cos(camera.yaw_rad + 0.1), math.sin(camera.yaw_rad + 0.1), -0.2]) * 20.0
    true, _ = vehicle_to_image(eye + body.T @ ray, level)
    told, _ = vehicle_to_image(eye + ray, nodding)
    np.testing.assert_allclose(
        told, true, atol=0.02 * math.hypot(*(true - vehicle_to_image(eye + ray, level)[0])) + 0.2
    )


def test_too_many_cameras_are_refused() -> None:
    ego = EgoState(Stamp(0, 0.0), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.eye(4))
    with pytest.raises(ValueError, match="9 cameras"):
        Tracker().update(ego, *[()] * 9)
