"""Decides which cars of the background traffic are spawned and removed, and how fast they drive.

Pure: situations in, orders out. Distances and numbers are from `background_activity.py` of scenario_runner v0.9.16.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from av_core.frames import map_to_vehicle
from av_core.orders import (
    BackgroundOrder,
    CrossingSpace,
    Destroy,
    DriveInTraffic,
    FollowingTraffic,
    LaneTraffic,
    Move,
    OncomingTraffic,
    Order,
    QuietJunction,
    Spawn,
    TrafficAhead,
)
from av_core.types import Pose2D
from scenarios.background.cars import (
    FASTEST_MPS,
    FRONT_CARS,
    SPACING_M,
    Car,
    Role,
    Seen,
    see,
    share_behind,
    speed_share,
)
from scenarios.background.lanes import JunctionAhead, LanePlace, LanesAlong
from scenarios.script.places import Roads
from scenarios.script.situation import Situation, distance_m, speed_mps

EVERY_TICKS = 5
"""Ticks from one decision to the next."""

BACK_CARS = 2
"""Number of cars behind the ego on each lane."""

ONCOMING_FROM_M = 80.0
"""Distance ahead of the ego at which oncoming cars are spawned."""

ONCOMING_GAP_M = 40.0
"""Least distance between two oncoming cars on one lane when the second is spawned."""

CLEAR_OF_EGO_M = 20.0
"""Least distance from the ego at which an oncoming car is spawned."""

SOURCE_M = 40.0
"""Distance before a junction at which crossing traffic is spawned on the roads that lead in."""

SOURCE_MIN_M = 15.0
"""Least such distance, where the road is shorter than `SOURCE_M`."""

SOURCE_CARS = 6
"""Largest number of crossing cars from one lane at a time."""

SOURCE_SHARE = 0.8
"""Probability that a lane that leads into a junction has crossing traffic."""

JUNCTION_M = 30.0
"""A junction gets its traffic when the ego is nearer to it than this distance plus `JUNCTION_S` times its speed."""

JUNCTION_S = 1.5
"""See `JUNCTION_M`."""

FREE_M = 8.0
"""A car is spawned only if no other road user is within this distance along the lane and `FREE_BESIDE_M` across it."""

FREE_BESIDE_M = 2.5
"""See `FREE_M`."""

BEHIND_M = 90.0
"""A car is removed when it is farther behind the ego than this, along the route."""

LOST_M = 130.0
"""A car is removed when it is farther away from the ego than this, in a straight line."""

FOLLOWED_M = 200.0
"""A script's actor that drives on the ego's lane within this distance behind the ego counts as its follower."""

STUCK_M = 25.0
"""A car that stands ahead of the ego within this distance behind an actor of the script is removed.

Otherwise it would wait there for ever, and the ego would never meet the actor itself."""

STANDING_MPS = 0.5
"""Speed below which a car counts as standing."""

LANE_M = 3.5
"""Distance between the middles of two lanes."""

AGAIN_S = 2.0
"""Where a lane gets traffic again, its cars are spawned farther apart than usual, by this time at the ego's speed."""

CROSSING_FREE_M = 20.0
"""Oncoming cars nearer than this to a place where somebody crosses the road are removed."""

CROSSING_STOP_M = 30.0
"""Oncoming cars nearer than this to such a place, but not removed, are stopped."""

CARS_MAX = 40
"""Largest number of background cars at a time."""

PATIENCE = 3
"""Number of decisions in a row without a car among the actors after which the car is forgotten."""

SPEED_STEP_MPS = 0.5
"""A smaller change of speed is not ordered."""

BLUEPRINTS = (
    "vehicle.audi.a2", "vehicle.audi.etron", "vehicle.audi.tt", "vehicle.bmw.grandtourer", "vehicle.chevrolet.impala",
    "vehicle.citroen.c3", "vehicle.dodge.charger_2020", "vehicle.ford.mustang", "vehicle.lincoln.mkz_2020",
    "vehicle.mercedes.coupe_2020", "vehicle.mini.cooper_s_2021", "vehicle.nissan.patrol_2021", "vehicle.seat.leon",
    "vehicle.tesla.model3", "vehicle.toyota.prius",
)  # fmt: skip
COLOURS = ("20,20,20", "220,220,220", "90,95,100", "150,20,20", "25,45,110", "60,80,60")


class BackgroundTraffic:
    """The background traffic of one drive; call `step` after each tick.

    Equal situations give equal orders, because all random numbers come from `seed`. The names of the cars contain a
    blank. Names in a script cannot contain one, so it tells the cars from a script's actors.
    """

    def __init__(self, roads: Roads, seed: int) -> None:
        self._lanes = LanesAlong(roads)
        self._rng = np.random.default_rng((seed, 2_000_000))
        self._cars: list[Car] = []
        self._ticks = self._count = 0
        self._sources: dict[int, list[LanePlace]] = {}
        self._quiet: JunctionAhead | None = None
        self._others_wait = self._is_way_to_clear = False
        self._oncoming_comes = self._following_comes = True
        self._space_m = self._exit_space_m = 0.0
        self._closed: set[int] = set()
        self._to_clear: list[int] = []
        self._to_fill: list[int] = []
        self._crossings: list[Pose2D] = []

    def obey(self, order: BackgroundOrder, route_m: float) -> None:
        """Follow `order` from now on; the ego is at `route_m` along its route."""
        if isinstance(order, OncomingTraffic):
            self._oncoming_comes = order.comes
        elif isinstance(order, FollowingTraffic):
            self._following_comes = order.comes
        elif isinstance(order, TrafficAhead):
            self._space_m = order.space_m
        elif isinstance(order, CrossingSpace):
            self._crossings.append(order.place)
        elif isinstance(order, LaneTraffic):
            self._open_or_close(order)
        else:
            self._keep_out(order, route_m)

    def _open_or_close(self, order: LaneTraffic) -> None:
        if not order.comes:
            self._closed.add(order.left)
            self._to_clear.append(order.left)
        elif order.left in self._closed:
            self._closed.remove(order.left)
            self._to_fill.append(order.left)

    def _keep_out(self, order: QuietJunction, route_m: float) -> None:
        """Keep traffic out of the next junction after `route_m` on the route until the ego has passed it."""
        self._quiet, self._others_wait = self._lanes.junction_at(route_m), order.others_wait
        self._exit_space_m = order.exit_space_m
        self._is_way_to_clear = True

    def step(self, now: Situation) -> tuple[Order, ...]:
        """The orders after a tick; none in most ticks, because decisions are made every `EVERY_TICKS` ticks."""
        self._ticks += 1
        if (self._ticks - 1) % EVERY_TICKS:
            return ()
        seen = self._look(now)
        if self._quiet is not None and self._quiet.end_m < now.route_m:
            self._quiet = None
        gone = {*self._gone(seen, now), *self._kept_out(seen, now), *self._cleared(seen)}
        self._is_way_to_clear = False
        self._to_clear.clear()
        seen = [one for one in seen if one.car.name not in gone]
        self._cars = [car for car in self._cars if car.name not in gone]
        orders: list[Order] = [Destroy(name) for name in sorted(gone)]
        orders += self._stopped(seen)
        self._crossings.clear()
        limit_mps = min(float(self._lanes.route.speed_limit_mps[self._lanes.route.row_at(now.route_m)]), FASTEST_MPS)
        for one in seen:
            orders += self._drive(one.car, limit_mps * self._share(one, now, limit_mps))
        return (*orders, *self._come(seen, now, limit_mps))

    def _share(self, one: Seen, now: Situation, limit_mps: float) -> float:
        """Speed of a car as a fraction of the speed limit."""
        if self._has_to_wait(one):
            return 0.0
        ego_mps = speed_mps(now.ego)
        is_behind = one.is_on_route and one.car.role is not Role.ONCOMING and one.s_m < now.route_m
        if self._quiet is not None and is_behind:
            return share_behind(now.route_m - one.s_m, ego_mps / limit_mps)
        return speed_share(one, now.route_m, ego_mps, self._space_m)

    def _look(self, now: Situation) -> list[Seen]:
        for car in self._cars:
            car.unseen = 0 if car.name in now.actors else car.unseen + 1
        self._cars = [car for car in self._cars if car.unseen <= PATIENCE]
        return see(self._cars, now.actors, self._lanes.route, now.route_m)

    # ---------------------------------------------------------------- cars that are removed

    def _gone(self, seen: list[Seen], now: Situation) -> Iterator[str]:
        yield from self._too_many(seen, now)
        things = [actor.pose for name, actor in now.actors.items() if " " not in name and actor is not now.ego]
        passed = {number for number, one in enumerate(self._lanes.junctions) if one.end_m < now.route_m}
        for one in seen:
            away_m = distance_m(one.pose, now.ego.pose)
            is_stuck = one.is_on_route and one.s_m > now.route_m and one.speed_mps < STANDING_MPS
            if (
                away_m > LOST_M + self._exit_space_m
                or (one.s_m < now.route_m - BEHIND_M and away_m > ONCOMING_FROM_M)
                or (one.car.role is Role.ONCOMING and one.s_m < now.route_m and away_m > ONCOMING_FROM_M)
                or (one.car.junction in passed and not one.is_on_route and away_m > ONCOMING_GAP_M)
                or (is_stuck and any(_is_before(one.pose, thing) for thing in things))
            ):
                yield one.car.name

    def _too_many(self, seen: list[Seen], now: Situation) -> Iterator[str]:
        """Names of the cars beyond the first `FRONT_CARS` ahead of the ego, on each lane of its direction.

        Cars before the next junction and cars behind it are counted separately.
        """
        junction = self._lanes.junction_at(now.route_m)
        end_m = junction.start_m if junction is not None else np.inf
        ahead: dict[tuple[bool, int], list[Seen]] = {}
        for one in seen:
            if one.is_on_route and one.s_m > now.route_m and one.car.role is not Role.ONCOMING:
                ahead.setdefault((one.s_m > end_m, _lane(one.d_m)), []).append(one)
        for cars in ahead.values():
            cars.sort(key=lambda one: one.s_m)
            yield from (one.car.name for one in cars[FRONT_CARS:])

    def _kept_out(self, seen: list[Seen], now: Situation) -> Iterator[str]:
        """Names of the cars in the quiet junction and, right after the order, of those between the ego and it."""
        if self._quiet is None:
            return
        for one in seen:
            is_on_way = one.is_on_route and now.route_m < one.s_m <= self._quiet.start_m
            is_between = self._is_way_to_clear and is_on_way and one.car.role is not Role.ONCOMING
            if is_between or self._lanes.is_inside(self._quiet, one.pose):
                yield one.car.name

    def _cleared(self, seen: list[Seen]) -> Iterator[str]:
        """Names of the cars on lanes that were just closed, and of oncoming cars where somebody crosses the road."""
        for one in seen:
            is_on_lane = one.is_on_route and one.car.role is not Role.ONCOMING and _lane(one.d_m) in self._to_clear
            if is_on_lane or self._is_near_crossing(one, CROSSING_FREE_M):
                yield one.car.name

    def _stopped(self, seen: list[Seen]) -> Iterator[Order]:
        """Orders that stop the oncoming cars near a crossing until they get another order."""
        return (Move(one.car.name, (0.0, 0.0)) for one in seen if self._is_near_crossing(one, CROSSING_STOP_M))

    def _is_near_crossing(self, one: Seen, within_m: float) -> bool:
        is_oncoming = one.car.role is Role.ONCOMING
        return is_oncoming and any(distance_m(one.pose, place) < within_m for place in self._crossings)

    def _has_to_wait(self, one: Seen) -> bool:
        """Whether a car on another road than the ego's has to stop before the quiet junction."""
        if self._quiet is None or not self._others_wait or one.car.role is not Role.CROSSING:
            return False
        return one.car.junction == self._lanes.junctions.index(self._quiet)

    # ---------------------------------------------------------------- cars that are spawned

    def _come(self, seen: list[Seen], now: Situation, limit_mps: float) -> Iterator[Order]:
        taken = [body.pose for body in now.bodies] + [one.pose for one in seen]
        if self._ticks == 1:
            yield from self._start(now, taken)
            return
        junction = self._lanes.junction_at(now.route_m)
        reach_m = JUNCTION_M + JUNCTION_S * speed_mps(now.ego)
        if junction is not None and junction.start_m - now.route_m < reach_m:
            self._closed.clear()
            self._to_fill.clear()
            yield from self._come_to_junction(junction, seen, now, taken, limit_mps)
            return
        if self._to_fill:
            yield from self._fill(now, taken)
            self._to_fill.clear()
        if self._following_comes and self._quiet is None:
            yield from self._come_behind(seen, now, taken)
        if self._oncoming_comes:
            yield from self._come_against(seen, now, taken, limit_mps)

    def _start(self, now: Situation, taken: list[Pose2D]) -> Iterator[Order]:
        """Spawn the cars of the drive's beginning: ahead and behind on each lane, up to the next junction."""
        for place in self._lanes.same_way(now.route_m):
            yield from self._around(place, SPACING_M, taken, 0.0)

    def _fill(self, now: Situation, taken: list[Pose2D]) -> Iterator[Order]:
        """Spawn cars, at the ego's speed, on the lanes that were just opened again."""
        ego_mps = speed_mps(now.ego)
        for place in self._lanes.same_way(now.route_m):
            if _lane(self._beside_m(place)) in self._to_fill:
                yield from self._around(place, SPACING_M + AGAIN_S * ego_mps, taken, ego_mps)

    def _around(self, place: LanePlace, spacing_m: float, taken: list[Pose2D], mps: float) -> Iterator[Order]:
        """Spawn cars ahead of a place and behind it, `spacing_m` apart, up to the next junction."""
        for sign, count in ((1.0, FRONT_CARS), (-1.0, BACK_CARS)):
            for number in range(1, count + 1):
                there = self._lanes.ahead(place, sign * number * spacing_m)
                if there is None:
                    break
                yield from self._spawn(there, Role.ALONG, taken, mps)

    def _come_behind(self, seen: list[Seen], now: Situation, taken: list[Pose2D]) -> Iterator[Order]:
        """Spawn cars behind the ego on each lane of its direction, until there are enough ahead and behind.

        None is spawned on a lane on which an actor of the script follows the ego: it would come between the two.
        """
        for place in self._lanes.same_way(now.route_m):
            beside_m = self._beside_m(place)
            if _lane(beside_m) in self._closed or self._has_follower(beside_m, now):
                continue
            own = [one for one in seen if one.is_on_route and abs(one.d_m - beside_m) < LANE_M / 2.0]
            near = [one for one in own if abs(one.s_m - now.route_m) < LOST_M]
            last_m = min([now.route_m, *(one.s_m for one in near)])
            source_m = now.route_m - BACK_CARS * SPACING_M
            if len(near) < FRONT_CARS + BACK_CARS and last_m - source_m >= SPACING_M:
                there = self._lanes.ahead(place, source_m - now.route_m)
                if there is not None:
                    yield from self._spawn(there, Role.ALONG, taken, speed_mps(now.ego))

    def _has_follower(self, beside_m: float, now: Situation) -> bool:
        """Whether an actor of the script drives behind the ego, on the lane `beside_m` to the left of the route."""
        curve = self._lanes.route.curve
        for name, actor in now.actors.items():
            if " " in name or actor is now.ego or speed_mps(actor) < STANDING_MPS:
                continue
            at = curve.project(actor.pose.x_m, actor.pose.y_m, follow_bend=False)
            if -FOLLOWED_M < float(at.s_m) - now.route_m < 0.0 and abs(float(at.d_m) - beside_m) < LANE_M / 2.0:
                return True
        return False

    def _come_against(self, seen: list[Seen], now: Situation, taken: list[Pose2D], limit_mps: float) -> Iterator[Order]:
        """Spawn oncoming cars `ONCOMING_FROM_M` ahead of the ego, or before the next junction if that is nearer."""
        junction = self._lanes.junction_at(now.route_m)
        end_m = junction.start_m - 1.0 if junction is not None else self._lanes.route.length_m
        source_m = min(now.route_m + ONCOMING_FROM_M, end_m)
        for number, place in enumerate(self._lanes.oncoming(source_m)):
            last = [one.pose for one in seen if one.car.role is Role.ONCOMING and one.car.source == number]
            is_free = not last or distance_m(last[-1], place.pose) > ONCOMING_GAP_M
            if is_free and distance_m(place.pose, now.ego.pose) > CLEAR_OF_EGO_M:
                yield from self._spawn(place, Role.ONCOMING, taken, limit_mps, source=number)

    def _beside_m(self, place: LanePlace) -> float:
        """Offset of a place to the left of the route, m."""
        return float(self._lanes.route.curve.project(place.pose.x_m, place.pose.y_m).d_m)

    def _come_to_junction(
        self, junction: JunctionAhead, seen: list[Seen], now: Situation, taken: list[Pose2D], limit_mps: float
    ) -> Iterator[Order]:
        """Spawn cars on the other roads that lead into a junction, and two on each lane of the route behind it.

        The two behind the junction are spawned at rest, once.
        """
        number = self._lanes.junctions.index(junction)
        if number not in self._sources:
            places = self._lanes.sources(junction, SOURCE_M, SOURCE_MIN_M)
            self._sources[number] = [place for place in places if self._rng.random() < SOURCE_SHARE]
            for place in self._lanes.same_way(junction.end_m + 1.0):
                for ahead_m in (2.0 * SPACING_M, 3.0 * SPACING_M):
                    there = self._lanes.ahead(place, ahead_m + self._exit_space_m)
                    if there is not None:
                        yield from self._spawn(there, Role.ALONG, taken, 0.0)
        for source, place in enumerate(self._sources[number]):
            own = [one for one in seen if (one.car.junction, one.car.source) == (number, source)]
            last = own[-1].pose if own else now.ego.pose
            if len(own) < SOURCE_CARS and distance_m(last, place.pose) > SPACING_M:
                yield from self._spawn(place, Role.CROSSING, taken, 0.5 * limit_mps, number, source)

    def _spawn(
        self, place: LanePlace, role: Role, taken: list[Pose2D], mps: float, junction: int = -1, source: int = -1
    ) -> Iterator[Order]:
        pose = place.pose
        if len(self._cars) >= CARS_MAX or any(_is_taken(pose, other) for other in taken):
            return
        self._count += 1
        car = Car(f"background {self._count}", role, junction, source)
        self._cars.append(car)
        taken.append(pose)
        blueprint = BLUEPRINTS[int(self._rng.integers(len(BLUEPRINTS)))]
        colour = COLOURS[int(self._rng.integers(len(COLOURS)))]
        attributes = {"role_name": "background", "color": colour}
        yield Spawn(car.name, blueprint, pose, is_needed=False, attributes=attributes)
        yield Move(car.name, (mps * float(np.cos(pose.yaw_rad)), mps * float(np.sin(pose.yaw_rad))))
        yield from self._drive(car, mps)

    def _drive(self, car: Car, mps: float) -> Iterator[Order]:
        if car.told_mps is None or abs(car.told_mps - mps) >= SPEED_STEP_MPS or (mps == 0.0) != (car.told_mps == 0.0):
            car.told_mps = mps
            yield DriveInTraffic(car.name, mps, ignores_signals=car.role is Role.ONCOMING)


def _lane(left_m: float) -> int:
    """The lane of a place `left_m` to the left of the route, as the number of lanes between it and the route's lane."""
    return round(left_m / LANE_M)


def _is_taken(place: Pose2D, other: Pose2D) -> bool:
    """Whether the road user `other` leaves no room for a car at `place`."""
    ahead_m, left_m = _relative(place, other)
    return abs(ahead_m) < FREE_M and abs(left_m) < FREE_BESIDE_M


def _is_before(car: Pose2D, thing: Pose2D) -> bool:
    """Whether `thing` lies ahead of `car` within `STUCK_M`, on its lane or close beside."""
    ahead_m, left_m = _relative(car, thing)
    return 0.0 < ahead_m < STUCK_M and abs(left_m) < LANE_M


def _relative(to: Pose2D, other: Pose2D) -> tuple[float, float]:
    """Distance of `other` ahead of and to the left of the pose `to`, m."""
    ahead_m, left_m = map_to_vehicle((other.x_m, other.y_m), to)
    return float(ahead_m), float(left_m)
