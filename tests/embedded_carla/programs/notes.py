"""What the page of results says beside the results: how it was run, and why a program ended as it did."""

from __future__ import annotations

HEAD = """# CARLA's programs on this server

CARLA's own programs, unmodified, run against `python -m embedded_carla` on two busy cores without a GPU: {count} runs,
server at commits
{commits},
real `carla==0.9.16` wheel, Python 3.11. The programs: scenario_runner's 0.9.16 release (`94ff3b8`), Leaderboard 2
(`aec8131`), and CARLA's PythonAPI folder as a public fork of 0.9.16 carries it, in which some scripts are newer than
the wheel.

To repeat it, fetch the three from github.com/carla-simulator, install `carla==0.9.16` and their requirements into a
virtual environment, then from this repository

```sh
python -m tests.embedded_carla.programs.run_programs --python VENV/bin/python --maps DIR --out OUT \\
    --scenario-runner scenario_runner --leaderboard leaderboard --api carla/PythonAPI
python -m tests.embedded_carla.programs.page OUT/results.jsonl > docs/embedded-carla/programs.md
```

`DIR` holds `Town01.xodr`, `Town02.xodr`, `Town04.xodr` and `Town10HD.xodr`; `--only TEXT` picks some,
`--recording FILE` adds metrics. None of these programs is in this repository.

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
    (
        r"dummy_agent",
        "this agent stands still, for which the evaluator ends it after 180 s; three cameras of 800x600, LiDAR, radar, "
        "GNSS, IMU and map come each of 3,601 frames, 3.8 a second on a busy machine.",
    ),
    (r"npc_agent", "both pedestrian scenarios play; the agent runs a stop sign and keeps below the traffic's pace."),
    (r"start_replaying", "newer than the wheel: passes `map_override`, which 0.9.16 does not have."),
    (r"manual_control_fisheye", "newer than the wheel: 0.9.16 has no wide-angle cameras."),
    (r"tutorial_gbuffer", "GBuffers are refused: they are Unreal's intermediate pictures."),
    (
        r"check_raycast",
        "in each of its five scenes all ten repetitions are the same. In two of them its "
        "queue begins with a message left over from the one before, as it tells.",
    ),
    (r"(check_\w+|vehicle_physics_tester)\.py", "with Town10HD and Town04 for Town03 and Town05."),
    (r"open3d_lidar", "without a display; libusb beside it."),
    (r"manual_control_carsim.*failed", "its time-out of 2 s passed while a busy machine got ready to draw."),
    (r"manual_control_chrono", "Chrono is refused; it drives on with this server's physics."),
    (r"manual_control_steeringwheel", "wants a steering wheel."),
    (r"manual_control_rss", "wants a wheel built with RSS."),
    (r"GeoEllipsoid|test_geoconversion", "newer than the wheel: 0.9.16 has no `GeoEllipsoid`."),
    (
        r"TestVehicle(Friction|TireConfig)",
        "with a straight road of six lanes along x = 32 m as `OUT/stand_ins/Town05.xodr`: it drives on that town's.",
    ),
    (r"get_component_test", "bodies here have no parts for single lamps; the answer names the parts there are."),
    (r"--default: failed", "the script's: compares `fixed_delta_seconds` with 0 where it is None."),
    (r"apply_texture", "lists what there is; painting is refused."),
)

_OTHER_PROGRAMS = (
    (
        "CARLA's `agents`: BasicAgent, BehaviorAgent (cautious, normal, aggressive), ConstantVelocityAgent, "
        "LocalPlanner, GlobalRoutePlanner",
        "six cars at once, 1,000 ticks, on city_grid, Town01, Town02, Town04 and Town10HD",
        "all drive, 0.01 to 0.33 m beside the lane's middle on average; of collisions every one has the planner or the "
        "constant velocity in it, which look at nothing",
    ),
    (
        "cjy1992/gym-carla `c01ae77`",
        "three episodes, 40 cars and 10 walkers, camera, LiDAR with a range of 5,000, PIXOR; Town10HD for Town03",
        "runs; each ended after 36 to 41 steps, by its own rules",
    ),
    (
        "zhejz/carla-roach `00d6f55`",
        "its endless environment on Town01: 30 cars, 20 walkers, dynamic weather, bird's-eye view, camera, GNSS, every "
        "object finder; two episodes of 120 steps",
        "runs",
    ),
    ("deepsense-ai/carla-birdeye-view `f666b0f`", "masks of Town02, 30 views among 20 cars", "runs"),
    (
        "alberto-mate/CARLA-SB3-RL-Training-Environment `a1320e21`",
        "its route environment on Town02 with two cameras and LiDAR; two episodes of 100 steps",
        "runs",
    ),
    (
        "MukhlasAdib/CARLA-2DBBox `1f12634`",
        "`collectData.py` with 15 cars, until Ctrl-C after 60 s",
        "runs; 38 annotated pictures",
    ),
    (
        "jedeschaud/kitti_carla_simulator `8cf94c5`",
        "Town01 at steps of 1 ms, 15 cars, 10 walkers, LiDAR and six cameras of 1392x1024",
        "runs; stopped after 240 s with 8 sweeps of the LiDAR and their pictures: it draws the LiDAR 1,000 times a "
        "second",
    ),
    (
        "a rig of four cameras, two LiDARs, radar, IMU and GNSS in one queue; `on_tick` in a free-running world; four "
        "clients in processes of their own beside one that ticks",
        "10 to 150 frames",
        "every set whole, no frame lost, nothing left behind",
    ),
)
OTHERS = """## Other people's programs

Run by hand on servers at `8d0eb2d` to `49d121e`. Changed is only what the age of a program asks on any CARLA 0.9.16: a
port, a name that CARLA has changed since, a type that a newer numpy or OpenCV refuses.

| program | what was run | verdict |
|---|---|---|
""" + "".join(f"| {program} | {what} | {verdict} |\n" for program, what, verdict in _OTHER_PROGRAMS)

PDM_LITE = """
## PDM-Lite and the stack under carla_garage's Leaderboard

PDM-Lite is the privileged expert of autonomousvision/carla_garage: it plans with the true positions of all actors and
forecasts its own car with a kinematic model that was [fitted to a CARLA car](dynamics.md#carlas-handling). The stack of
this project knows only its sensors and the map: the [agent for the Leaderboard](../agents.md), with the rig `compact`
on the CPU. Both drive the same routes of Bench2Drive under the same evaluator, carla_garage's own, as clients of this
server with its default handling.

- carla_garage `0f1cd25` (branch `leaderboard_2`) with its own `leaderboard`, `scenario_runner` and `team_code`; routes
  of `bench2drive220.xml`, Bench2Drive `7ec25d1`. The file has 24 routes in these four towns; seven have
  scenarios (`T_Junction`, `...EnterFlow`) that only Bench2Drive's own scenario_runner knows.
- The stack is that of 672561eb. PDM-Lite drove on the server of 9e3d3e0d, which behaves the same.
- Python 3.11, `carla==0.9.16`, py_trees 0.8.3, and CARLA's `agents` folder; numpy 1.23.5 and scipy 1.10.1 for PDM-Lite,
  numpy 2.4.6 for the stack. None of their code is changed. Python 3.9 removed `getchildren` from its ElementTree; a
  `sitecustomize.py` puts it back.
- carla_garage's evaluator hands an agent more than the Leaderboard does; `benchmarks/pdm_lite/stack_agent.py` drops it.
  The evaluator has swapped the limits of the tracks and of their qualifiers: `MAP` allows 2 radars, `MAP_QUALIFIER` 4.
- Without `SCENARIO_RUNNER_ROOT` the evaluator finds no scenario, says `Skipping scenario` and drives the route without.
- The server runs on its own; the evaluator starts none. Each drive has a new one.

```sh
python -m embedded_carla --maps DIR --port 2100
cd carla_garage  # PYTHONPATH: CARLA's agents, scenario_runner, leaderboard, and team_code or this repository
export SCENARIO_RUNNER_ROOT=$PWD/scenario_runner
drive() {{  # RESULTS TRACK AGENT CONFIG
    python leaderboard/leaderboard/leaderboard_evaluator_local.py --port 2100 --routes bench2drive220.xml \\
        --routes-subset ROUTE --track $2 --agent $3 --agent-config $4 --timeout 300 \\
        --traffic-manager-seed 0 --checkpoint $1/ROUTE.json
}}
drive EXPERT MAP team_code/autopilot.py x
drive STACK MAP_QUALIFIER AV_STACK/benchmarks/pdm_lite/stack_agent.py MAP_QUALIFIER
python -m benchmarks.pdm_lite --results EXPERT --stack-results STACK --routes bench2drive220.xml \\
    --json docs/embedded-carla/pdm-lite.json --table docs/embedded-carla/programs.md
```

Every route ends at 100 %, and neither agent hits anything or runs a light. What the stack loses it loses for speed: it
drives slower than the evaluator expects of the traffic around it. The routes are 70 to 155 m long and begin at a
standstill, so a few seconds are much. Why the stack needs more time, from a record of its plans:

- **Traffic on the lane beside** (24240, 24785, 24795, 26406): the stack changes lanes into a gap. In 24795 it gives up
  a change that it has begun, stops behind the works where it cannot pull out, backs up, and tries again: 40 s. Small
  differences decide: versions of the stack a few commits apart took 14 to 65 s for 24785, and 16 to 98 s for 24795. In
  24785 the tracker showed a car for 1 s where none was, and the stack braked from 8.5 to 3 m/s.
- **Cyclists beside the lane** (25951): the stack passes them with little room and slowly, in 53 s; earlier versions
  took 24 and 26 s.
- **Traffic that crosses** (27529, 26944): the stack waits 3 and 11 s in a junction without lights.
- **Red lights that it comes to too late** (27494): it comes to the first light in a queue, and the light turns yellow.
  It waits 48 s there and 46 s at the second light.
- **A pedestrian who crosses** (24211, 24224): the stack all but stops; PDM-Lite knows when the pedestrian crosses.
- **A queue at a red light** (24294, 24781, 24784, 24841, 26944): both agents wait in it; the scores differ by at most
  10 points.

Each route was driven once with its scenario. Two earlier versions of the stack have mean scores of 67.0
([d3f65a28](pdm-lite-d3f65a28.json)) and 68.7 ([c8cc32f0](pdm-lite-c8cc32f0.json)). c8cc32f0 ran a red light in 27494:
it crawled through a yellow behind crossing traffic. Since 672561eb it waits.

In two drives of PDM-Lite that were recorded with an obstacle in the lane, 24240 and 24785, its steering stays below
0.64 of full lock and no tick saturates it; the car leaves its lane and returns once. In 25951 the evaluator counts 11 m
outside its lanes: the oncoming lane is allowed only 5 s after the ego has come near the cyclists.

*Score* is the Leaderboard's driving score, *difference* the stack's less PDM-Lite's, *time* that of the game. Each
quarter of a route costs up to 30 % of the score for speed: it counts how far the ego's mean speed lies below the mean
speed of the traffic around it in the same quarter, whatever held the ego up. The evaluator may count the last quarter
twice. [The figures as JSON](pdm-lite.json) hold the evaluator's words for each infraction.

{begin}

{table}
{end}
"""
