"""Places for every type of scenario on our own towns and CARLA's, for docs/scenarios/places.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scenarios.leaderboard.placing.find import Places

OWN = ("city_grid", "country_road", "motorway", "proving_ground")
CARLAS = ("Town01", "Town02", "Town04", "Town10HD")
COUNT, SEED = 2, 0
OUT = Path("docs/scenarios/places.json")

Found = Mapping[str, Mapping[str, Any]]
"""By type and map: the places as they stand in the JSON file."""


def as_json(places: Places) -> dict[str, Any]:
    """The places of a type on a map: triggers, lengths and parameters, or what the map lacks."""
    if not places.routes:
        return {"lacks": places.lacks}
    rows = []
    for route, length_m in zip(places.routes, places.lengths_m, strict=True):
        (scenario,) = route.scenarios
        at = scenario.trigger
        values = {
            given.name: given.value if isinstance(given.value, float | str) else asdict(given.value)
            for given in scenario.parameters
        }
        rows.append({"x": at.x_m, "y": at.y_m, "yaw_deg": at.yaw_deg, "length_m": round(length_m, 1), **values})
    return {"places": rows}


def tables(found: Found) -> Iterator[str]:
    """The lines of both tables, in Markdown."""
    maps = list(next(iter(found.values())))
    yield f"| type | {' | '.join(maps)} |"
    yield f"|---|{'---|' * len(maps)}"
    for name, by_map in found.items():
        counts = (str(len(entry["places"])) if "places" in entry else "–" for entry in by_map.values())
        yield f"| `{name}` | {' | '.join(counts)} |"
    yield ""
    yield "| type | map | lacks |"
    yield "|---|---|---|"
    for name, by_map in found.items():
        lacking: dict[str, list[str]] = {}
        for map_name, entry in by_map.items():
            if "lacks" in entry:
                lacking.setdefault(entry["lacks"], []).append(map_name)
        for lacks, names in lacking.items():
            yield f"| `{name}` | {', '.join(names)} | {lacks} |"
