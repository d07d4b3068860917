"""The collision detector's message."""

from __future__ import annotations

from typing import Any

import msgpack

from embedded_carla.types import Vector3


def collision_body(owner: Any, other: Any, impulse_ns: Vector3) -> bytes:
    """The message body; `owner` and `other` are actors in wire format, `impulse_ns` (N s) acted on the owner."""
    body: bytes = msgpack.packb([owner, other, list(impulse_ns)])
    return body
