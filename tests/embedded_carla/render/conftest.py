from __future__ import annotations

from collections.abc import Iterator

import pytest
from street import street

from embedded_carla.render import Renderer


@pytest.fixture(scope="session")
def renderer() -> Iterator[Renderer]:
    made = Renderer(street())
    yield made
    made.close()
