"""Camera rate through the real wheel: frames per second of a synchronous client that waits for every picture."""

from __future__ import annotations

import queue
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import carla

from benchmarks.server import processor_s, start_server

KINDS = ("rgb", "depth", "semantic_segmentation", "instance_segmentation")
WARM_FRAMES = 12
WAIT_S = 60.0
MOUNT = carla.Transform(carla.Location(x=0.5, z=1.6))


def measure(map_name: str, sizes: Sequence[tuple[int, int]], vehicles: int, frames: int) -> dict[str, Any]:
    """Figures by rig and picture size; the vehicles stand still, so that pictures are measured and not traffic."""
    server, port = start_server(map_name)
    try:
        client = carla.Client("127.0.0.1", port)
        client.set_timeout(WAIT_S)
        world = client.get_world()
        settings = world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
        world.apply_settings(settings)
        ego, count = _populate(client, world, vehicles)
        result: dict[str, Any] = {"vehicles": count}
        for width, height in sizes:
            size = f"{width}x{height}"
            result[f"{size}_rgb"] = _rate(world, ego, server.pid, [("rgb", 0.0)], (width, height), frames)
            every = [(kind, 0.0) for kind in KINDS]
            result[f"{size}_rgb_depth_semantic_instance"] = _rate(
                world, ego, server.pid, every, (width, height), frames
            )
            around = [("rgb", yaw) for yaw in (0.0, 90.0, 180.0, 270.0)]
            result[f"{size}_four_rgb"] = _rate(world, ego, server.pid, around, (width, height), max(frames // 3, 5))
        return result
    finally:
        server.terminate()
        server.wait(10)


def _populate(client: carla.Client, world: carla.World, vehicles: int) -> tuple[carla.Actor, int]:
    """Spawn the ego, and vehicles at the nearest spawn points; returns the ego and the number of vehicles."""
    points = world.get_map().get_spawn_points()
    start = points[40 % len(points)]
    points.sort(key=lambda p: p.location.distance(start.location))
    cars = [b for b in world.get_blueprint_library().filter("vehicle.*") if b.get_attribute("base_type") != ""]
    batch = [carla.command.SpawnActor(cars[i % len(cars)], p) for i, p in enumerate(points[: vehicles + 1])]
    ids = [answer.actor_id for answer in client.apply_batch_sync(batch, True) if not answer.error]
    return world.get_actor(ids[0]), len(ids) - 1


@contextmanager
def _cameras(
    world: carla.World, ego: carla.Actor, rig: Sequence[tuple[str, float]], size: tuple[int, int]
) -> Iterator[list[queue.Queue[Any]]]:
    sensors, arrivals = [], []
    for kind, yaw in rig:
        blueprint = world.get_blueprint_library().find(f"sensor.camera.{kind}")
        blueprint.set_attribute("image_size_x", str(size[0]))
        blueprint.set_attribute("image_size_y", str(size[1]))
        pose = carla.Transform(MOUNT.location, carla.Rotation(yaw=yaw))
        sensor = cast("carla.Sensor", world.spawn_actor(blueprint, pose, attach_to=ego))
        arrived: queue.Queue[Any] = queue.Queue()
        sensor.listen(arrived.put)
        sensors.append(sensor)
        arrivals.append(arrived)
    try:
        yield arrivals
    finally:
        for sensor in sensors:
            sensor.stop()
            sensor.destroy()


def _rate(
    world: carla.World, ego: carla.Actor, server_pid: int, rig: Sequence[tuple[str, float]], size: tuple[int, int],
    frames: int,
) -> dict[str, float]:  # fmt: skip
    """Sets of pictures per second, each of exactly its tick, and the processor time of a set in server and client."""
    with _cameras(world, ego, rig, size) as arrivals:
        taken: list[float] = []
        worked_s, own_s = 0.0, 0.0
        for k in range(WARM_FRAMES + frames):
            if k == WARM_FRAMES:
                worked_s, own_s = processor_s(server_pid), time.process_time()
            began = time.perf_counter()
            frame = world.tick()
            for arrived in arrivals:
                image = arrived.get(timeout=WAIT_S)
                if image.frame != frame:
                    raise SystemExit(f"a picture of frame {image.frame} came in frame {frame}")
                memoryview(image.raw_data)
            taken.append(time.perf_counter() - began)
        taken = taken[WARM_FRAMES:]
        return {
            "per_s": round(1.0 / statistics.median(taken), 1),
            "best_ms": round(1e3 * min(taken), 2),
            "server_processor_ms": round(1e3 * (processor_s(server_pid) - worked_s) / frames, 2),
            "client_processor_ms": round(1e3 * (time.process_time() - own_s) / frames, 2),
        }
