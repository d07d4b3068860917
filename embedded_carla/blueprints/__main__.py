"""Prints docs/embedded-carla/blueprints.md: `python -m embedded_carla.blueprints`."""

from __future__ import annotations

from embedded_carla.blueprints import LIBRARY
from embedded_carla.blueprints.catalogue import markdown

if __name__ == "__main__":
    print(markdown(LIBRARY), end="")
