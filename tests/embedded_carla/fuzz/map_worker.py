"""A child process that takes mutated maps through the server and a client, one after the other:

    python -m tests.embedded_carla.fuzz.map_worker SEED

It reads "NUMBER 0|1" (whether to build the scenery too) a line and answers a JSON line. What kills it is a fault.
"""

from __future__ import annotations

import json
import os
import random
import sys
from typing import Any, TextIO

import carla

from embedded_carla import opendrive
from embedded_carla.errors import MapError
from embedded_carla.maps.build import make_map
from embedded_carla.maps.proof import Prover
from embedded_carla.maps.prover import die_with_parent
from tests.embedded_carla.fuzz.map_mutations import mutate
from tests.embedded_carla.fuzz.map_seeds import seed_map

NAME = "Fuzzed"
LONGEST_LINE = 300
_RESOLUTION_M = 2.0


def answers_only() -> TextIO:
    """What standard output was; the wheel's warnings go to standard error from now on."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def mutated(seed: int, number: int) -> str:
    """Map `number` of a seed."""
    rng = random.Random(f"{seed} {number}")
    return mutate(rng, seed_map(rng))


def walk_lanes(town: Any) -> None:
    """Follow every edge of the topology as GlobalRoutePlanner's `_build_topology` does. Raises AssertionError."""
    most = 1000 + 2 * len(town.generate_waypoints(_RESOLUTION_M))
    for entry, exit_ in town.get_topology():
        end = exit_.transform.location
        if entry.transform.location.distance(end) <= _RESOLUTION_M:
            continue
        waypoint, steps = entry.next(_RESOLUTION_M)[0], 0
        while waypoint.transform.location.distance(end) > _RESOLUTION_M:
            following = waypoint.next(_RESOLUTION_M)
            if not following:
                break
            waypoint, steps = following[0], steps + 1
            assert steps < most, f"the walk along lane {entry.lane_id} of road {entry.road_id} does not end"


def _try(text: str, prover: Prover, is_built: bool) -> dict[str, str]:
    """What became of a map: accepted, repaired, refused by the checks or by the proof."""
    try:
        network = opendrive.parse(text, NAME)
    except MapError as error:
        return _refused("refused by the checks", error)
    try:
        traffic_fault = prover.prove(NAME, network.xodr_text)
    except MapError as error:
        if network.repairs:
            _not_worse(text, prover, error)
        return _refused("refused by the proof", error)
    town = carla.Map(NAME, network.xodr_text)
    town.get_all_landmarks(), town.get_crosswalks()
    walk_lanes(town)
    if is_built:
        try:
            make_map(NAME, text, 0, is_proved=True)
        except MapError as error:
            raise AssertionError(f"accepted but not built: {error}") from error
    return {"became": "repaired and accepted" if network.repairs else "accepted", "why": traffic_fault}


def _not_worse(text: str, prover: Prover, refused: MapError) -> None:
    """Raises AssertionError when the proof holds for the text before its repair."""
    try:
        prover.prove(NAME, text)
    except MapError:
        return
    raise AssertionError(f"the repair made the map worse: {refused}")


def _refused(became: str, error: MapError) -> dict[str, str]:
    line = str(error)
    assert line.startswith(f"map {NAME}: "), line
    assert "\n" not in line, line
    assert len(line) <= LONGEST_LINE, line
    return {"became": became, "why": line}


def main() -> None:
    die_with_parent()
    seed, answers = int(sys.argv[1]), answers_only()
    with Prover() as prover:
        for line in sys.stdin:
            number, is_built = map(int, line.split())
            try:
                answer = _try(mutated(seed, number), prover, bool(is_built))
            except Exception as error:  # noqa: BLE001 - every exception but MapError is a fault
                where = error.__traceback__
                while where is not None and where.tb_next is not None:
                    where = where.tb_next
                place = f"{where.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{where.tb_lineno}" if where else ""
                answer = {"became": "fault", "why": f"{type(error).__name__} in {place}: {error}"[:500]}
            print(json.dumps({"number": number, **answer}), file=answers, flush=True)


if __name__ == "__main__":
    main()
