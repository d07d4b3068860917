"""JSON schemas of the recording's JSON topics, derived from the types of the values that are written."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from av_core.types import ControlCommand, ImuSample, LightState, ObjectKind, Plan, Pose2D, StepResult
from scenarios.judging.judge import Progress

ObjectRow = tuple[int, ObjectKind, float, float, float, float, float]
"""track_id, kind, x_m, y_m, yaw_rad, velocity in x and y in m/s; map frame."""
CollisionRow = tuple[int, str, float]
"""other_id, other, impulse_ns."""
Line = list[tuple[float, float]]
"""Points x_m, y_m; map frame."""


def _types(source: type, *names: str) -> dict[str, Any]:
    """The types of the named fields of a dataclass; without names, of all fields but the stamp."""
    hints = get_type_hints(source)
    return {name: hints[name] for name in names or [f.name for f in fields(source) if f.name != "stamp"]}


TOPICS: dict[str, tuple[str, dict[str, Any]]] = {
    "/sensors": ("av_stack.Sensors", _types(ImuSample) | {"wheel_speed_mps": float, "frame": int}),
    "/control": (
        "av_stack.Control",
        _types(ControlCommand)
        | {"constraint": str, "limited_by": str, "manoeuvre": str, "behaviour": str, "reason": str}
        | _types(Plan, "route_s_m"),
    ),
    "/truth": (
        "av_stack.Truth",
        {"frame": int, **_types(Pose2D), "z_m": float, "speed_mps": float}
        | {"lights": dict[str, LightState], "objects": list[ObjectRow], "collisions": list[CollisionRow]},
    ),
    "/judge": ("av_stack.Judge", _types(Progress)),
    "/confidence": (
        "av_stack.Confidence",
        {"left_line": float | None, "right_line": float | None, "position_sigma_m": float},
    ),
    "/supervision": ("av_stack.Supervision", _types(StepResult, "state", "reason") | {"late_stages": dict[str, float]}),
    "/stage_ms": ("av_stack.StageTimes", _types(StepResult, "stage_ms")),
}
"""The topics that every step writes; for each, the name of its schema and the type of each key of its messages."""

MAP = "/map"
MAP_SCHEMA: tuple[str, dict[str, Any]] = (
    "av_stack.Map",
    {"name": str, "lanes": list[tuple[bool, Line, Line]], "route": Line, "stop_lines": list[Line]},
)
"""Name and key types of the schema of /map, which is written once. A lane is (is in a junction, left edge, right edge).
"""

_JSON = {**TOPICS, MAP: MAP_SCHEMA}


def model_of(topic: str) -> type[BaseModel]:
    """Pydantic model of the messages of a JSON topic; every key is required and no other is allowed."""
    name, keys = _JSON[topic]
    definitions: dict[str, Any] = {key: (kind, ...) for key, kind in keys.items()}
    return create_model(name.rsplit(".", 1)[-1], __config__=ConfigDict(extra="forbid"), **definitions)


def schema_of(topic: str) -> tuple[str, dict[str, Any]]:
    """(name, JSON schema) of a JSON topic."""
    return _JSON[topic][0], model_of(topic).model_json_schema()
