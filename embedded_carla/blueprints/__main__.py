"""`python -m embedded_carla.blueprints` prints docs/embedded-carla/blueprints.md."""

from __future__ import annotations

from embedded_carla.blueprints import LIBRARY
from embedded_carla.blueprints.catalogue import markdown

if __name__ == "__main__":
    print(markdown(LIBRARY), end="")
