"""Options that several commands share, and the names that they allow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from av_stack.agents.names import AGENTS, CLASS_FORM
from perception.detection.weights import DETECTORS

ORACLE_NAMES = ("detection", "lights", "localization")
"""Copy of `av_stack.assembly.ORACLES`, which takes seconds to import; a test compares them."""
LISTED_KINDS = ("scenarios", "suites", "weathers", "rigs", "maps")
EVAL_PARTS = ("lanes", "ranging", "health", "lights", "detection", "dashcam")
DEVICES = ("auto", "cuda", "cpu")
"""Copy of `perception.device.DEVICES`, for the same reason."""
HANDLINGS = ("carla", "tyres")
"""Copy of the values of `scenarios.model`'s `handling`, for the same reason."""
RECORDS = ("exact", "small", "none")
"""Copy of `av_stack.run.RECORDS`, for the same reason."""
REPLAY_MODULES = ("lanes", "localization", "objects", "lights", "prediction", "planning", "control")
"""Copy of `av_stack.replay.modules.MODULES`, for the same reason."""

ServerOption = Annotated[
    str | None, typer.Option("--server", metavar="HOST:PORT", help="A CARLA 0.9.16 server. Default: the embedded one.")
]
OutOption = Annotated[Path, typer.Option("--out", help="Folder for recording, video and result.")]
OracleOption = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help=f"Read these from the simulator instead of the sensors: {', '.join(ORACLE_NAMES)} (comma-separated).",
    ),
]
DetectorOption = Annotated[
    str | None,
    typer.Option(
        "--detector",
        metavar="NAME",
        help=f"Shipped detector: {', '.join(DETECTORS)}. Default: s on a GPU, n on a CPU.",
    ),
]
AgentOption = Annotated[
    str, typer.Option("--agent", help=f"What drives the ego: {', '.join(AGENTS)}, or {CLASS_FORM}.")
]
AgentsOption = Annotated[
    Path | None,
    typer.Option("--agents", help="CARLA's folder PythonAPI/carla, for the agents behavior and basic."),
]
StepLimitOption = Annotated[
    float | None,
    typer.Option(
        "--step-limit", min=0.01, metavar="SECONDS", help="Longest time for a step of an agent. Default: 10 s."
    ),
]
