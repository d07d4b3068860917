"""Speed of the embedded server through the real wheel: RPC round trips, and ticks with TrafficManager and no camera."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import carla

from av_stack.world.carla.actors import SpawnOnAutopilot, actors_in

VEHICLES = 30
WARM_TICKS, TICKS = 100, 1000
CALLS = 5000
TRAFFIC_MANAGER_PORT = 28000


def start_server(map_name: str) -> tuple[subprocess.Popen[str], int]:
    """Start a server on a free port; returns process and port, and the caller must terminate it."""
    server = subprocess.Popen(
        [sys.executable, "-m", "embedded_carla", "--port", "0", "--map", map_name], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    line = server.stdout.readline()
    if "listening on" not in line:
        raise SystemExit("the server did not start")
    return server, int(line.split("listening on ")[1].split(",")[0].rsplit(":", 1)[1])


def rpc_median_us(client: carla.Client) -> dict[str, float]:
    """Round-trip times of the smallest call that waits for its answer, us."""
    taken = []
    for _ in range(CALLS):
        start = time.perf_counter()
        client.get_server_version()
        taken.append(1e6 * (time.perf_counter() - start))
    taken.sort()
    return {"rpc_median_us": statistics.median(taken), "rpc_p99_us": taken[int(0.99 * CALLS)]}


def processor_s(pid: int) -> float:
    """Processor time that a process has used so far, s; other load on the machine hardly changes it."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def traffic_ticks_per_s(client: carla.Client, server_pid: int) -> dict[str, float]:
    """Rate of synchronous ticks with traffic, the client's own work included."""
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
    world.apply_settings(settings)
    manager = client.get_trafficmanager(TRAFFIC_MANAGER_PORT)
    manager.set_synchronous_mode(True)
    manager.set_random_device_seed(0)
    blueprints = [b for b in world.get_blueprint_library().filter("vehicle.*") if b.get_attribute("base_type") == "car"]
    points = world.get_map().get_spawn_points()
    step = max(len(points) // VEHICLES, 1)
    batch = SpawnOnAutopilot(TRAFFIC_MANAGER_PORT)
    for i in range(VEHICLES):
        batch.add(blueprints[i % len(blueprints)], points[i * step % len(points)])
    spawned = batch.spawn(client, True)
    for _ in range(WARM_TICKS):
        world.tick()
    start, worked_s = time.perf_counter(), processor_s(server_pid)
    for _ in range(TICKS):
        world.tick()
    figure = TICKS / (time.perf_counter() - start)
    server_ms = 1e3 * (processor_s(server_pid) - worked_s) / TICKS
    moving = sum(v.get_velocity().length() > 0.1 for v in actors_in(world) if v.id in spawned)
    client.apply_batch_sync([carla.command.DestroyActor(i) for i in spawned], True)
    return {
        "tm_vehicles": len(spawned),
        "tm_vehicles_moving": moving,
        "tm_ticks_per_s": figure,
        "server_processor_ms_per_tick": server_ms,
    }


def main() -> int:
    server, port = start_server("city_grid")
    try:
        client = carla.Client("127.0.0.1", port)
        client.set_timeout(20.0)
        print(json.dumps({**rpc_median_us(client), **traffic_ticks_per_s(client, server.pid)}))
    finally:
        server.terminate()
        server.wait(10)
    return 0


if __name__ == "__main__":
    sys.exit(main())
