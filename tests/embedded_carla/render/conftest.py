from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_carla.render import Renderer
from tests.embedded_carla.render.street import street


@pytest.fixture(scope="session")
def renderer() -> Iterator[Renderer]:
    made = Renderer(street())
    yield made
    made.close()
