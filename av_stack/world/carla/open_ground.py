"""A wide, flat, empty road on any CARLA server, on which one car at a time is driven by commands and observed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType

import carla
import numpy as np

from av_core.errors import WorldError
from av_core.frames import carla_to_map_yaw
from av_core.types import ControlCommand, EgoState, Stamp, VehicleParameters
from av_stack.world.carla.client import LOAD_TIMEOUT_S, Session
from av_stack.world.carla.controls import vehicle_control
from av_stack.world.carla.other_clients import check_is_free
from av_stack.world.carla.truth import forward_speed_mps, rear_axle_x_m, vehicle_parameters
from av_stack.world.carla.weather import weather_of
from av_stack.world.spec import DEFAULT_STEP_S, Address

LENGTH_M, HALF_WIDTH_M = 2400.0, 600.0
START_X_M = 20.0
DROP_M = 0.3
SETTLE_TICKS = 10
"""Ticks in which a new car drops onto its wheels."""

_ROAD = f"""<?xml version="1.0" standalone="yes"?>
<OpenDRIVE><header revMajor="1" revMinor="4" name="open_ground" version="1" date="" north="0" south="0" east="0"
 west="0"/><road name="r" length="{LENGTH_M}" id="1" junction="-1"><link/><planView>
<geometry s="0" x="0" y="0" hdg="0" length="{LENGTH_M}"><line/></geometry></planView><elevationProfile/>
<lateralProfile/><lanes><laneSection s="0"><left><lane id="1" type="driving" level="false">
<width sOffset="0" a="{HALF_WIDTH_M}" b="0" c="0" d="0"/></lane></left><center><lane id="0" type="none" level="false"/>
</center><right><lane id="-1" type="driving" level="false"><width sOffset="0" a="{HALF_WIDTH_M}" b="0" c="0" d="0"/>
</lane></right></laneSection></lanes></road></OpenDRIVE>"""


class OpenGround:
    """The ground, stepped synchronously; a context manager, which gives the server's settings back.

    Call `release` before `step`. Raises WorldError when no server answers, or another program drives on it.
    """

    def __init__(self, address: Address, blueprint: str, weather: Mapping[str, float] | str = "ClearNoon") -> None:
        self._session = Session(address)
        self._blueprint_name = blueprint
        self._cleanup = ExitStack()
        self._car: carla.Vehicle | None = None
        client = self._session.client
        with self._session.answering("loading the open ground"):
            check_is_free(client.get_world(), address)
            client.set_timeout(LOAD_TIMEOUT_S)
            self._world = client.generate_opendrive_world(_ROAD, carla.OpendriveGenerationParameters(wall_height=0.0))
            before, settings = self._world.get_settings(), self._world.get_settings()
            settings.synchronous_mode, settings.fixed_delta_seconds = True, DEFAULT_STEP_S
            settings.no_rendering_mode = True
            self._cleanup.callback(self._session.clean_up, self._world.apply_settings, before)
            self._world.apply_settings(settings)
            self._world.set_weather(weather_of(weather))
            self._blueprint = self._world.get_blueprint_library().find(blueprint)
            self._blueprint.set_attribute("role_name", "hero")
        self._vehicle: VehicleParameters | None = None

    def __enter__(self) -> OpenGround:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()
        self._cleanup.close()

    @property
    def vehicle(self) -> VehicleParameters:
        """Geometry and limits of the car; after the first `release`."""
        assert self._vehicle is not None
        return self._vehicle

    def set_weather(self, weather: Mapping[str, float] | str) -> None:
        with self._session.answering("weather"):
            self._world.set_weather(weather_of(weather))

    def release(self, speed_mps: float) -> EgoState:
        """A new car at the start of the road, with its middle on y = 0, rolling along x at this speed."""
        self._remove()
        with self._session.answering("spawning the car"):
            place = carla.Transform(carla.Location(x=START_X_M, z=DROP_M))
            car = self._world.try_spawn_actor(self._blueprint, place)
            if car is None:
                raise WorldError("the start of the open ground is taken")
            self._car = car
            for _ in range(SETTLE_TICKS):
                self._world.tick()
            self._rear_axle_x_m, _ = rear_axle_x_m(car)
            self._vehicle = self._vehicle or vehicle_parameters(car)
            car.set_target_velocity(carla.Vector3D(x=speed_mps))
            self._start_frame = self._world.tick()
            return self._state(self._start_frame)

    def step(self, command: ControlCommand) -> EgoState:
        """Hold the command for one step; the car's true state after it, at the middle of its rear axle."""
        assert self._car is not None
        with self._session.answering("tick"):
            self._car.apply_control(vehicle_control(command))
            return self._state(self._world.tick())

    def _state(self, frame: int) -> EgoState:
        car = self._car
        assert car is not None
        pose, turn, push = car.get_transform(), car.get_angular_velocity(), car.get_acceleration()
        forward = pose.get_forward_vector()
        return EgoState(
            stamp=Stamp(frame - self._start_frame, (frame - self._start_frame) * DEFAULT_STEP_S),
            x_m=pose.location.x + forward.x * self._rear_axle_x_m,
            y_m=-(pose.location.y + forward.y * self._rear_axle_x_m),
            yaw_rad=float(carla_to_map_yaw(pose.rotation.yaw)),
            speed_mps=forward_speed_mps(car),
            accel_mps2=push.x * forward.x + push.y * forward.y,
            yaw_rate_radps=-float(np.radians(turn.z)),
            covariance=np.zeros((4, 4)),
        )

    def _remove(self) -> None:
        if self._car is not None:
            self._session.destroy([self._car.id])
            self._car = None
