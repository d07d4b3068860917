"""Carries out a script's orders to the background traffic: stop, drive on, keep below a speed, clear a place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import cast

import carla

from av_core.orders import CapTraffic, ClearTraffic, DriveInTraffic, LeaveSpace, StartTraffic, StopTraffic, TrafficOrder
from av_core.types import Pose2D
from av_stack.world.carla.actors import actors_in, destroy
from av_stack.world.carla.road_users.traffic import Traffic
from av_stack.world.carla.truth import BACKGROUND_ROLE

BESIDE_M = 8.0
"""Largest distance to the side of the ego of a vehicle on the same road; it must also have nearly the same heading."""

SAME_WAY_COS = math.cos(math.radians(45.0))

ON_LANE_M = 2.0
"""A vehicle is on the ego's lane if it is within this distance of one of the lane's points ahead."""

LANE_STEP_M = 2.0
"""Distance between these points."""

CAP_EVERY_TICKS = 20
"""Ticks between two applications of a speed limit, so that it also holds for vehicles that were spawned since."""

MPS_PER_KMH = 1.0 / 3.6


class BackgroundOrders:
    """Carries out orders to the vehicles with the role of background traffic; `traffic` drives them."""

    def __init__(
        self, client: carla.Client, world: carla.World, ego: carla.Vehicle, traffic: Callable[[], Traffic]
    ) -> None:
        self._client, self._world, self._ego, self._traffic = client, world, ego, traffic
        self._stopped: dict[int, carla.Vehicle] = {}
        self._wanted_mps: dict[int, float] = {}
        self._cap_mps: float | None = None
        self._ticks = 0

    def carry_out(self, order: TrafficOrder) -> None:
        """Carry out one order."""
        if isinstance(order, ClearTraffic):
            self._remove(lambda vehicle: _is_near(vehicle.get_location(), order))
        elif isinstance(order, LeaveSpace):
            lane = tuple(self._lane_ahead(order.within_m))
            self._remove(lambda vehicle: _is_near(vehicle.get_location(), ClearTraffic(lane, ON_LANE_M)))
        elif isinstance(order, CapTraffic):
            self._cap(order.speed_mps)
        elif isinstance(order, StopTraffic):
            self._stop(order)
        else:
            assert isinstance(order, StartTraffic)
            self._start()

    def drive(self, vehicle: carla.Vehicle, order: DriveInTraffic) -> None:
        """Let the traffic drive a vehicle at the order's speed, unless another order stops it or caps its speed."""
        if vehicle.id not in self._wanted_mps:
            self._traffic().drive_in_background(vehicle, ignores_signals=order.ignores_signals)
        self._wanted_mps[vehicle.id] = order.speed_mps
        if vehicle.id not in self._stopped:
            self._set_speed(vehicle)

    def step(self) -> None:
        """Apply the present speed limit to new vehicles, too; call it once per tick."""
        self._ticks += 1
        if self._cap_mps is not None and self._ticks % CAP_EVERY_TICKS == 0:
            self._cap(self._cap_mps)

    def _vehicles(self) -> Iterator[carla.Vehicle]:
        for actor in actors_in(self._world, "vehicle.*"):
            if actor.attributes.get("role_name") == BACKGROUND_ROLE:
                yield cast("carla.Vehicle", actor)

    def _remove(self, is_meant: Callable[[carla.Vehicle], bool]) -> None:
        within = [vehicle.id for vehicle in self._vehicles() if is_meant(vehicle)]
        for actor_id in within:
            self._stopped.pop(actor_id, None)
            self._wanted_mps.pop(actor_id, None)
        if within:
            destroy(self._client, within)

    def _cap(self, speed_mps: float | None) -> None:
        was_capped, self._cap_mps = self._cap_mps is not None, speed_mps
        if speed_mps is None and not was_capped:
            return
        for vehicle in self._vehicles():
            if vehicle.id not in self._stopped:
                self._set_speed(vehicle)

    def _set_speed(self, vehicle: carla.Vehicle) -> None:
        wanted_mps = self._wanted_mps.get(vehicle.id)
        if wanted_mps is not None:
            cap_mps = math.inf if self._cap_mps is None else self._cap_mps
            self._traffic().drive_at(vehicle, min(wanted_mps, cap_mps))
            return
        limit_mps = vehicle.get_speed_limit() * MPS_PER_KMH
        if self._cap_mps is None or self._cap_mps >= limit_mps:
            self._traffic().drive_at_limit(vehicle)
        else:
            self._traffic().drive_at(vehicle, self._cap_mps)

    def _stop(self, order: StopTraffic) -> None:
        for vehicle in self._vehicles():
            if self._is_ahead(vehicle, order.within_m, -1.0 if order.is_behind else 1.0):
                self._stopped[vehicle.id] = vehicle
                self._traffic().drive_at(vehicle, 0.0)
                vehicle.set_light_state(carla.VehicleLightState.Brake)

    def _start(self) -> None:
        there = {vehicle.id for vehicle in self._vehicles()}
        for vehicle in self._stopped.values():
            if vehicle.id in there:
                vehicle.set_light_state(carla.VehicleLightState.NONE)
                self._set_speed(vehicle)
        self._stopped.clear()

    def _lane_ahead(self, within_m: float) -> Iterator[Pose2D]:
        """Places on the ego's lane up to `within_m` ahead; where the lane branches, on the branch that turns least."""
        at = self._world.get_map().get_waypoint(self._ego.get_location())
        for _ in range(int(within_m / LANE_STEP_M)):
            heading = at.transform.get_forward_vector()
            branches = at.next(LANE_STEP_M)
            if not branches:
                return
            at = max(branches, key=lambda branch: heading.dot(branch.transform.get_forward_vector()))
            place = at.transform
            yield Pose2D(place.location.x, -place.location.y, -math.radians(place.rotation.yaw))

    def _is_ahead(self, vehicle: carla.Vehicle, within_m: float, way: float = 1.0) -> bool:
        """Whether a vehicle drives on the ego's road in the ego's direction, in front of the ego within `within_m`.

        With `way` -1: behind the ego.
        """
        ego, other = self._ego.get_transform(), vehicle.get_transform()
        forward, its = ego.get_forward_vector(), other.get_forward_vector()
        dx, dy = other.location.x - ego.location.x, other.location.y - ego.location.y
        ahead_m, side_m = dx * forward.x + dy * forward.y, abs(dy * forward.x - dx * forward.y)
        same_way = forward.x * its.x + forward.y * its.y > SAME_WAY_COS
        return 0.0 < way * ahead_m <= within_m and side_m <= BESIDE_M and same_way


def _is_near(at: carla.Location, order: ClearTraffic) -> bool:
    return any(math.hypot(at.x - place.x_m, -at.y - place.y_m) < order.within_m for place in order.places)
