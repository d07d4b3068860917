"""A rig that is taken down after the test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.embedded_carla.sensors.sensor_rig import Rig


@pytest.fixture
def rig(sync_world: Any) -> Iterator[Rig]:
    made = Rig(sync_world)
    yield made
    made.end()
