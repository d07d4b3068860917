"""Every vehicle's shapes stay within its bounding box."""

from __future__ import annotations

import numpy as np
import pytest

from embedded_carla.blueprints.vehicles import vehicle_blueprints
from embedded_carla.render.shapes.actors import LEVELS
from embedded_carla.render.shapes.vehicles.bodies import body
from embedded_carla.render.shapes.vehicles.riders import rider
from embedded_carla.render.shapes.vehicles.sizes import TWO_WHEELED, vehicle_size

LOW, HIGH = np.array([-0.5, -0.5, 0.0]), np.array([0.5, 0.5, 1.0])


@pytest.mark.parametrize("level", range(LEVELS))
def test_bodies_and_riders(level: int) -> None:
    outside_m = {}
    for blueprint in vehicle_blueprints():
        assert blueprint.vehicle is not None
        size = vehicle_size(blueprint.vehicle.shape, blueprint.type_id)
        shapes = [body(blueprint.vehicle.shape, blueprint.type_id, level)]
        if size.shape in TWO_WHEELED:
            shapes.append(rider(size, level))
        points = np.concatenate([shape.vertices[:, :3] for shape in shapes])
        outside_m[blueprint.type_id] = float((np.maximum(LOW - points, points - HIGH) * size.size).max())
    assert {name: m for name, m in outside_m.items() if m > 1e-4} == {}
