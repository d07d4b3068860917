"""A client that connects, listens to sensors and vanishes: `python -m benchmarks.soak.guest PORT NUMBER exit|stay`."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import cast

import carla

SENSORS = {
    "sensor.camera.rgb": {"image_size_x": "160", "image_size_y": "90"},
    "sensor.other.gnss": {},
    "sensor.other.imu": {},
    "sensor.other.collision": {},
}


def main() -> None:
    port, number, way = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    client = carla.Client("127.0.0.1", port)
    client.set_timeout(60.0)
    world = client.get_world()
    points, library = world.get_map().get_spawn_points(), world.get_blueprint_library()
    places = (points[(100 + number + 25 * k) % len(points)] for k in range(len(points)))
    car = next(filter(None, (world.try_spawn_actor(library.find("vehicle.audi.tt"), place) for place in places)))
    heard = threading.Event()
    kept = []
    for name, attributes in SENSORS.items():
        blueprint = library.find(name)
        for key, value in attributes.items():
            blueprint.set_attribute(key, value)
        at = carla.Transform(carla.Location(x=1.5, z=1.8))
        sensor = cast("carla.Sensor", world.spawn_actor(blueprint, at, attach_to=car))
        sensor.listen(lambda data: heard.set())
        kept.append(sensor)
    assert heard.wait(60.0)
    print("listening", flush=True)
    if way == "exit":
        os._exit(0)
    time.sleep(120.0)  # the test kills it before


if __name__ == "__main__":
    main()
