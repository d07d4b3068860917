"""Some types on a real server, before an ego that drives straight on and looks at nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from av_core.frames import map_to_carla_points
from av_core.types import ControlCommand, LightState, Rig, Truth
from av_stack.agents.blind import IdleAgent, StraightAgent
from av_stack.director import Director
from av_stack.mission import world_spec
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from scenarios.judging.scenario_events import ScenarioEvents
from scenarios.leaderboard.plays.site import Site
from scenarios.leaderboard.plays.table import build
from scenarios.model import RouteTable, Scenario
from tests.scenarios.leaderboard.play_sites import junction_sites, site_on, town, way
from tests.scenarios.leaderboard.test_junction_plays import FLOW, site_for
from tests.scenarios.leaderboard.test_plays import NARROW, VALUES, WIDE

STEP_S = 0.05
HOLD_MPS = 0.3


class Server:
    """Plays one type on the server; `seen` are the truths of all ticks."""

    def __init__(self, world: CarlaWorld, scenario: Scenario, site: Site) -> None:
        self.world, self.site = world, site
        self.director = Director(world, site.route, scenario, STEP_S, ScenarioEvents())
        self.seen: list[Truth] = []
        self.commands: list[ControlCommand] = []

    def drive(self, seconds: float, until: str = "end", stop_m: float = 1e9) -> Truth:
        """Drive on at 30 km/h until an event, for at most so long; from `stop_m` after the trigger on, brake."""
        straight, idle = StraightAgent(), IdleAgent()
        curve = self.site.route.curve
        for _ in range(round(seconds / STEP_S)):
            frame = self.world.tick()
            truth = self.world.truth()
            ahead_m = float(curve.project(truth.ego.x_m, truth.ego.y_m).s_m) - self.site.trigger_m
            agent = idle if ahead_m > stop_m else straight
            command = agent.step(frame).command
            assert command is not None
            self.world.apply(command)
            self.director.update(truth, ahead_m + self.site.trigger_m)
            self.seen.append(truth)
            if until in self.director.fired_s:
                break
        return self.seen[-1]


@contextmanager
def playing(address: Address, name: str, site: Site, **values: Any) -> Iterator[Server]:
    bare = Scenario(name="played", map="city_grid", route=RouteTable(start=_on(site, 0.0), goal=_goal(site)))
    script = build(name, site, {**FLOW, **values})
    with closing(CarlaWorld(address, world_spec(bare, Rig(()), "ClearNoon"))) as world:
        yield Server(world, bare.model_copy(update=dict(script)), site)


def _on(site: Site, route_m: float) -> tuple[float, float]:
    """A place on the route in CARLA's frame."""
    x, y, _ = site.route.curve.pose_at(route_m)
    at_x, at_y = (float(value) for value in map_to_carla_points((float(x), float(y))))
    return at_x, at_y


def _goal(site: Site) -> tuple[float, float]:
    return _on(site, site.route.length_m)


def test_the_ego_is_held_at_red_and_a_stream_crosses(city_server: Address) -> None:
    """The lights are held for the ego and the stream, and the stream meets an ego that blocks it."""
    site = site_for("SignalizedJunctionLeftTurn", "left", True)
    junction = site.junction
    (own,) = junction.lights_of(junction.entry)
    with playing(city_server, "SignalizedJunctionLeftTurn", site) as server:
        server.drive(16.0, stop_m=junction.entry_m - 12.0)
        states = [truth.lights[own] for truth in server.seen if len(truth.actors) > 0]
        assert states[20] is LightState.RED
        assert states[-1] is LightState.GREEN
        assert len(server.seen[-1].actors) >= 2
        assert not any(truth.collisions for truth in server.seen)


def test_an_emergency_vehicle_runs_into_an_ego_that_does_not_look(city_server: Address) -> None:
    site = site_for("OppositeVehicleRunningRedLight", "straight", True, direction="left")
    with playing(city_server, "OppositeVehicleRunningRedLight", site, direction="left") as server:
        server.drive(20.0)
        hit = {collision.other for truth in server.seen for collision in truth.collisions}
        assert hit == {"vehicle.dodge.charger_police_2020"}


def test_noise_moves_the_ego_sideways(city_server: Address) -> None:
    """Debris does not stop the ego, and the noise on its steering turns it."""
    graph = town("city_grid")
    site = site_on(graph, way(graph, *WIDE), trigger_m=20.0)
    with playing(city_server, "ControlLoss", site) as server:
        server.drive(15.0, until="slip_0")
        before_rad = server.seen[-1].ego.yaw_rad
        assert abs(before_rad - server.seen[0].ego.yaw_rad) < 0.001
        server.drive(5.0, until="grip_0")
        server.drive(0.5)
        assert abs(server.seen[-1].ego.yaw_rad - before_rad) > 0.01
        assert not any(truth.collisions for truth in server.seen)


def test_a_door_opens_into_the_lane(city_server: Address) -> None:
    graph = town("city_grid")
    site = site_on(graph, way(graph, *NARROW), trigger_m=10.0)
    with playing(city_server, "VehicleOpensDoorTwoWays", site, **VALUES) as server:
        server.drive(12.0, until="door")
        assert "door" in server.director.fired_s
        ego, parked = server.seen[-1].ego, server.seen[-1].actors["parked"].pose
        assert 5.0 < abs(parked.y_m - ego.y_m) < 30.0
        assert not any(truth.collisions for truth in server.seen)
        beside_m = abs(float(site.route.curve.project(parked.x_m, parked.y_m).d_m))
        assert beside_m > 0.5 * server.world.vehicle.width_m + 1.05  # without the door the ego would pass
        server.drive(5.0)
        hit = {collision.other for truth in server.seen for collision in truth.collisions}
        assert hit == {"vehicle.dodge.charger_2020"}


def test_the_ego_starts_at_its_place(city_server: Address) -> None:
    """The ego starts beside its lane, at the place that the script gives."""
    site = next(iter(junction_sites("city_grid", "straight", True)))
    place = {"route_m": 6.0, "offset_m": -1.0}
    values = {
        "name": "parked",
        "map": "city_grid",
        "route": {"start": _on(site, 0.0), "goal": _goal(site)},
        "ego_place": place,
    }
    scenario = Scenario.model_validate(values)
    with closing(CarlaWorld(city_server, world_spec(scenario, Rig(()), "ClearNoon"))) as world:
        server = Server(world, scenario, site)
        truth = server.drive(1.0, stop_m=-1e9)
        at = site.route.curve.project(truth.ego.x_m, truth.ego.y_m)
        assert float(at.d_m) == pytest.approx(-1.0, abs=0.15)
        assert float(at.s_m) + world.vehicle.rear_axle_to_centre_m == pytest.approx(6.0, abs=0.4)
        assert abs(truth.ego_speed_mps) < HOLD_MPS
