"""The things that are labelled in pictures: road users, signal heads and signs, as boxes in CARLA's world frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

import carla
import numpy as np
from numpy.typing import NDArray

from av_core.types import Float, LightState
from av_stack.world.carla.actors import actors_in, traffic_lights
from av_stack.world.carla.boxes import Extent, box_of, pose_of
from av_stack.world.carla.capture.labelled_signs import (
    SIGN_COLUMN_M,
    SIGN_FACE_M,
    SIGN_FOOT_M,
    TAG_LIGHT,
    TAG_SIGN,
    sign_class,
)
from av_stack.world.carla.truth import object_kind
from perception.detection.classes import light_class
from perception.detection.labels import Thing

_STATES = {"Red": LightState.RED, "Yellow": LightState.YELLOW, "Green": LightState.GREEN}

Body = tuple[str, NDArray[np.float64], Extent]
"""Kind of a road user, and its box: pose in the actor's frame, half sizes."""


class MovingThings:
    """The road users of an episode as things; their bodies are read once."""

    def __init__(self) -> None:
        self._bodies: dict[int, Body] = {}

    def read(self, snapshot: carla.WorldSnapshot, actors: Iterable[carla.Actor]) -> list[Thing]:
        """The `actors` where they are in `snapshot`, numbered from 0."""
        out: list[Thing] = []
        for actor in actors:
            state = cast("carla.ActorSnapshot | None", snapshot.find(actor.id))
            if state is None:
                continue
            kind, offset, half = self._body(actor)
            pose = np.array(state.get_transform().get_matrix()) @ offset
            out.append(Thing(kind, pose, half, 0, instance=actor.id & 0xFFFF, number=len(out)))
        return out

    def _body(self, actor: carla.Actor) -> Body:
        """Constant properties of an actor, cached because every access to a bounding box calls the server."""
        if actor.id not in self._bodies:
            kind = object_kind(actor)
            assert kind is not None
            self._bodies[actor.id] = (kind.value, *box_of(actor))
        return self._bodies[actor.id]


class FixedThings:
    """The signal heads and signs of a map as things."""

    def __init__(self, world: carla.World) -> None:
        self._heads = [head for light in traffic_lights(world) for head in _heads(light)]
        self._signs = [sign for actor in actors_in(world, "traffic.*") for sign in _signs(actor)]

    def read(self, first: int) -> list[tuple[Thing, Float]]:
        """The things with their lights' current states, numbered from `first`, and the direction (2,) each faces."""
        lit = [(replace(thing, name=light_class(state_of(light))), face) for thing, light, face in self._heads]
        return [
            (replace(thing, number=number), face) for number, (thing, face) in enumerate([*lit, *self._signs], first)
        ]


def state_of(light: carla.TrafficLight) -> LightState:
    """The state that a traffic light shows."""
    return _STATES.get(str(light.get_state()).rsplit(".", 1)[-1], LightState.OFF)


def _heads(light: carla.TrafficLight) -> list[tuple[Thing, carla.TrafficLight, Float]]:
    """The heads of a light as if off, with the light and the direction that they face."""
    stops = light.get_stop_waypoints()
    if not stops:
        return []
    forward = stops[0].transform.get_forward_vector()
    face = -np.array([forward.x, forward.y])
    heads = []
    for box in light.get_light_boxes():
        half = (box.extent.x + 0.05, box.extent.y + 0.05, box.extent.z + 0.05)
        heads.append((Thing(light_class(LightState.OFF), pose_of(box), half, TAG_LIGHT), light, face))
    return heads


def _signs(actor: carla.Actor) -> list[tuple[Thing, Float]]:
    """The face of a sign that is labelled, with its direction; nothing for other actors."""
    name = sign_class(actor.type_id)
    if name is None:
        return []
    pose = np.array(actor.get_transform().get_matrix())
    face = np.radians(actor.get_transform().rotation.yaw + 90.0)
    pose[2, 3] += SIGN_FOOT_M + SIGN_COLUMN_M[2]
    thing = Thing(name, pose, SIGN_COLUMN_M, TAG_SIGN, face_m=SIGN_FACE_M)
    return [(thing, np.array([np.cos(face), np.sin(face)]))]
