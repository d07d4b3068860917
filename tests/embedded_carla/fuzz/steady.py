"""The well-behaved client, through the real wheel: `python -m tests.embedded_carla.fuzz.steady PORT`.

It ticks and looks at the world until its standard input ends, then `LAST_TICKS` times more, now undisturbed, and prints
how often, and the longest tick. What a hostile client has done must neither raise in it nor show it a number that is
none. While the hostile client asks for sensors that it never listens to, a tick may wait for those connections.
"""

from __future__ import annotations

import json
import math
import os
import select
import sys
import time
from collections.abc import Iterable
from typing import Any, cast

import carla

LOOK_TICKS = 20
LAST_TICKS = 40


def numbers(snapshot: Any) -> list[float]:
    """Of the moving state of every actor."""
    out = []
    for state in snapshot:
        t, v, w, a = state.get_transform(), state.get_velocity(), state.get_angular_velocity(), state.get_acceleration()
        out += [t.location.x, t.location.y, t.location.z, t.rotation.pitch, t.rotation.yaw, t.rotation.roll]
        out += [v.x, v.y, v.z, w.x, w.y, w.z, a.x, a.y, a.z]
    return out


def look(client: carla.Client) -> None:
    """Ask for what other clients may have set: an answer that the wheel cannot read raises here."""
    world = client.get_world()
    settings, weather = world.get_settings(), world.get_weather()
    assert math.isfinite(weather.fog_density)
    assert settings.max_substeps >= 0
    for actor in cast("Iterable[carla.Actor]", world.get_actors()):
        try:
            box = actor.bounding_box if hasattr(actor, "bounding_box") else None
            is_vehicle = actor.type_id.startswith("vehicle.")
            mass = cast("carla.Vehicle", actor).get_physics_control().mass if is_vehicle else 1.0
        except RuntimeError as error:  # someone else has destroyed it, or loaded a map
            assert "does not exist" in str(error), error  # noqa: PT017
            continue
        assert math.isfinite(mass)
        if box is not None:
            assert all(math.isfinite(v) and v >= 0.0 for v in (box.extent.x, box.extent.y, box.extent.z)), actor


def main() -> None:
    client = carla.Client("127.0.0.1", int(sys.argv[1]))
    client.set_timeout(60.0)
    ticks, slowest_s, frame, left = 0, 0.0, 0, LAST_TICKS
    client.get_world()  # waits for a frame where the world runs freely: before the hostile client may stop it
    print("ready", flush=True)
    while left:
        left -= bool(select.select([sys.stdin], [], [], 0.0)[0])
        world = client.get_world()
        start = time.perf_counter()
        world.tick()
        slowest_s, ticks = max(slowest_s, time.perf_counter() - start), ticks + 1
        snapshot = world.get_snapshot()
        assert snapshot.frame > frame, "the world stands still"
        frame = snapshot.frame
        bad = [v for v in numbers(snapshot) if not math.isfinite(v)]
        assert not bad, f"frame {frame}: {len(bad)} values of the snapshot are no numbers"
        if ticks % LOOK_TICKS == 0:
            look(client)
    print(json.dumps({"ticks": ticks, "slowest_tick_s": round(slowest_s, 3)}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
