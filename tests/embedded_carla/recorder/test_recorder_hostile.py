"""A replay of a damaged recording ends with an error, or plays; the world goes on either way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.maps import MapLibrary
from embedded_carla.maps.loader import MapLoader
from embedded_carla.recorder.cast import MAX_ACTORS
from embedded_carla.recorder.format import RecordingError
from embedded_carla.recorder.packets import ActorsAdded, FrameEnd, FrameStart, Header, Packet, PacketId
from embedded_carla.recorder.replayer import Request
from embedded_carla.simulation import Simulation
from embedded_carla.wire.streaming import StreamHub
from embedded_carla.world import spawning
from tests.embedded_carla.recorder.recordings import CAR, CAR_TYPE, STEP_S, actor, drive_bytes, pack_file, rows

FRAMES = 6


@pytest.fixture(scope="module")
def simulation(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    loader = MapLoader(MapLibrary(), 0)
    return Simulation(loader, StreamHub(lambda _: None), 0, "city_grid", 0, recordings=tmp_path_factory.mktemp("r"))


def _play(simulation: Simulation, path: Path) -> None:
    try:
        simulation.replayer.play(Request(path), simulation.episode)
    except EmbeddedCarlaError:
        assert not simulation.replayer.is_on
    for _ in range(FRAMES + 2):
        simulation.advance(STEP_S)
    simulation.replayer.stop(keep=False)
    simulation.advance(STEP_S)
    records = simulation.episode.table.vehicles[: len(simulation.episode.table)]
    assert np.isfinite(records["location"]).all()
    assert np.isfinite(records["rotation"]).all()


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_the_world_survives_a_damaged_recording(simulation: Simulation, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(drive_bytes(FRAMES))
    for _ in range(data.draw(st.integers(1, 8), "changes")):
        content[data.draw(st.integers(34, len(content) - 1), "where")] = data.draw(st.integers(0, 255), "what")
    path = tmp_path / "damaged.log"
    path.write_bytes(content)
    before = {a.actor_id for a in simulation.episode.actors}
    _play(simulation, path)
    left = {a.actor_id for a in simulation.episode.actors} - before  # a replay that came to its end leaves its actors
    assert len(left) <= 3
    assert all(spawning.destroy(simulation.episode, number) for number in left)


def _one_frame(*packets: Packet) -> bytes:
    frame = [FrameStart(1, -1.0, 0.0), *packets, FrameEnd()]
    return pack_file(Header(1, 0, "city_grid"), frame)


def test_places_that_are_no_numbers_are_refused(simulation: Simulation, tmp_path: Path) -> None:
    path = tmp_path / "nan.log"
    added = ActorsAdded((actor(CAR, CAR_TYPE, 1),))
    for x in (float("nan"), float("inf"), 1e30):
        path.write_bytes(_one_frame(added, rows(PacketId.POSITIONS, (CAR, (x, 0.0, 0.0), (0.0, 0.0, 0.0)))))
        with pytest.raises(RecordingError, match="no finite place"):
            simulation.replayer.play(Request(path), simulation.episode)
        path.write_bytes(_one_frame(ActorsAdded((actor(CAR, CAR_TYPE, 1, x),))))
        with pytest.raises(RecordingError, match="no finite place"):
            simulation.replayer.play(Request(path), simulation.episode)
        assert simulation.episode.actors.find(CAR) is None


def test_more_actors_than_any_world_has_are_refused(simulation: Simulation, tmp_path: Path) -> None:
    path = tmp_path / "crowd.log"
    props = tuple(actor(10_000 + i, "static.prop.box01", 0) for i in range(MAX_ACTORS + 1))
    path.write_bytes(_one_frame(ActorsAdded(props)))
    before = len(simulation.episode.actors)
    with pytest.raises(RecordingError, match=f"more than {MAX_ACTORS} actors"):
        simulation.replayer.play(Request(path), simulation.episode)
    assert len(simulation.episode.actors) == before


def test_absurd_ids_do_not_exhaust_the_numbers(simulation: Simulation, tmp_path: Path) -> None:
    path = tmp_path / "ids.log"
    path.write_bytes(_one_frame(ActorsAdded((actor(0xFFFFFFFF, CAR_TYPE, 1),))))
    simulation.replayer.play(Request(path), simulation.episode)
    assert next(simulation.episode.actor_ids) < 2**31
    simulation.replayer.stop(keep=False)
