"""The expert that the imitation learns from: the stack's planning and control on the simulator's truth.

It is the stack with all oracles, without the parts that look at pictures, so that no camera has to be drawn for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from av_core.types import (
    CameraModel,
    ControlCommand,
    EgoState,
    LaneEstimate,
    LaneGraph,
    Plan,
    SensorFrame,
    Truth,
    VehicleParameters,
)
from control import Controller
from perception.imitation.samples import TARGET_S
from perception.scene import assemble_scene
from perception.stages.ego import OracleEgo
from perception.stages.lights import OracleLights
from perception.stages.objects import OracleObjects
from perception.stages.observation import Observation
from planning import Planner, Predictor, Route
from sim_configs.load import StackConfig


@dataclass(frozen=True, slots=True)
class Decision:
    """The expert's decision in one tick, and the true pose of the ego."""

    ego: EgoState
    plan: Plan
    command: ControlCommand

    @property
    def target_mps(self) -> float:
        """The target speed that the imitation has to learn; 0 where the expert would back up."""
        return 0.0 if self.plan.reverses else max(self.plan.trajectory.at(TARGET_S).speed_mps, 0.0)


class Expert:
    """Drives along `route`; call `step` with every frame in order. `truth` returns the truth of the frame's tick.

    At a red light it waits where `camera` still sees the light, because the network can only learn what is visible.
    """

    def __init__(
        self,
        graph: LaneGraph,
        vehicle: VehicleParameters,
        route: Route,
        stack: StackConfig,
        truth: Callable[[], Truth],
        camera: CameraModel,
    ) -> None:
        self._ego = OracleEgo(graph, truth)
        self._objects, self._lights = OracleObjects("", truth), OracleLights(graph, truth)
        self._predictor = Predictor(graph, stack.planning.prediction)
        self._planner = Planner(graph, vehicle, stack.planning, [camera])
        self._planner.set_route(route)
        self._controller = Controller(vehicle, stack.control)

    def step(self, frame: SensorFrame) -> Decision:
        """Decide on one tick. The command is that of the expert's controller, even while the imitation drives."""
        ego = self._ego.update(frame)
        seen = Observation(frame, ego, LaneEstimate(frame.stamp, None, None), {})
        scene = assemble_scene(ego, seen.lanes, self._objects.update(seen), self._lights.update(seen))
        plan = self._planner.plan(scene, self._predictor.predict(scene))
        return Decision(ego, plan, self._controller.step(plan, ego))
