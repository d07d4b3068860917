"""Names and colours (red, green, blue, opacity) of the entities in Rerun, which the layout and the log share."""

from __future__ import annotations

CAMERA, WORLD = "camera", "world"
EGO, TRACKS, TRUE, PLAN, TRAJECTORY, PREDICTION, DRIVEN, LANE_LINES = (
    f"{WORLD}/{name}" for name in ("ego", "tracks", "true", "plan", "trajectory", "prediction", "driven", "lane_lines")
)
ROADS, ROUTE, STOP_LINES = (f"{WORLD}/map/{name}" for name in ("lanes", "route", "stop_lines"))
SPEED, LATERAL, CONTROL, CONFIDENCE, STAGES, STATES, WORDS = (
    "speed_kmh", "lateral_error_m", "control", "confidence", "stage_ms", "states", "words",
)  # fmt: skip
CONSTRAINT, HEALTH = f"{STATES}/constraint", f"{STATES}/health"

TIME, FRAME = "drive", "frame"
"""The timelines: the simulator's time and its frame number."""

LANE_RGB, PLAN_RGB, BRAKING_RGB = (0, 160, 255), (80, 220, 80), (240, 60, 60)
VEHICLE_RGB, WALKER_RGB, TRUE_RGB, EGO_RGB = (235, 170, 0), (230, 60, 230), (150, 150, 150), (40, 110, 240)
ROAD_RGB, ROUTE_RGB, STOP_LINE_RGB = (110, 118, 130), (60, 90, 160), (190, 60, 60)
PREDICTION_RGB = (255, 200, 0, 110)

LINES = {
    SPEED: {"true": EGO_RGB, "estimated": (150, 190, 255), "limit": (224, 123, 0), "planned for in 2 s": PLAN_RGB},
    LATERAL: {"from the lane's centre": EGO_RGB},
    CONTROL: {"throttle": PLAN_RGB, "brake": BRAKING_RGB, "steer": EGO_RGB},
    CONFIDENCE: {"left line": (0, 160, 255), "right line": (120, 220, 255), "position σ, m": (240, 160, 60)},
}
"""The lines of each plot, in the order of its values, with their colours."""
