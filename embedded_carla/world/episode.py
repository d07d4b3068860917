"""One episode: a map, its actors, and how they move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.errors import CommandError
from embedded_carla.handling import Handling
from embedded_carla.maps.build import LoadedMap
from embedded_carla.types import (
    BoundingBox,
    Float,
    Transform,
    Vector3,
    VehicleControl,
    WalkerControl,
    WeatherParameters,
)
from embedded_carla.wire.codec import ActorDescription
from embedded_carla.world.actors import Actor, ActorKind, ActorTable
from embedded_carla.world.bodies_kernel import gather
from embedded_carla.world.bounds import hold_within
from embedded_carla.world.collision.boxes import StaticBoxes
from embedded_carla.world.collision.contacts import CollisionHit, ContactSolver
from embedded_carla.world.debug import DebugShapes
from embedded_carla.world.environment import Environment
from embedded_carla.world.lamps import StreetLamps
from embedded_carla.world.raycast import RayCaster
from embedded_carla.world.signals.roadside import Roadside
from embedded_carla.world.snapshot import SnapshotTable
from embedded_carla.world.vehicles.ackermann import AckermannDrivers
from embedded_carla.world.vehicles.doors import Doors
from embedded_carla.world.vehicles.fleet import VehicleFleet
from embedded_carla.world.vehicles.loose_controls import LooseControls
from embedded_carla.world.walkers.crowd import WalkerCrowd

DEFAULT_WEATHER = WeatherParameters(
    sun_altitude_angle=45.0, sun_azimuth_angle=0.0, fog_distance=0.75, fog_falloff=0.1,
    scattering_intensity=1.0, mie_scattering_scale=0.03,
)  # fmt: skip
_Rows = tuple[NDArray[np.intp], NDArray[np.intp]]


class Episode:
    """The state of the world between two map loads. `tick` is the only thing that lets time pass."""

    def __init__(
        self,
        episode_id: int,
        loaded: LoadedMap,
        actor_ids: Iterator[int],
        stream_ids: Iterator[int],
        handling: Handling = Handling.CARLA,
    ) -> None:
        self.episode_id = episode_id
        self.map = loaded
        self.actor_ids = actor_ids
        self.stream_ids = stream_ids
        self.frame = 0
        self.time_s = 0.0
        self.delta_s = 0.05
        self.imu_gravity_mps2 = 9.81
        self.lamps = StreetLamps(loaded.scenery.lamps, DEFAULT_WEATHER.sun_altitude_angle)
        self.environment = Environment(loaded.scenery)
        self.set_weather(DEFAULT_WEATHER)
        self.actors = ActorTable()
        self.table = SnapshotTable()
        self.fleet = VehicleFleet(loaded.scenery.ground, handling)
        self.crowd = WalkerCrowd(loaded.scenery.ground)
        self.doors = Doors()
        self.contacts = ContactSolver(loaded.scenery.colliders, self.actors, self.fleet, self.crowd, self.doors)
        self.rays = RayCaster(loaded.scenery, self.environment, self.contacts.boxes)
        self.hits: list[CollisionHit] = []
        self.debug = DebugShapes()
        self.loose_controls = LooseControls()
        self.ackermann = AckermannDrivers(self.fleet, self.loose_controls, self.set_pedals)
        self._rows: dict[ActorKind, _Rows] = {}
        self._named: dict[ActorKind, tuple[Sequence[int], _Rows]] = {}
        self._heights: NDArray[np.float32] | None = None  # of the walkers
        self._lights_changed = False
        self.spectator = self._add_spectator()
        self.roadside = Roadside(loaded.scenery, self)

    # ------------------------------------------------------------ actors

    def _add_spectator(self) -> Actor:
        spawn_points = self.map.scenery.spawn_points
        start = spawn_points[0] if spawn_points else Transform()
        pose = Transform(start.x, start.y, start.z + 10.0, -20.0, start.yaw_deg)
        description = ActorDescription(0, "spectator", ())
        actor = Actor(next(self.actor_ids), ActorKind.SPECTATOR, description, BoundingBox(), pose)
        self.register(actor)
        return actor

    def register(self, actor: Actor) -> None:
        self.actors.add(actor)
        self.table.add(actor)
        self._forget_rows()
        self.contacts.forget_roster()

    def unregister(self, actor: Actor) -> None:
        self.doors.close_all(actor)
        self.actors.remove(actor)
        self.table.remove(actor)
        self._forget_rows()
        self.contacts.forget_roster()

    def _forget_rows(self) -> None:
        self._rows.clear()
        self._named.clear()
        self._heights = None

    def pose_of(self, actor: Actor) -> Transform:
        """The actor's world pose now."""
        if actor.slot >= 0:
            body = self.fleet if actor.kind is ActorKind.VEHICLE else self.crowd
            x, y, z = body.location[actor.slot].tolist()
            if actor.kind is ActorKind.WALKER:
                z += actor.box.extent[2]
            return Transform(x, y, z, *body.rotation_deg[actor.slot].tolist())
        return actor.pose

    def velocity_of(self, actor: Actor) -> Vector3:
        """World velocity, m/s, of the actor, or of the vehicle or walker that carries it; zero if there is none."""
        carrier: Actor | None = actor
        while carrier is not None and carrier.slot < 0:
            carrier = carrier.parent
        if carrier is None:
            return (0.0, 0.0, 0.0)
        body = self.fleet if carrier.kind is ActorKind.VEHICLE else self.crowd
        x, y, z = body.velocity[carrier.slot].tolist()
        return (x, y, z)

    def teleport(self, actor: Actor, pose: Transform) -> None:
        """Move the actor at once; the `pose` of an attached actor is relative to its parent, as in CARLA."""
        if actor.kind is ActorKind.VEHICLE:
            self.fleet.teleport(actor.slot, pose)
        elif actor.kind is ActorKind.WALKER:
            self.crowd.teleport(actor.slot, _feet(actor, pose))
        elif actor.parent is not None:
            actor.relative = pose
            self._carry(actor, {})
        else:
            actor.pose = pose
            self.table.place(actor)

    def place_walkers(self, where: _Rows, location: Float, yaw_deg: Float, speed_mps: Float) -> None:
        """Put walkers where a client's own crowd simulation has them; `location` (n, 3) is between the feet.

        `where` is the result of `rows_of`.
        """
        rows, slots = where
        self.crowd.set_states(slots, location, yaw_deg, speed_mps)
        self.table.write_walker_strides(rows, yaw_deg, speed_mps)

    def add_body(self, actor: Actor) -> None:
        """Add a vehicle or walker to the physics."""
        if actor.kind is ActorKind.WALKER:
            actor.slot = self.crowd.add(_feet(actor, actor.pose))
        elif actor.blueprint is not None and actor.blueprint.vehicle is not None:
            actor.slot = self.fleet.add(actor.blueprint.vehicle, actor.pose)

    def set_weather(self, weather: WeatherParameters) -> None:
        self.weather = weather
        self.drawn_weather = weather.with_defaults(DEFAULT_WEATHER)
        self.lamps.set_sun(self.drawn_weather.sun_altitude_angle)

    def renew_scenery(self) -> None:
        """Rebuild the scenery's colliders; call after map objects were shown or hidden: hidden ones do not collide."""
        self.contacts.static = StaticBoxes(self.environment.colliders())

    def control_vehicle(self, actor: Actor, control: VehicleControl) -> None:
        """Apply pedals from a client, which ends Ackermann control."""
        self.ackermann.release(actor)
        self.loose_controls.note((actor.actor_id,))
        self.set_pedals(actor, control)

    def control_vehicles(self, ids: Sequence[int], where: _Rows, values: Float) -> None:
        """`control_vehicle` for many: `where` is `rows_of` the `ids`; `values` (n, 7) are the control fields.

        The values must be within their ranges.
        """
        self.ackermann.release_all(ids)
        self.loose_controls.note(ids)
        rows, slots = where
        self.fleet.set_controls(slots, values)
        self.table.write_vehicle_controls(rows, values)

    def set_pedals(self, actor: Actor, control: VehicleControl) -> None:
        self.fleet.set_control(actor.slot, control)
        self.table.write_vehicle_control(actor.row, control)

    def control_walker(self, actor: Actor, control: WalkerControl) -> None:
        self.crowd.set_control(actor.slot, control)
        self.table.write_walker_control(actor.row, control)

    # ------------------------------------------------------------ time

    def tick(self, frame: int, delta_s: float) -> None:
        """Advance the world by `delta_s`; `frame` is the number of the resulting state."""
        self.frame = frame
        self.time_s += delta_s
        self.delta_s = delta_s
        self._lights_changed = self.lamps.announce()
        for vehicle in self.loose_controls.expire():
            self.ackermann.release(vehicle)
            self.set_pedals(vehicle, VehicleControl())
        self.ackermann.step(delta_s)
        self.fleet.step(delta_s, self.drawn_weather.wetness, self.drawn_weather.precipitation_deposits)
        self.crowd.step(delta_s)
        stopped = self.contacts.swing_doors(delta_s)
        self.hits = stopped + self.contacts.resolve()
        for kind, bodies in ((ActorKind.VEHICLE, self.fleet), (ActorKind.WALKER, self.crowd)):
            hold_within(bodies, self.rows(kind)[1])
        self.roadside.step(delta_s)
        self._write_bodies()
        self._write_attached()

    def rows(self, kind: ActorKind) -> _Rows:
        """(snapshot rows, slots) of the vehicles or walkers."""
        found = self._rows.get(kind)
        if found is None:
            actors = self.actors.of_kind(kind)
            rows = np.array([a.row for a in actors], dtype=np.intp)
            found = self._rows[kind] = (rows, np.array([a.slot for a in actors], dtype=np.intp))
        return found

    def rows_of(self, kind: ActorKind, ids: Sequence[int]) -> _Rows | None:
        """(snapshot rows, slots) of the actors `ids`; None if one is missing, of another kind or listed twice.

        The last answer is cached, because clients name the same actors tick after tick.
        """
        known = self._named.get(kind)
        if known is not None and known[0] == ids:
            return known[1]
        actors = [actor for i in ids if (actor := self.actors.find(i)) is not None and actor.kind is kind]
        if len(set(map(id, actors))) != len(ids):
            return None
        found = tuple(np.array([getattr(a, name) for a in actors], dtype=np.intp) for name in ("row", "slot"))
        self._named[kind] = (ids, (found[0], found[1]))
        return self._named[kind][1]

    def _write_bodies(self) -> None:
        for kind, body in ((ActorKind.VEHICLE, self.fleet), (ActorKind.WALKER, self.crowd)):
            rows, slots = self.rows(kind)
            if not len(rows):
                continue
            motion = np.empty((len(rows), 15), dtype=np.float32)
            gather(
                slots, body.location, body.rotation_deg, body.velocity, body.angular_velocity_degps,
                body.acceleration, motion,
            )  # fmt: skip
            if kind is ActorKind.WALKER:
                motion[:, 2] += self._walker_heights()
                motion[:, 9:] = 0.0
            self.table.write_motion(rows, motion)
            if kind is ActorKind.VEHICLE:
                driven = self.fleet.physics[slots]
                self.table.vehicles["gear"][rows[driven]] = self.fleet.gear[slots[driven]]
                self.roadside.write_vehicles(rows, slots)

    def _walker_heights(self) -> NDArray[np.float32]:
        """Height of each walker's origin, the middle of its body, above its feet, m."""
        if self._heights is None:
            walkers = self.actors.of_kind(ActorKind.WALKER)
            self._heights = np.array([a.box.extent[2] for a in walkers], dtype=np.float32)
        return self._heights

    def _write_attached(self) -> None:
        poses: dict[int, Transform] = {}
        for kind in (ActorKind.SENSOR, ActorKind.PROP):
            for actor in self.actors.of_kind(kind):
                if actor.parent is not None:
                    self._carry(actor, poses, self.delta_s)

    def _carry(self, actor: Actor, poses: dict[int, Transform], delta_s: float = 0.0) -> None:
        """Move an attached actor with its parent; `poses` caches the parents' poses within one tick."""
        parent = actor.parent
        assert parent is not None
        pose = poses.get(parent.actor_id)
        if pose is None:
            if parent.parent is not None:
                self._carry(parent, poses)
            pose = poses[parent.actor_id] = self.pose_of(parent)
        actor.pose = self.hung(actor, pose, delta_s)
        self.table.place(actor)

    def hung(self, actor: Actor, parent_pose: Transform, delta_s: float) -> Transform:
        """World pose of an attached actor; its spring arm, if any, follows for `delta_s`."""
        if actor.arm is None:
            return parent_pose @ actor.relative
        held = [a for a in (actor, actor.parent) if a is not None]
        end = actor.arm.end(parent_pose, delta_s, lambda a, b: self.rays.free_share(a, b, held))
        return end @ actor.relative

    def snapshot(self, platform_s: float, delta_s: float, map_changed: bool) -> bytes:
        """The message of stream 1 for the present state."""
        return self.table.message(
            self.episode_id, self.frame, self.time_s, platform_s, delta_s, map_changed, self._lights_changed
        )

    def vehicle(self, actor_id: int) -> Actor:
        return self.actors.get(actor_id, ActorKind.VEHICLE)

    def walker(self, actor_id: int) -> Actor:
        return self.actors.get(actor_id, ActorKind.WALKER)

    def moving(self, actor_id: int) -> Actor:
        """The vehicle or walker with this id. Raises CommandError for any other actor."""
        actor = self.actors.get(actor_id)
        if actor.slot < 0:
            raise CommandError(f"actor {actor_id} ({actor.type_id}) does not move by itself")
        return actor


def _feet(actor: Actor, pose: Transform) -> Transform:
    """Pose between a walker's feet, from its actor's pose in the middle of the body (CARLA's convention)."""
    return Transform(pose.x, pose.y, pose.z - actor.box.extent[2], pose.pitch_deg, pose.yaw_deg, pose.roll_deg)
