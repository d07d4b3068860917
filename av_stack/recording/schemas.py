"""JSON schemas of the recording's JSON topics, derived from the types of the values that are written."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from av_core.types import ControlCommand, ImuSample, LightState, ObjectKind, Plan, Pose2D

ObjectRow = tuple[int, ObjectKind, float, float, float, float, float]
"""track_id, kind, x_m, y_m, yaw_rad, velocity in x and y in m/s; map frame."""
CollisionRow = tuple[int, str, float]
"""other_id, other, impulse_ns."""


def _types(source: type, *names: str) -> dict[str, Any]:
    """The types of the named fields of a dataclass; without names, of all fields but the stamp."""
    hints = get_type_hints(source)
    return {name: hints[name] for name in names or [f.name for f in fields(source) if f.name != "stamp"]}


TOPICS: dict[str, tuple[str, dict[str, Any]]] = {
    "/sensors": ("av_stack.Sensors", _types(ImuSample) | {"wheel_speed_mps": float, "frame": int}),
    "/control": ("av_stack.Control", _types(ControlCommand) | {"constraint": str} | _types(Plan, "route_s_m")),
    "/truth": (
        "av_stack.Truth",
        {"frame": int, **_types(Pose2D), "z_m": float, "speed_mps": float}
        | {"lights": dict[str, LightState], "objects": list[ObjectRow], "collisions": list[CollisionRow]},
    ),
}
"""For each topic: the name of its schema, and the type of each key of its messages."""


def model_of(topic: str) -> type[BaseModel]:
    """Pydantic model of the messages of one of `TOPICS`; every key is required and no other is allowed."""
    name, keys = TOPICS[topic]
    definitions: dict[str, Any] = {key: (kind, ...) for key, kind in keys.items()}
    return create_model(name.rsplit(".", 1)[-1], __config__=ConfigDict(extra="forbid"), **definitions)


def schema_of(topic: str) -> tuple[str, dict[str, Any]]:
    """(name, JSON schema) of one of `TOPICS`."""
    return TOPICS[topic][0], model_of(topic).model_json_schema()
