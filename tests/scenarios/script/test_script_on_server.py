"""Scripts on a real server, through the wheel: actors come, move as ordered, show lights, and are gone afterwards."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import carla
import numpy as np
import pytest

from av_core.errors import ConfigError, RouteError
from av_core.frames import wrap_angle
from av_core.types import LightState, Rig, Truth
from av_stack.director import Director
from av_stack.mission import mission_route, world_spec
from av_stack.world.carla.actors import actors_in
from av_stack.world.carla.client import connect
from av_stack.world.carla.world import CarlaWorld
from av_stack.world.spec import Address
from planning import PlanningConfig
from scenarios.judging.judge import Judge
from scenarios.judging.score import Infractions
from scenarios.model import Scenario

STEP_S = 0.05
BASE = {"name": "scripted", "map": "city_grid", "route": {"start": (423.2, -375.5), "goal": (423.2, -240.0)}}


class Play:
    """A script on the server; the ego stands. `seen` are the truths of all ticks."""

    def __init__(self, address: Address, **script: Any) -> None:
        self.scenario = Scenario.model_validate({**BASE, **script})
        self.world = CarlaWorld(address, world_spec(self.scenario, Rig(()), "ClearNoon"))
        self.seen: list[Truth] = []
        try:
            self.route = mission_route(self.world.lane_graph, self.scenario, PlanningConfig())
            self.judge = Judge(self.world.lane_graph, self.route, self.world.vehicle, 900.0)
            self.director = Director(self.world, self.route, self.scenario, STEP_S, self.judge.scenarios)
        except BaseException:
            self.world.close()
            raise

    def play(self, seconds: float, route_m: float = 0.0) -> Truth:
        for _ in range(round(seconds / STEP_S)):
            self.world.tick()
            self.seen.append(self.world.truth())
            self.judge.update(self.seen[-1])
            self.director.update(self.seen[-1], route_m)
        return self.seen[-1]

    def close(self) -> None:
        self.world.close()


def event(when: dict[str, Any], *do: dict[str, Any], name: str = "it") -> dict[str, Any]:
    return {"name": name, "when": when, "do": do}


def test_a_car_follows_its_lane_through_a_bend_and_stops(city_server: Address) -> None:
    cars = {"car": {"blueprint": "vehicle.audi.tt", "place": {"route_m": 20.0}, "colour": "255,0,0"}}
    follow = {"follow_lane": {"actor": "car", "speed_mps": 8.0, "distance_m": 60.0}}
    with closing(Play(city_server, actors=cars, events=[event({"time_s": 1.0}, follow)])) as play:
        play.play(0.9)
        assert play.seen[-1].actors["car"].velocity_mps == pytest.approx((0.0, 0.0), abs=0.05)
        play.play(6.0)
        assert np.hypot(*play.seen[-1].actors["car"].velocity_mps) == pytest.approx(8.0, abs=0.4)
        end = play.play(8.0).actors["car"]
        on_route = play.route.curve.project(end.pose.x_m, end.pose.y_m)
        assert float(on_route.s_m) == pytest.approx(80.0, abs=1.5)
        assert float(on_route.d_m) == pytest.approx(0.0, abs=0.3)
        assert np.hypot(*end.velocity_mps) == pytest.approx(0.0, abs=0.05)


def test_a_walker_steps_out_and_a_door_opens(city_server: Address) -> None:
    actors = {
        "walker": {
            "blueprint": "walker.pedestrian.0001",
            "place": {"route_m": 40.0, "offset_m": -4.5, "turn_deg": 90.0},
        },
        "car": {"blueprint": "vehicle.tesla.model3", "place": {"route_m": 60.0, "offset_m": -2.5}},
    }
    events = [
        event({"time_s": 0.5}, {"cross": {"actor": "walker", "speed_mps": 2.0, "distance_m": 8.0}}),
        event(
            {"standstill": {"of": "car", "for_s": 0.5}},
            {"open_door": {"actor": "car", "door": "front_left"}},
            {"lights": {"actor": "car", "hazard": True}},
            name="door",
        ),
    ]
    with closing(Play(city_server, actors=actors, events=events)) as play:
        first = play.play(0.5).actors["walker"].pose
        last = play.play(7.0).actors["walker"].pose
        assert np.hypot(last.x_m - first.x_m, last.y_m - first.y_m) == pytest.approx(8.0, abs=0.5)
        client = connect(city_server)
        blinkers = int(carla.VehicleLightState.LeftBlinker) | int(carla.VehicleLightState.RightBlinker)
        states = [int(state) for state in client.get_world().get_vehicles_light_states().values()]
        assert sorted(states) == [0, blinkers]
        assert play.director.fired_s.keys() == {"it", "door"}


def test_a_scenario_whose_place_is_taken_is_given_up(city_server: Address) -> None:
    """The ego stands where the actor is to come, and 2 m beside it there is no room either."""
    actors = {"car": {"blueprint": "vehicle.audi.tt", "place": {"route_m": 2.0}, "waits": True}}
    events = [
        event({"time_s": 0.5}, {"spawn": "car"}, name="begin"),
        event({"passed": {"actor": "car"}}, {"despawn": "car"}, name="end"),
    ]
    parts = {"late": {"type": "ParkedObstacle", "begin": "begin", "end": "end", "timeout_s": 30.0, "actors": ["car"]}}
    with closing(Play(city_server, actors=actors, events=events, parts=parts)) as play:
        play.play(22.0)
        run = play.director.parts["late"]
        assert (run.missing, run.is_timed_out) == (("car",), False)
        assert run.ended_s == pytest.approx(20.5, abs=0.2)
        assert not any(truth.actors for truth in play.seen)
        assert play.judge.verdict("").infractions == Infractions()


def test_a_flow_and_its_end(city_server: Address) -> None:
    flow = {"start": {"route_m": 30.0}, "end": {"route_m": 110.0}, "speed_mps": 10.0, "gap_m": (15.0, 20.0), "on": True}
    with closing(
        Play(city_server, flows={"stream": flow}, events=[event({"time_s": 8.0}, {"stop_flow": "stream"})])
    ) as play:
        play.play(8.0)
        assert len(play.seen[-1].actors) in (3, 4, 5)
        for name, car in play.seen[-1].actors.items():
            if name != max(play.seen[-1].actors):
                assert np.hypot(*car.velocity_mps) == pytest.approx(10.0, abs=0.3)
        assert play.play(10.0).actors == {}
        assert not play.seen[-1].objects


def test_a_signal_is_held_and_let_go(city_server: Address) -> None:
    with closing(Play(city_server)) as plain:
        lights = sorted(plain.play(0.1).lights)
    hold = {"signal": {"ids": lights[:2], "state": "green", "for_s": 16.0}}
    with closing(Play(city_server, events=[event({"time_s": 0.2}, hold)])) as play:
        play.play(15.0)  # by themselves, lights are green for 10 s
        assert all(truth.lights[light] is LightState.GREEN for truth in play.seen[8:] for light in lights[:2])
        play.play(20.0)
        assert {truth.lights[lights[0]] for truth in play.seen[-400:]} > {LightState.GREEN}


def test_the_judge_hears_of_parts(city_server: Address) -> None:
    """An emergency vehicle comes behind the ego, which stands; one part times out, the other one ends in time."""
    behind = {"x": 423.2, "y": -388.0, "yaw_deg": 90.0}
    actors = {"siren": {"blueprint": "vehicle.dodge.charger_police_2020", "place": behind, "waits": True}}
    events = [
        event({"time_s": 0.2}, {"spawn": "siren"}, name="begin"),
        event({"standstill": {"of": "siren", "for_s": 1.0}}, {"despawn": "siren"}, name="end"),
        event({"time_s": 60.0}, name="never"),
    ]
    parts = {
        "wait": {"type": "Accident", "begin": "begin", "end": "never", "timeout_s": 0.5, "allows_oncoming_lane": True},
        "yield": {"type": "YieldToEmergencyVehicle", "begin": "begin", "end": "end", "emergency": "siren"},
    }
    with closing(Play(city_server, actors=actors, events=events, parts=parts)) as play:
        play.play(0.5)
        assert play.judge.scenarios.may_stand
        assert play.judge.scenarios.is_oncoming_lane_allowed
        play.play(2.0)
        assert not play.judge.scenarios.may_stand
        assert play.judge.verdict("").infractions == Infractions(scenario_timeouts=1, failed_yields=1)
        assert play.judge.scenarios.descriptions == [
            "wait: not finished in time",
            f"yield: emergency vehicle {play.seen[10].actors['siren'].track_id} still behind",
        ]
        assert not play.seen[-1].actors


def test_the_weather_changes_along_the_route(city_server: Address) -> None:
    keyframes = [{"route_percent": 0.0, "precipitation": 0.0}, {"route_percent": 100.0, "precipitation": 60.0}]
    with closing(Play(city_server, weather_keyframes=keyframes)) as play:
        world = play.world.episode.world
        play.play(0.1)
        assert world.get_weather().precipitation == 0.0
        play.play(0.1, play.route.length_m / 2.0)
        assert world.get_weather().precipitation == pytest.approx(30.0)


def test_nothing_is_left_behind(city_server: Address) -> None:
    cars = {"car": {"blueprint": "vehicle.audi.tt", "place": {"route_m": 20.0}}}
    with closing(Play(city_server, actors=cars)) as play:
        play.play(0.2)
    world = connect(city_server).get_world()
    world.wait_for_tick()
    assert not list(actors_in(world, "vehicle.*"))


@pytest.mark.parametrize(
    ("actor", "error", "words"),
    [
        (
            {"blueprint": "vehicle.audi.t", "place": {"route_m": 20.0}},
            ConfigError,
            "no blueprint vehicle.audi.t; similar are",
        ),
        (
            {"blueprint": "vehicle.audi.tt", "place": {"route_m": 1.0}},
            RouteError,
            "stands in the ego",
        ),
    ],
)
def test_actors_that_cannot_be_spawned(city_server: Address, actor: dict[str, Any], error: type, words: str) -> None:
    with pytest.raises(error, match=f"actor car.*{words}"):
        Play(city_server, actors={"car": actor})


def test_an_actor_whose_place_is_taken(city_server: Address) -> None:
    actors = {
        name: {"blueprint": "vehicle.audi.tt", "place": {"route_m": at}} for name, at in (("one", 40.0), ("two", 42.0))
    }
    with pytest.raises(ConfigError, match=r"actor two cannot be spawned at .*: the place is taken"):
        Play(city_server, actors=actors)


def test_a_script_gives_the_same_trajectories_to_the_bit(city_server: Address) -> None:
    flow = {"start": {"route_m": 30.0}, "end": {"route_m": 110.0}, "speed_mps": 9.0, "gap_m": (15.0, 30.0), "on": True}

    def played() -> list[list[tuple[float, float, float]]]:
        with closing(Play(city_server, flows={"stream": flow}, seed=5)) as play:
            play.play(6.0)
            poses = [[actor.pose for _, actor in sorted(truth.actors.items())] for truth in play.seen]
            return [[(p.x_m, p.y_m, float(wrap_angle(p.yaw_rad))) for p in tick] for tick in poses]

    assert played() == played()
