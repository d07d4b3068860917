"""Part numbers of vertices; object_vert.glsl selects the material by them."""

from __future__ import annotations

from enum import IntEnum


class Part(IntEnum):
    """Value of `in_colour.w` of a prototype's vertices."""

    FIXED = 0
    PAINT = 1  # the instance's colour, glossy
    GLASS = 2
    TAIL_LAMP = 3
    INDICATOR_LEFT = 4
    INDICATOR_RIGHT = 5
    HEADLAMP = 6
    REVERSE_LAMP = 7
    TINTED = 8  # the instance's colour, matt
    TROUSERS = 9  # varied by the instance's seed
    SIGNAL_RED = 10
    SIGNAL_YELLOW = 11
    SIGNAL_GREEN = 12
    STREET_LAMP = 13
    BRAKE_LAMP = 14  # lit with the brakes only
    BEACON_BLUE = 15  # flashing lights of emergency vehicles
    BEACON_RED = 16
    CHROME = 17
    LACQUER = 18  # the vertex's own colour, glossy
    SKIN = 19  # varied by the instance's seed
    HAIR = 20
