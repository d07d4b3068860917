"""Motion planning: route, prediction, traffic rules and speed profile, from a `Scene` to a `Plan`."""

from planning.config import PlanningConfig
from planning.continuation import continued
from planning.lanes.lane_snap import pose_on_lane
from planning.planner import Planner
from planning.prediction.predictor import Predictor
from planning.route import Route, RouteTracker, find_route

__all__ = ["Planner", "PlanningConfig", "Predictor", "Route", "RouteTracker", "continued", "find_route", "pose_on_lane"]
