"""Calls that no honest client makes: each is answered with an error that names what is wrong, and changes nothing."""

from __future__ import annotations

import contextlib
import math
import socket
import struct
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from embedded_carla import handlers
from embedded_carla.errors import MapError, ProtocolError
from embedded_carla.maps import MapLibrary, build_apart
from embedded_carla.maps.loader import MapLoader
from embedded_carla.server import MOST_WAITING
from embedded_carla.simulation import LISTENER_WAIT_S, Simulation
from embedded_carla.wire import rpc
from embedded_carla.wire.streaming import StreamHub
from embedded_carla.world import spawning
from embedded_carla.world.debug import MOST_SHAPES
from tests.embedded_carla.conftest import ServerProcess
from tests.embedded_carla.fuzz.findings import FAULT
from tests.embedded_carla.fuzz.maps import BOMB, EXTERNAL, road, town

NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return Simulation(MapLoader(MapLibrary(), 0), StreamHub(lambda _: None), 2001, "country_road", 0)


def call(simulation: Simulation, method: str, *args: Any) -> Any:
    """The result; an uncaught exception of the server's own fails the test."""
    answer = msgpack.unpackb(handlers.answer(simulation, rpc.Call(1, method, list(args))))
    assert answer[2] is None, answer[2]
    return answer[3]


def refusal(simulation: Simulation, method: str, *args: Any) -> str:
    """The message with which the call is refused."""
    match call(simulation, method, *args):
        case [[0, [str(message)]]] | [[True, [str(message)]]]:
            return message
        case accepted:
            raise AssertionError(f"{method} accepted {args!r:.100}: {accepted!r:.100}")


@pytest.fixture(scope="module")
def car(simulation: Simulation) -> int:
    point = simulation.map.scenery.spawn_points[0]
    pose = [list(point.location), [point.pitch_deg, point.yaw_deg, point.roll_deg]]
    [[_, actor]] = call(simulation, "spawn_actor", [1, "vehicle.audi.tt", []], pose)
    return int(actor[0])


def state(simulation: Simulation) -> bytes:
    return simulation.episode.snapshot(0.0, 0.05, map_changed=False)


@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e300, "1", None, []])
def test_no_number_that_is_none_moves_anything(simulation: Simulation, car: int, bad: Any) -> None:
    before = state(simulation)
    vector = [0.0, bad, 0.0]
    for method in ("set_actor_location", "set_actor_target_velocity", "set_actor_target_angular_velocity",
                   "add_actor_impulse", "add_actor_force", "add_actor_torque", "add_actor_angular_impulse",
                   "enable_actor_constant_velocity"):  # fmt: skip
        assert refusal(simulation, method, car, vector)
    assert refusal(simulation, "set_actor_transform", car, [[0.0, 0.0, 0.0], vector])
    assert refusal(simulation, "apply_control_to_vehicle", car, [bad, 0.0, 0.0, False, False, False, 0])
    assert refusal(simulation, "apply_ackermann_control_to_vehicle", car, [0.0, 0.0, bad, 0.0, 0.0])
    assert refusal(simulation, "set_weather_parameters", [bad] * 14)
    assert refusal(simulation, "set_imui_gravity", bad)
    assert refusal(simulation, "cast_ray", vector, [0.0, 0.0, 0.0])
    [answer] = call(simulation, "apply_batch", [[[6, [car, [vector, [0.0, 0.0, 0.0]]]]]], False)
    assert answer[0][0] == 0
    assert state(simulation) == before


@pytest.mark.parametrize(
    ("at", "value", "named"),
    [((11,), 0.0, "mass"), ((11,), NAN, "mass"), ((12,), -1.0, "drag"), ((15, 0, 3), 0.0, "radius"),
     ((15, 2, 0), -1.0, "tire_friction"), ((0,), "curve", "torque_curve"), ((10,), [[1.0]], "forward_gears"),
     ((15,), [], "wheels"), ((14,), [[0.0, 1.0]] * 5000, "steering_curve")],
)  # fmt: skip
def test_impossible_physics_is_refused_by_name(
    simulation: Simulation, car: int, at: tuple[int, ...], value: Any, named: str
) -> None:
    [[_, control]] = call(simulation, "get_physics_control", car)
    inner = control
    for place in at[:-1]:
        inner = inner[place]
    inner[at[-1]] = value
    assert named in refusal(simulation, "apply_physics_control", car, control)


def test_strong_pushes_stay_finite(simulation: Simulation, car: int) -> None:
    for _ in range(50):
        call(simulation, "add_actor_impulse", car, [1e9, -1e9, 1e9])
        call(simulation, "add_actor_torque", car, [0.0, 0.0, 1e15])
        simulation.advance(0.05)
        records = np.frombuffer(state(simulation)[84:], dtype=np.uint8).reshape(-1, 119)
        moving = records[:, 5:65].copy().view("<f4")
        assert np.isfinite(moving).all()


@pytest.mark.parametrize(
    ("settings", "named"),
    [({2: [True, NAN]}, "fixed_delta"), ({2: [True, 50.0]}, "fixed_delta"), ({2: [True, 1e-9]}, "fixed_delta"),
     ({5: 2**40}, "max_substeps"), ({5: -1}, "max_substeps"), ({4: INF}, "max_substep_delta_time"),
     ({4: -0.1}, "max_substep_delta_time"), ({6: NAN}, "culling")],
)  # fmt: skip
def test_settings_out_of_bounds_are_refused_by_name(
    simulation: Simulation, settings: dict[int, Any], named: str
) -> None:
    before = simulation.settings
    given = [True, False, [True, 0.05], True, 0.01, 10, 0.0, True, 3000.0, 2000.0, True]
    for place, value in settings.items():
        given[place] = value
    assert named in refusal(simulation, "set_episode_settings", given)
    assert simulation.settings is before


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [("sensor.camera.rgb", "image_size_x", "100000"), ("sensor.camera.rgb", "image_size_y", "0"),
     ("sensor.camera.rgb", "image_size_x", "nan"), ("sensor.camera.rgb", "fov", "180"),
     ("sensor.camera.rgb", "fov", "inf"), ("sensor.camera.rgb", "exposure_mode", "bogus"),
     ("sensor.lidar.ray_cast", "points_per_second", "1e12"), ("sensor.lidar.ray_cast", "channels", "0"),
     ("sensor.lidar.ray_cast", "range", "-1"), ("sensor.other.radar", "points_per_second", "999999999999"),
     ("sensor.other.v2x", "scenario", "moon"), ("sensor.other.gnss", "noise_lat_stddev", "nan"),
     ("sensor.camera.rgb", "sensor_tick", "NaN"), ("vehicle.audi.tt", "color", "4294967296"),
     ("static.trigger.friction", "extent_x", "-5"), ("static.trigger.friction", "extent_y", "1e300")],
)  # fmt: skip
def test_an_actor_with_impossible_attributes_is_not_spawned(
    simulation: Simulation, kind: str, name: str, value: str
) -> None:
    before = len(simulation.episode.actors)
    message = refusal(simulation, "spawn_actor", [1, kind, [[name, 4, value]]], [[0.0, 0.0, 50.0], [0.0, 0.0, 0.0]])
    assert name.removesuffix("_x").removesuffix("_y")[:6] in message
    assert len(simulation.episode.actors) == before


def test_a_picture_has_at_most_as_many_pixels_as_8k(simulation: Simulation) -> None:
    rows = [["image_size_x", 2, "8192"], ["image_size_y", 2, "8192"]]
    message = refusal(simulation, "spawn_actor", [1, "sensor.camera.rgb", rows], [[0.0] * 3, [0.0] * 3])
    assert "pixels" in message


def test_actors_shapes_and_texts_are_counted(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawning, "MOST_ACTORS", len(simulation.episode.actors))
    cone = [1, "static.prop.constructioncone", []]
    assert "at most" in refusal(simulation, "spawn_actor", cone, [[0.0] * 3, [0.0] * 3])
    point = [[0, [[0.0, 0.0, 0.0], 0.1]], [255, 0, 0], -1.0, False]
    for _ in range(MOST_SHAPES + 5):
        call(simulation, "draw_debug_shape", point)
    assert len(simulation.episode.debug.alive(0.0)) == MOST_SHAPES
    call(simulation, "clear_debug_shape")
    assert "1024" in refusal(
        simulation, "draw_debug_shape", [[4, [[0.0] * 3, "x" * 5000, False]], [0, 0, 0], 1.0, True]
    )
    assert refusal(simulation, "draw_debug_shape", [[0, [[0.0] * 3, INF]], [0, 0, 0], 1.0, True])
    assert refusal(simulation, "draw_debug_shape", [[0, [[0.0] * 3, 0.1]], [0, 0, 0], NAN, True])


def test_lamps_keep_to_what_clients_can_read(simulation: Simulation) -> None:
    good = [0, [0.0] * 3, 100.0, 2, [255, 255, 255], True]
    for place, bad in ((3, 2**63), (3, 9), (4, [256, 0, 0]), (4, [0.5, 0, 0]), (2, NAN)):
        state_ = list(good)
        state_[place] = bad
        assert refusal(simulation, "update_lights_state", "x", [state_], False)


def test_every_method_answers_to_a_wrong_number_and_kind_of_arguments(simulation: Simulation) -> None:
    for method in sorted(handlers.METHODS.keys() - {"load_new_episode", "tick_cue"}):
        wrong: tuple[list[Any], ...] = ([], [None], [[[]], {}], ["x"] * 3, [1] * 9, [NAN] * 4)
        for args in wrong:
            answer = msgpack.unpackb(handlers.answer(simulation, rpc.Call(1, method, list(args))))
            assert not FAULT.match(answer[2] or ""), answer[2]


# ---------------------------------------------------------------- maps


@pytest.mark.parametrize(
    "text",
    [BOMB, EXTERNAL, "", "\udcff", town(road(length="nan")), town(road(number="x")), town(road(length="1e9")),
     town(road(width="1e7"))],
)  # fmt: skip
def test_a_senseless_map_is_refused_soon(simulation: Simulation, text: str) -> None:
    name, began_s = simulation.map.name, time.monotonic()
    message = refusal(simulation, "copy_opendrive_to_file", text, [])
    assert "OpenDriveMap" in message
    assert "root:" not in message  # of /etc/passwd
    assert time.monotonic() - began_s < build_apart.LONGEST_LOAD_S + 5.0
    assert refusal(simulation, "load_new_episode", "OpenDriveMap")
    assert simulation.map.name == name


def test_no_traffic_manager_is_made_on_a_map_that_would_crash_it(simulation: Simulation) -> None:
    assert call(simulation, "is_traffic_manager_running", 8000) == [[1, False]]
    whole = simulation.map
    simulation.map = replace(whole, traffic_fault="crashes CARLA's TrafficManager (Segmentation fault)")
    try:
        message = refusal(simulation, "is_traffic_manager_running", 8000)
    finally:
        simulation.map = whole
    assert message.endswith("map country_road: crashes CARLA's TrafficManager (Segmentation fault)")


def test_building_a_map_ends_in_time_and_memory() -> None:
    slow = build_apart.Build("slow", town(road()), 0, seconds=0.05)
    slow.wait()
    with pytest.raises(MapError, match="not built within"):
        slow.result()
    # One array is larger than what is left. Without any memory at all, Python raises MemoryError in an endless loop.
    large = build_apart.Build("large", town(road(length="20000")), 0, most=64 << 20)
    large.wait()
    with pytest.raises(MapError, match="no map that can be built"):
        large.result()


def test_a_client_names_maps_and_no_files(tmp_path: Path) -> None:
    (tmp_path / "secret.xodr").write_text(town(road()))
    simulation = Simulation(MapLoader(MapLibrary(), 0), StreamHub(lambda _: None), 2001, "country_road", 0)
    for name in (str(tmp_path / "secret.xodr"), f"../../../..{tmp_path}/secret", "/etc/passwd", "\0.xodr", "x" * 9000):
        assert "unknown map" in refusal(simulation, "load_new_episode", name)
    for name in ("/etc/passwd", "../../etc/passwd", "Carla/Maps/Nav/../../../etc/passwd", "x\0"):
        assert "no file" in refusal(simulation, "request_file", name)
    for name in ("..", "/", "a/..", "\0"):
        assert "names no recording" in refusal(simulation, "start_recorder", name, False)
    call(simulation, "load_new_episode", "country_road.xodr")
    assert simulation.map.name == "country_road"


# ---------------------------------------------------------------- bytes


def test_a_message_too_deep_or_too_long_is_a_protocol_error() -> None:
    start = b"\x94\x00\x01\xa7version"
    for bad in (start + b"\x91" * 5000, start + b"\x91" * 990 + b"\x90",
                start + b"\xdb\x00\xff\xff\xff" + b"x" * (9 << 20), start + b"\xdd\x00\x10\x00\x00"):  # fmt: skip
        session = rpc.RpcSession()
        try:
            list(session.feed(bad))
        except ProtocolError:
            continue
        assert len(bad) < 2000  # deep enough for Python, refused by the handler


def test_a_long_text_is_for_maps_only_and_its_room_is_given_back() -> None:
    session = rpc.RpcSession()
    raw = msgpack.packb([0, 1, "copy_opendrive_to_file", [[False], "x" * (20 << 20)]])
    raw += msgpack.packb([0, 2, "version", [[False]]])
    found = [c for i in range(0, len(raw), 1 << 18) for c in session.feed(raw[i : i + (1 << 18)])]
    assert [c.method for c in found] == ["copy_opendrive_to_file", "version"]
    assert session.held_bytes == 0


def test_textures_are_refused_without_being_read() -> None:
    session = rpc.RpcSession()
    pixels = [[1, 2, 3, 4]] * (1 << 18)
    raw = msgpack.packb([0, 1, "apply_color_texture_to_objects", [[False], ["x"], 2, [512, 512, pixels]]])
    assert [c.method for c in session.feed(raw)] == ["apply_color_texture_to_objects"]


# ---------------------------------------------------------------- a real server


def ask(sock: socket.socket, method: str, *args: Any) -> Any:
    sock.sendall(msgpack.packb([0, 1, method, [[False], *args]]))
    unpacker = msgpack.Unpacker()
    while (answer := next(iter(unpacker), None)) is None:
        unpacker.feed(sock.recv(1 << 16))
    return answer[3]


def test_it_listens_on_this_machine_only_unless_told_otherwise(server: ServerProcess) -> None:
    tables = [Path(f"/proc/{server.process.pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    listening = [row.split()[1] for table in tables for row in table.splitlines()[1:] if row.split()[3] == "0A"]
    own = {f"{port:04X}" for port in (server.port, server.port + 1)}
    found = [where for where in listening if where.rsplit(":", 1)[1] in own]
    assert sorted(found) == sorted(f"0100007F:{port}" for port in own)


def test_hostile_connections_harm_nobody(server: ServerProcess, client: Any) -> None:
    here = ("127.0.0.1", server.port)
    for bad in (b"\x91" * 1020, b"\x94\x00\x01\xa1x\x91" + b"\x91" * 900 + b"\x90", b"\xc1", b"\x94\x00"):
        with socket.create_connection(here, timeout=10.0) as other:
            other.sendall(bad)
            other.shutdown(socket.SHUT_WR)
            while other.recv(1 << 16):
                pass
    for stream in (0, 10**8, 2**32 - 1):
        with socket.create_connection((here[0], here[1] + 1), timeout=10.0) as other:
            other.sendall(struct.pack("<I", stream))
            assert other.recv(1) == b""
    with socket.create_connection(here, timeout=10.0) as other:
        for port in (2**63, 0, -1, 70000):
            assert ask(other, "add_traffic_manager_running", ["10.255.255.1", port])[0][0] == 0
    assert client.get_server_version() == "0.9.16"
    assert server.process.poll() is None


def test_only_some_clients_wait_for_maps_and_one_that_goes_frees_its_place(server: ServerProcess) -> None:
    here = ("127.0.0.1", server.port)
    with contextlib.ExitStack() as waiting:
        for k in range(MOST_WAITING):
            sender = waiting.enter_context(socket.create_connection(here, timeout=30.0))
            text = town(road(length=100 + k)).replace("<header", f"<!-- {time.time_ns()} --><header", 1)
            sender.sendall(msgpack.packb([0, 1, "copy_opendrive_to_file", [[False], text, []]]))
            sender.sendall(msgpack.packb([0, 2, "version", [[False]]]))  # which waits too
        with socket.create_connection(here, timeout=30.0) as other:
            assert ask(other, "version") == [[1, "0.9.16"]]
            refused = ask(other, "copy_opendrive_to_file", town(road(length=99)) + f"<!-- {time.time_ns()} -->", [])
            assert refused == [[True, [f"{MOST_WAITING} maps wait to be built: try later"]]]
            sender.settimeout(0.2)
            with pytest.raises(TimeoutError):
                sender.recv(1)
    with socket.create_connection(here, timeout=30.0) as other:  # those before it have gone
        assert ask(other, "copy_opendrive_to_file", town(road(length=98)), []) == [[False]]
        assert ask(other, "version") == [[1, "0.9.16"]]


def test_calls_in_advance_do_not_keep_others_waiting(server: ServerProcess) -> None:
    here = ("127.0.0.1", server.port)
    with socket.create_connection(here, timeout=30.0) as greedy, socket.create_connection(here, timeout=30.0) as other:
        ask(other, "version")
        greedy.sendall(msgpack.packb([0, 1, "get_environment_objects", [[False], 255]]) * 2000)  # many seconds of work
        began_s = time.monotonic()
        for _ in range(5):
            assert ask(other, "version") == [[1, "0.9.16"]]
        assert time.monotonic() - began_s < 2.0


def test_a_sensor_that_is_asked_for_holds_frames_up_once_and_not_when_it_is_gone(
    server: ServerProcess, sync_world: Any
) -> None:
    import carla

    blueprint = sync_world.get_blueprint_library().find("sensor.other.gnss")
    sensors = [sync_world.spawn_actor(blueprint, carla.Transform()) for _ in range(7)]
    honest = sync_world.spawn_actor(blueprint, carla.Transform())
    honest.listen(lambda _: None)
    sync_world.tick()

    def tick_s() -> float:
        began_s = time.monotonic()
        sync_world.tick()
        return time.monotonic() - began_s

    with socket.create_connection(("127.0.0.1", server.port), timeout=10.0) as other:
        actors = ask(other, "get_actors_by_id", [s.id for s in sensors])[0][1]
        streams = [struct.unpack_from("<I", actor[5])[0] for actor in actors]
        ask(other, "get_sensor_token", streams[0])
        sensors[0].destroy()
        assert tick_s() < LISTENER_WAIT_S / 2.0
        ask(other, "get_sensor_token", streams[1])
        assert LISTENER_WAIT_S / 2.0 < tick_s() < 2.0 * LISTENER_WAIT_S
        ask(other, "get_sensor_token", streams[1])
        assert tick_s() < LISTENER_WAIT_S / 2.0
        spent_s = 0.0
        for stream in streams[2:]:
            ask(other, "get_sensor_token", stream)
            spent_s += tick_s()
        assert spent_s < 1.5 * LISTENER_WAIT_S
    honest.stop()
