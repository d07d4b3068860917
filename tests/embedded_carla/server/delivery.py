"""Every frame's measurements, once each, while sensors come, go and are listened to anew:

    python -m tests.embedded_carla.server.delivery PORT --seed 1 --frames 2000 --clients 8

Run it several times at once, or beside busy processes: a synchronous world may become slow, but loses nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import carla

KINDS: tuple[tuple[str, dict[str, str]], ...] = (
    ("sensor.camera.rgb", {"image_size_x": "32", "image_size_y": "18"}),
    ("sensor.camera.depth", {"image_size_x": "320", "image_size_y": "180"}),
    ("sensor.camera.semantic_segmentation", {"image_size_x": "32", "image_size_y": "18", "sensor_tick": "0.15"}),
    ("sensor.other.gnss", {}), ("sensor.other.imu", {"sensor_tick": "0.15"}),
)  # fmt: skip
DELTA_S = 0.05
PATIENCE_S = 60.0
CHANGES_SHARE = 0.15  # of the frames after which a sensor's state changes
WAIT_SHARE = 0.3  # of the frames whose measurements are awaited before the next tick, as most programs do


@dataclass
class Listening:
    """What one `listen` is owed and what it got; one measurement in `every` frames."""

    name: str
    every: int
    asked: list[int] = field(default_factory=list)  # frames since it began
    got: list[int] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, measured: Any) -> None:
        with self.changed:
            self.got.append(measured.frame)
            self.changed.notify()

    def owed(self) -> list[int]:
        """`sensor_tick` counts on from the last listener, whose end is not answered: the first may come later."""
        if not self.got:
            return self.asked[self.every - 1 :][:1]
        first = min(self.got[0], self.asked[0] + self.every - 1)
        return [frame for frame in self.asked if frame >= first and (frame - first) % self.every == 0]

    def settle(self) -> None:
        """Wait for what is owed. Raises AssertionError naming what is missing or too much."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.got) >= len(self.owed()), PATIENCE_S)
            owed = self.owed()
            assert self.got == owed, (
                f"{self.name}: missing {sorted(set(owed) - set(self.got))[:9]}, too much "
                f"{sorted(set(self.got) - set(owed))[:9]}, of {len(owed)} owed {len(self.got)} came"
            )


class Mounted:
    """One sensor of one client, listened to or not."""

    def __init__(self, world: Any, kind: str, attributes: dict[str, str]) -> None:
        blueprint = world.get_blueprint_library().find(kind)
        for name, value in attributes.items():
            blueprint.set_attribute(name, value)
        self.actor = world.spawn_actor(blueprint, carla.Transform(carla.Location(z=30.0)))
        self.every = max(1, round(float(attributes.get("sensor_tick", "0")) / DELTA_S))
        self.listening: Listening | None = None

    def listen(self) -> None:
        self.listening = Listening(f"{self.actor.type_id} {self.actor.id}", self.every)
        self.actor.listen(self.listening.take)

    def stop(self) -> int:
        """How many measurements there were since `listen`."""
        if self.listening is None:
            return 0
        self.listening.settle()
        self.actor.stop()
        measured, self.listening = len(self.listening.got), None
        return measured


def change(rng: random.Random, sensors: list[Mounted], worlds: list[Any]) -> int:
    """One sensor is listened to, no longer, at once anew, or destroyed for another one; the measurements it had."""
    sensor = rng.choice(sensors)
    if sensor.listening is None:
        sensor.listen()
        return 0
    measured = sensor.stop()
    kind = rng.randrange(3)
    if kind == 0:
        sensor.listen()
    elif kind == 1:
        sensor.actor.destroy()
        sensors[sensors.index(sensor)] = fresh = Mounted(rng.choice(worlds), *rng.choice(KINDS))
        if rng.random() < 0.7:
            fresh.listen()
    return measured


def run(port: int, seed: int, frames: int, clients: int) -> dict[str, float]:
    """Figures; raises AssertionError when a measurement is missing or came twice."""
    rng = random.Random(seed)
    connected = [carla.Client("127.0.0.1", port) for _ in range(clients)]
    for client in connected:
        client.set_timeout(PATIENCE_S)
    worlds = [client.get_world() for client in connected]
    settings = worlds[0].get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, DELTA_S
    worlds[0].apply_settings(settings)
    sensors = [Mounted(world, *KINDS[i % len(KINDS)]) for i, world in enumerate(worlds)]
    for sensor in sensors:
        sensor.listen()
    slowest_s, began_s, measured, changes = 0.0, time.monotonic(), 0, 0
    for _ in range(frames):
        start_s = time.monotonic()
        frame = worlds[0].tick()
        slowest_s = max(slowest_s, time.monotonic() - start_s)
        heard = [sensor.listening for sensor in sensors if sensor.listening is not None]
        for listening in heard:
            listening.asked.append(frame)
        if rng.random() < WAIT_SHARE:
            for listening in heard:
                listening.settle()
        if rng.random() < CHANGES_SHARE:
            measured, changes = measured + change(rng, sensors, worlds), changes + 1
    for sensor in sensors:
        measured += sensor.stop()
        sensor.actor.destroy()
    return {"frames": frames, "changes": changes, "measurements": measured, "slowest_tick_s": round(slowest_s, 2),
            "seconds": round(time.monotonic() - began_s, 1)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--clients", type=int, default=8)
    arguments = parser.parse_args()
    print(run(arguments.port, arguments.seed, arguments.frames, arguments.clients), flush=True)
    os._exit(0)  # the wheel's threads may still be at work


if __name__ == "__main__":
    main()
