"""Which programs of CARLA's are run, and how. The programs themselves are fetched by whoever runs this."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

TOWNS_AT_HAND = ("Town01", "Town02", "Town04", "Town10HD")
SCENARIO_LIMIT_S = 240.0
_SIZE = "320x180"


@dataclass(frozen=True, slots=True)
class Program:
    """One program run. In `command`, {port}, {tm} and {out} are filled in by the runner."""

    group: str
    name: str
    town: str
    command: tuple[str, ...]
    folder: Path
    limit_s: float = 120.0
    interrupt_after_s: float | None = None
    """A program that runs until Ctrl-C gets it after so long."""
    ego_turn: str | None = None
    """When set, an ego driver runs beside it and turns so at the first junction."""
    needs_port_2000: bool = False
    checkpoint: str = ""
    """Leaderboard: the file under {out} with its verdict."""
    last_words: str = ""
    """A program that has said this has nothing left to do but to end."""


def is_at_hand(town: str) -> bool:
    return not town or town.removesuffix("_Opt") in TOWNS_AT_HAND


def _turn(name: str) -> str:
    for turn in ("Left", "Right"):
        if turn in name and "Turn" in name:
            return turn
    return "Straight"


_ENDLESS = ("FreeRide", "MultiEgo", "ChangingWeather", "LaneOffsetActionExample", "OscControllerExample")


def _runner(name: str, town: str, root: Path, group: str, arguments: tuple[str, ...]) -> Program:
    common = (
        "scenario_runner.py",
        "--port",
        "{port}",
        "--trafficManagerPort",
        "{tm}",
        "--sync",
        "--reloadWorld",
        "--timeout",
        "60",
        "--output",
    )
    # In CARLA as here these have no end of their own (a time-out of 10 million seconds, 20 km to drive).
    stop_s = 25.0 if name.startswith(_ENDLESS) else None
    return Program(group, name, town, common + arguments, root, SCENARIO_LIMIT_S, stop_s, ego_turn=_turn(name),
                   last_words="No more scenarios .... Exiting")  # fmt: skip


def scenarios(root: Path) -> list[Program]:
    """Every XML scenario, OpenSCENARIO 1 and OpenSCENARIO 2 example, and route of scenario_runner."""
    examples = root / "srunner" / "examples"
    found = []
    for file in sorted(examples.glob("*.xml")):
        for scenario in ElementTree.parse(file).getroot().iter("scenario"):
            name, town = scenario.attrib["name"], scenario.attrib["town"]
            found.append(_runner(name, town, root, "scenario_runner XML", ("--scenario", name)))
    for file in sorted(examples.glob("*.xosc")):
        logic = ElementTree.parse(file).getroot().find("RoadNetwork/LogicFile")
        town = logic.attrib["filepath"] if logic is not None else ""
        found.append(_runner(file.name, town, root, "OpenSCENARIO 1", ("--openscenario", str(file))))
    for file in sorted(examples.glob("*.osc")):
        town_match = re.search(r"Town\w+", file.read_text(encoding="utf-8"))
        town = town_match.group() if town_match else ""
        found.append(_runner(file.name, town, root, "OpenSCENARIO 2", ("--openscenario2", str(file.relative_to(root)))))
    return found


def leaderboard(root: Path, runner_root: Path, shared_routes: Path | None) -> list[Program]:
    """The evaluator with its NPC and dummy agents, on each routes file: one row per file and agent."""
    files = [runner_root / "srunner" / "data" / "routes_town10.xml", root / "data" / "routes_devtest.xml"]
    files += sorted((root / "data").glob("routes_[tv]*.xml")) + ([shared_routes] if shared_routes else [])
    found = []
    for file in files:
        route = ElementTree.parse(file).getroot().find("route")
        town = route.attrib["town"] if route is not None else ""
        for agent, track in (("npc_agent", "SENSORS"), ("dummy_agent", "MAP")):
            name = f"{file.parent.parent.name}/{file.name} {agent}"
            checkpoint = f"leaderboard_{file.stem}_{agent}.json"
            command = (
                "leaderboard/leaderboard_evaluator.py",
                f"--routes={file}",
                "--repetitions=1",
                f"--track={track}",
                f"--agent={root}/leaderboard/autoagents/{agent}.py",
                f"--checkpoint={{out}}/{checkpoint}",
                f"--debug-checkpoint={{out}}/debug_{checkpoint}.txt",
                "--port={port}",
                "--traffic-manager-port={tm}",
                "--timeout=120",
            )
            found.append(Program("Leaderboard 2", name, town, command, root, 2400.0, checkpoint=checkpoint))
    return found


def metrics(root: Path, recording: Path | None) -> list[Program]:
    """scenario_runner's metrics on a recording; the server has to be given the recording's folder."""
    if recording is None:
        return []
    metric = "srunner/metrics/examples/distance_to_lane_center.py"
    command = ("metrics_manager.py", "--port", "{port}", "--metric", metric, "--log", os.path.relpath(recording, root))
    return [Program("metrics", "metrics_manager.py distance_to_lane_center.py", "Town01", command, root)]


_LOOPS: dict[str, tuple[str, ...]] = {
    "V2XDemo.py": ("--port", "{port}", "--res", _SIZE, "--sync"),
    "automatic_control.py": ("--port", "{port}", "--res", _SIZE, "--sync", "--seed", "1"),
    "bounding_boxes.py": ("--port", "{port}", "--res", _SIZE),
    "client_bounding_boxes.py": (),
    "draw_skeleton.py": ("--res", _SIZE),
    "dynamic_weather.py": ("--port", "{port}"),
    "generate_traffic.py": ("--port", "{port}", "--tm-port", "{tm}", "-n", "30", "-w", "10", "--seed", "1"),
    "manual_control.py": ("--port", "{port}", "--res", _SIZE, "--sync", "--autopilot"),
    "manual_control_fisheye.py": ("--port", "{port}", "--res", _SIZE, "--sync", "--autopilot"),
    "manual_control_carsim.py": ("--port", "{port}", "--res", _SIZE),
    "manual_control_chrono.py": ("--port", "{port}", "--res", _SIZE),
    "manual_control_steeringwheel.py": ("--port", "{port}", "--res", _SIZE),
    "no_rendering_mode.py": ("--port", "{port}", "--res", "640x360", "--no-rendering"),
    "open3d_lidar.py": (
        "--port",
        "{port}",
    ),
    "rss/manual_control_rss.py": ("--port", "{port}", "--res", _SIZE),
    "sensor_synchronization.py": (),
    "synchronous_mode.py": (),
    "test_addsecondvx.py": (),
    "vehicle_gallery.py": (),
    "visualize_multiple_sensors.py": ("--port", "{port}", "--res", "640x360", "--sync"),
    "start_recording.py": ("--port", "{port}", "-n", "10", "-f", "programs_recording.log"),
}
_ENDING: dict[str, tuple[str, ...]] = {
    "generate_traffic.py --asynch": ("--port", "{port}", "--tm-port", "{tm}", "-n", "20", "-w", "10", "--asynch"),
    "lidar_to_camera.py": ("--port", "{port}", "--frames", "20", "--res", "640x360"),
    "tutorial.py": (),
    "tutorial_gbuffer.py": (),
    "get_component_test.py": (),
    "vehicle_physics.py": ("--port", "{port}"),
    "start_recording.py -t 8": ("--port", "{port}", "-n", "10", "-t", "8", "-f", "programs_recording.log"),
    "show_recorder_file_info.py": ("--port", "{port}", "-f", "programs_recording.log", "-a"),
    "show_recorder_collisions.py": ("--port", "{port}", "-f", "programs_recording.log", "-t", "aa"),
    "show_recorder_actors_blocked.py": ("--port", "{port}", "-f", "programs_recording.log", "-t", "1", "-d", "1"),
    "start_replaying.py": ("--port", "{port}", "-f", "programs_recording.log", "-d", "5"),
}
_UTILITIES: tuple[tuple[str, ...], ...] = (
    ("test_connection.py", "--port", "{port}"),
    ("config.py", "--port", "{port}", "--inspect"),
    ("config.py", "--port", "{port}", "--list"),
    ("config.py", "--port", "{port}", "--list-blueprints", "vehicle.*"),
    ("config.py", "--port", "{port}", "--weather", "HardRainSunset"),
    ("config.py", "--port", "{port}", "--map", "Town02"),
    ("config.py", "--port", "{port}", "--reload-map"),
    ("config.py", "--port", "{port}", "--fps", "20", "--no-rendering"),
    ("config.py", "--port", "{port}", "--default"),
    ("config.py", "--port", "{port}", "-x", "{xodr}"),
    ("environment.py", "--port", "{port}", "--weather", "rain", "--sun", "night", "--lights", "on"),
    ("environment.py", "--port", "{port}", "--cars", "LowBeam"),
    ("check_map.py",),
    ("check_lidar_bb.py",),
    ("check_collisions_substepping.py", "--port", "{port}"),
    ("check_raycast_sensors_determinism.py", "--port", "{port}"),
    ("extract_spawn_points.py", "--port", "{port}", "--output-dir", "{out}"),
    ("lane_explorer.py", "--port", "{port}", "-x", "10", "-y", "0"),
    ("performance_benchmark.py", "--port", "{port}", "--ticks", "20", "--maps", "Town10HD_Opt", "--file", "{out}/b.md"),
    ("raycast_sensor_testing.py", "--port", "{port}", "-lp", "2", "-rp", "1", "-slp", "1", "--res", "640x360"),
    ("vehicle_physics_tester.py", "--port", "{port}", "--filter", "vehicle.tesla.model3", "--all"),
    ("apply_texture.py", "--port", "{port}", "--list"),
)
_UTILITIES_WITHOUT_END = ("environment.py", "lane_explorer.py", "raycast_sensor_testing.py")


def examples(api: Path, xodr: str) -> list[Program]:
    """PythonAPI's examples and utilities. Those that run until Ctrl-C get it after some seconds."""
    folder = api / "examples"
    found = [
        Program("examples", name, "Town10HD", (name, *arguments), folder, 120.0, 20.0, needs_port_2000=not arguments)
        for name, arguments in _LOOPS.items()
    ]
    found += [
        Program(
            "examples",
            name,
            "Town10HD",
            (name.split()[0], *arguments),
            folder,
            180.0,
            interrupt_after_s=20.0 if "asynch" in name else None,
        )
        for name, arguments in _ENDING.items()
    ]
    for command in _UTILITIES:
        script, *arguments = (part.replace("{xodr}", xodr) for part in command)
        shown = " ".join(part for part in command if part not in ("--port", "{port}"))
        shown = shown.replace("{xodr}", "OpenDRIVE file").replace("{out}/", "").replace("{out}", ".")
        loops = 20.0 if script in _UTILITIES_WITHOUT_END else None
        found.append(
            Program(
                "util",
                shown,
                "Town10HD",
                (script, *arguments),
                api / "util",
                900.0,
                loops,
                needs_port_2000="{port}" not in command,
            )
        )
    return found


def smoke_tests(api: Path) -> list[Program]:
    """CARLA's own smoke tests, one row per test; they want the server at port 3654."""
    folder = api / "test"
    found = []
    for file in sorted((folder / "smoke").glob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        for class_name, body in re.findall(
            r"^class (\w+)\(\w*SmokeTest\):\n((?:(?!^class ).*\n?)*)", text, re.MULTILINE
        ):
            for test in re.findall(r"^    def (test_?\w*)\(", body, re.MULTILINE):
                target = f"smoke.{file.stem}.{class_name}.{test}"
                command = ("-m", "unittest", target)
                found.append(Program("smoke", target.removeprefix("smoke."), "Town10HD", command, folder, 1200.0))
    return found
