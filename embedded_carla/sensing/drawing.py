"""Creates the renderer when the first image is wanted, and converts actors to what it draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from embedded_carla.log import log_failure
from embedded_carla.maps.build import LoadedMap
from embedded_carla.render import Renderer, RenderError
from embedded_carla.render.look import look_of
from embedded_carla.scene import ActorView, SceneState
from embedded_carla.types import SignalColour, Transform, Vector3
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode
from embedded_carla.world.lamps import OFF, nearest_lamps

_SRGB_GAMMA = 2.2
_LAMP_REACH_M = 5.0  # largest horizontal distance between a lamp's light and its post
_GREY: Vector3 = (0.4, 0.4, 0.4)


class Drawing:
    """Owns the renderer of the present map, one at a time. Without OpenGL there is none, and the log says so once.

    `look` is the seed of the pictures' look.
    """

    def __init__(self, look: int) -> None:
        self._look = look
        self._renderer: Renderer | None = None
        self._version = ""
        self._is_impossible = False
        self._shown: tuple[int, int, int] | None = None

    def renderer(self, loaded: LoadedMap) -> Renderer | None:
        """The renderer of this map, or None on a machine that cannot draw."""
        if self._is_impossible:
            return None
        if self._renderer is None or self._version != loaded.version:
            self.close()
            try:
                self._renderer = Renderer(loaded.scenery, look_of(self._look))
            except RenderError as error:
                self._is_impossible = True
                log_failure(f"cameras and LiDAR stay silent: {error}")
                return None
            self._version = loaded.version
        return self._renderer

    def renderer_for(self, episode: Episode) -> Renderer | None:
        """The renderer, showing this episode's hidden objects and lamps; None on a machine that cannot draw."""
        renderer = self.renderer(episode.map)
        key = (episode.episode_id, episode.environment.version, episode.lamps.version)
        if renderer is not None and key != self._shown:
            renderer.show(scene_state(episode))
            self._shown = key
        return renderer

    def close(self) -> None:
        self._shown = None
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


def actor_views(episode: Episode) -> list[ActorView]:
    """What the renderer draws of all vehicles, walkers and static props."""
    vehicles = _vehicle_views(episode)
    walkers = [_walker_view(episode, actor) for actor in episode.actors.of_kind(ActorKind.WALKER)]
    props = [_prop_view(a) for a in episode.actors.of_kind(ActorKind.PROP) if a.type_id.startswith("static.prop")]
    return vehicles + walkers + props


def signal_colours(episode: Episode) -> Mapping[str, SignalColour]:
    lights = episode.roadside.lights
    return {signal_id: lights.state(signal_id) for signal_id in lights.ids}


def scene_state(episode: Episode) -> SceneState:
    """Objects that clients have hidden, and the lamps; a lamp whose post is hidden gives no light."""
    environment, lamps = episode.environment, episode.lamps
    hidden, mode = environment.hidden_placements(), lamps.mode()
    posts = [i for i, p in enumerate(episode.map.scenery.placements) if p.prototype == "street_lamp" and hidden[i]]
    places = [episode.map.scenery.placements[i].transform.location for i in posts]
    gone = nearest_lamps(episode.map.scenery.lamps, places, _LAMP_REACH_M)
    mode[gone[gone >= 0]] = OFF
    return SceneState(hidden, environment.hidden_meshes(), mode, lamps.colour(), lamps.intensity())


def _vehicle_views(episode: Episode) -> list[ActorView]:
    fleet, doors = episode.fleet, episode.doors
    place, turn, velocity = fleet.location.tolist(), fleet.rotation_deg.tolist(), fleet.velocity.tolist()
    steer, phase = fleet.steer_rad.tolist(), fleet.wheel_phase_rad.tolist()
    views = []
    for actor in episode.actors.of_kind(ActorKind.VEHICLE):
        slot = actor.slot
        views.append(ActorView(
            actor.actor_id, fleet.spec(slot).shape, Transform(*place[slot], *turn[slot]), actor.box.extent,
            _colour(actor), actor.tag, actor.lights, steer[slot], phase[slot], actor.look_seed,
            doors.angles_rad(actor) if actor.doors else (),
            _posed_wheels(episode, actor), actor.type_id, math.hypot(*velocity[slot]), actor.instance,
        ))  # fmt: skip
    return views


def _posed_wheels(episode: Episode, actor: Actor) -> tuple[tuple[float, float], ...]:
    """(steer, rotation about the axle) in rad of the four wheels, or () if no client has posed any.

    Clients can pose wheels only of a vehicle without physics.
    """
    fleet, slot, posed = episode.fleet, actor.slot, actor.wheel_angles_deg
    if not posed or fleet.physics[slot]:
        return ()
    steer, turn = float(np.degrees(fleet.steer_rad[slot])), float(np.degrees(fleet.wheel_phase_rad[slot]))
    angles = (posed.get(wheel, (steer if wheel < 2 else 0.0, turn)) for wheel in range(4))
    return tuple((float(np.radians(a)), float(np.radians(b))) for a, b in angles)


def _walker_view(episode: Episode, actor: Actor) -> ActorView:
    """A walker is drawn from its feet, whereas its actor's origin is the middle of the body."""
    pose = episode.pose_of(actor)
    feet = Transform(pose.x, pose.y, pose.z - actor.box.extent[2], pose.pitch_deg, pose.yaw_deg, pose.roll_deg)
    return ActorView(
        actor.actor_id, "walker", feet, actor.box.extent, _GREY, actor.tag,
        phase_rad=float(episode.crowd.phase_rad[actor.slot]), seed=actor.look_seed, number=actor.instance,
    )  # fmt: skip


def _prop_view(actor: Actor) -> ActorView:
    name = actor.type_id.rsplit(".", 1)[-1]
    return ActorView(
        actor.actor_id, name, actor.pose, actor.box.extent, _GREY, actor.tag, seed=actor.look_seed,
        number=actor.instance,
    )  # fmt: skip


def _colour(actor: Actor) -> Vector3:
    """The `color` attribute "r,g,b" (sRGB, 0 to 255), converted to linear light."""
    return _linear(actor.description.value("color"))


@lru_cache(maxsize=1024)
def _linear(colour: str) -> Vector3:
    parts = colour.split(",")
    if len(parts) != 3 or not all(part.strip().isdecimal() for part in parts):
        return _GREY
    r, g, b = ((min(int(part), 255) / 255.0) ** _SRGB_GAMMA for part in parts)
    return (r, g, b)
