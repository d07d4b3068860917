"""Selects the unit shapes that draw an actor, in three levels of detail."""

from __future__ import annotations

from embedded_carla.render.shapes.geometry import Shape
from embedded_carla.render.shapes.pool import Key
from embedded_carla.render.shapes.props import prop
from embedded_carla.render.shapes.vehicles.bodies import body
from embedded_carla.render.shapes.vehicles.doors import door, opening
from embedded_carla.render.shapes.vehicles.riders import rider
from embedded_carla.render.shapes.vehicles.sizes import TYPICAL, vehicle_size
from embedded_carla.render.shapes.vehicles.wheels import thin_wheel, wheel
from embedded_carla.render.shapes.walker_outfits import CHILD_BELOW_M
from embedded_carla.render.shapes.walkers import walker
from embedded_carla.scene import ActorView

LEVEL_PX = (42.0, 13.0)  # smallest radius on screen, px, of level 0 and level 1
LEAST_PX = 0.7
LEVELS = 3
ALONG_X = "along x"  # prop with its long side along x, as many of CARLA's have; shapes are long along y
LENGTHWISE = 1.3  # length / width from which a prop counts as long


def body_keys(actor: ActorView) -> tuple[Key, ...]:
    """Keys of the shapes of an actor's body, by level of detail."""
    if actor.shape == "walker":
        age = "child" if 2.0 * actor.extent[2] < CHILD_BELOW_M else "adult"
        return tuple((age, str(actor.seed % 10), level) for level in range(LEVELS))
    if actor.shape in TYPICAL:
        return tuple((actor.shape, actor.model, level) for level in range(LEVELS))
    x, y, _ = actor.extent
    return ((actor.shape, ALONG_X if x > LENGTHWISE * y else "", 0),) * LEVELS


def make_shape(key: Key) -> Shape:
    """Build the shape of a key.

    The key's kind is a vehicle's shape, "adult", "child", "rider SHAPE", "door NUMBER SHAPE", "opening NUMBER SHAPE",
    "wheel", "thin_wheel", or the name of a prop.
    """
    kind, model, level = key
    if kind.startswith(("door ", "opening ")):
        what, number, shape = kind.split(" ", 2)
        return (door if what == "door" else opening)(shape, model, int(number))
    if kind in ("adult", "child"):
        return walker(int(model), kind == "child", level)
    if kind == "wheel":
        return wheel(int(model))
    if kind == "thin_wheel":
        return thin_wheel()
    if kind.startswith("rider "):
        return rider(vehicle_size(kind.removeprefix("rider "), model), level)
    if kind in TYPICAL:
        return body(kind, model, level)
    return prop(kind, turned=model == ALONG_X)
