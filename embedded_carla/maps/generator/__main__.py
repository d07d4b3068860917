"""`python -m embedded_carla.maps.generator`: writes the project's own towns beside this package."""

from __future__ import annotations

import sys
from pathlib import Path

from embedded_carla.maps.generator import TOWNS
from embedded_carla.maps.generator.xml_writer import to_xodr

MAPS = Path(__file__).resolve().parents[1]


def main() -> int:
    """Writes every town and prints what was written; returns the exit status."""
    for name, build in TOWNS.items():
        path = MAPS / f"{name}.xodr"
        path.write_text(to_xodr(build()), encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
