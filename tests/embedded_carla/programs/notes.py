"""What the page of results says beside the results: how it was run, and why a program ended as it did."""

from __future__ import annotations

HEAD = """# CARLA's programs on this server

CARLA's own programs, unmodified, run against `python -m embedded_carla` on two busy cores without a GPU: {count} runs,
server at commits {commits}, real `carla==0.9.16` wheel, Python 3.11. The programs: scenario_runner's 0.9.16 release
(`94ff3b8`), Leaderboard 2 (`aec8131`), and CARLA's PythonAPI folder as a public fork of 0.9.16 carries it, in which
some scripts are newer than the wheel.

To repeat it, fetch the three from github.com/carla-simulator, install `carla==0.9.16` and their requirements into a
virtual environment, then from this repository

```sh
python -m tests.embedded_carla.programs.run_programs --python VENV/bin/python --maps DIR --out OUT \\
    --scenario-runner scenario_runner --leaderboard leaderboard --api carla/PythonAPI
python -m tests.embedded_carla.programs.page OUT/results.jsonl > docs/embedded-carla/programs.md
```

`DIR` holds `Town01.xodr`, `Town02.xodr`, `Town04.xodr` and `Town10HD.xodr`; `--only TEXT` picks some. None of these
programs is in this repository.

*Verdict*: the program's own words. `SUCCESS`, `FAILURE` and `TIMEOUT` are scenario_runner's, with the criteria that
failed and the values reached. Scenarios expect somebody at the ego's wheel; here it is scenario_runner's own
TrafficManager (`tests/embedded_carla/programs/ego_driver.py`), which knows no scenario's task and sees no props, so a
`FAILURE` says that this driver hit something or did not go where the scenario wanted. "ran until Ctrl-C": a program
without an end, stopped after 20 s, with no exception. *Seconds*: the whole program, with the loading of its town. A
fault of the server would stand in the note.

Programs as strangers write them (a learner's environment, a collector of six sensors beside traffic, a game loop in
real time, a second client, reloads) are tests: `tests/embedded_carla/programs/test_client_programs.py`."""

TITLES = {
    "scenario_runner XML": "Every scenario of `srunner/examples/*.xml`.",
    "OpenSCENARIO 1": "Every `srunner/examples/*.xosc`.",
    "OpenSCENARIO 2": "Every `srunner/examples/*.osc`.",
    "Leaderboard 2": "`leaderboard_evaluator.py` with the two agents that come with it.",
    "metrics": "scenario_runner's metrics, taken of a recording that a real server wrote.",
    "examples": "`PythonAPI/examples`, with SDL's dummy video driver.",
    "util": "`PythonAPI/util`.",
    "smoke": "CARLA's smoke tests, `PythonAPI/test/smoke`, with Town10HD and Town04 for Town03 and Town05.",
}

_SINK = (
    "scenario_runner's: its ActorSink destroys whatever comes within 10 m of a place, here the ego, which it then "
    "misses; its watchdog's thread, never stopped after an exception, keeps the process."
)
_ON_TOP = (
    "scenario_runner's: the ego stands inside a junction, where its search for a place 35 m ahead stops at once, so "
    "that it wants a vehicle on top of the ego, and goes on with None; the watchdog's thread keeps the process."
)
NOTES: tuple[tuple[str, str], ...] = (
    (r"ChangeLane_2", "scenario_runner's: the entry names no other actors; the scenario takes the second."),
    (r"OtherLeadingVehicle_5", _ON_TOP),
    (r"ManeuverOppositeDirection_2", _SINK),
    (r"ManeuverOppositeDirection_3", "scenario_runner's: no lane left of the place it looks at, in the client's map."),
    (r"VehicleOpensDoorTwoWays_1", "scenario_runner's: it looks for a parking lane inside a junction."),
    (r"(IntersectionColl|SyncArrival)\w+\.xosc", "scenario_runner's: takes the length of times that are None."),
    (r"basic\.osc", "scenario_runner's: the file names no town, and it calls `load_world(None)`."),
    (r"(emit|wait)\.osc", "scenario_runner's: its OpenSCENARIO 2 interpreter knows no `event`."),
    (r"StationaryObject.*FAILURE", "a container in the lane, which TrafficManager does not see."),
    (r"Construction.*FAILURE", "props in the lane, as above."),
    (r"Accident_1", "the ego waits behind the accident: TrafficManager does not pass it."),
    (r"VehicleTurning.*FAILURE", "a cyclist is sent into the turning ego's way."),
    (r"CheckDrivenDistance", "the story ends before this driver has gone that far."),
    (
        r"(FreeRide|MultiEgo|ChangingWeather|LaneOffsetAction|OscController).*: (SUCC|FAIL|played)",
        "no end of its own, or after 20 km: Ctrl-C after 25 s.",
    ),
    (r"(LaneOffsetAction|OscController).*killed", "ends after 20 km, which takes longer than the limit."),
    (r"dummy_agent.*invalid", "was started on the wrong track by the runner, which is mended since."),
    (r"start_replaying", "newer than the wheel: passes `map_override`, which 0.9.16 does not have."),
    (r"manual_control_fisheye", "newer than the wheel: 0.9.16 has no wide-angle cameras."),
    (r"tutorial_gbuffer", "GBuffers are refused: they are Unreal's intermediate pictures."),
    (
        r"manual_control\.py: failed",
        "the Cosmos camera was missing: mended since; by hand it then ran until Ctrl-C, with no exception.",
    ),
    (
        r"lidar_to_camera\.py: failed",
        "steps of 3 s were refused: mended since; by hand its time-out of 2 s then passed at the first picture, on a "
        "busy machine.",
    ),
    (r"(check_\w+|vehicle_physics_tester)\.py.*failed", "wants Town03 or Town05: not run again with stand-ins yet."),
    (r"environment\.py.*failed", "was given a word that it does not know; not run again yet."),
    (r"--list-blueprints: failed", "was given no filter; not run again yet."),
    (r"manual_control_carsim.*failed", "its time-out of 2 s passed while a busy machine drew the first picture."),
    (r"manual_control_chrono", "Chrono is refused; it drives on with this server's physics."),
    (r"manual_control_steeringwheel", "wants a steering wheel."),
    (r"manual_control_rss", "wants a wheel built with RSS."),
    (r"open3d_lidar.*failed", "open3d wants a system library that was not there."),
    (r"get_component_test", "bodies here have no parts for single lamps; the answer names the parts there are."),
    (r"--default: failed", "the script's: compares `fixed_delta_seconds` with 0 where it is None."),
    (r"performance_benchmark.*failed", "wants packages that were not installed."),
    (r"apply_texture.*failed", "wants a package that was not installed; textures are refused in any case."),
)
