"""The Markdown tables of the figures, for the page on perception."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.markdown_tables import rows

SENSORS = ("camera", "radar", "camera and radar")


def tables(figures: Mapping[str, Any]) -> str:
    """How early the other car is tracked, by kind of manoeuvre and sensors; then false tracks and cost."""
    leads = rows(
        ("the other car is", "drives", *(f"{name}: at least 3 s; shortest, median" for name in SENSORS)),
        (
            (kind, str(next(iter(parts.values()))["drives"]), *(_lead(parts[name]) for name in SENSORS))
            for kind, parts in figures["kinds"].items()
        ),
    )
    street, cost = figures["parked_street"], figures["cost"]
    drive = street["drive"]
    false = "; ".join(f"{name} {street[name]['moving_tracks_per_minute']:.1f}" for name in SENSORS)
    server, client = (
        cost["radars"][f"{part}_ms_per_tick"] - cost["neither"][f"{part}_ms_per_tick"] for part in ("server", "client")
    )
    facts = rows(
        ("what", "value"),
        (
            (f"false moving tracks per minute, {drive['metres']:.0f} m past parked cars", false),
            ("four radars, processor time per tick in the embedded server, 30 vehicles", f"{server:.1f} ms"),
            ("the same in the client, without tracking", f"{client:.1f} ms"),
            ("ego motion, association and tracking", f"{drive['radar_tracking_ms']:.1f} ms"),
        ),
    )
    return f"{leads}\n{facts}"


def _lead(part: Mapping[str, float]) -> str:
    return f"{100.0 * part['share_3_s_before']:.0f} %; {part['shortest_s']:.1f}, {part['median_s']:.1f} s"
