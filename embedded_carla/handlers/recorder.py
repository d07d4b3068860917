"""RPC methods of the recorder and replayer; recordings are in CARLA's own file format."""

from __future__ import annotations

import math
from typing import Any

from embedded_carla.errors import CommandError, MapError
from embedded_carla.handlers.registry import value, void
from embedded_carla.log import log
from embedded_carla.maps import plain_name
from embedded_carla.recorder import reports
from embedded_carla.recorder.packets import Header
from embedded_carla.recorder.reader import RecordingReader
from embedded_carla.recorder.replayer import MAX_TIME_FACTOR, Request
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec


def _text(value: Any, what: str) -> str:
    return codec.text(value, what)


@value("start_recorder")
def start_recorder(simulation: Simulation, name: str, additional: bool = False) -> str:
    """Start recording. Returns the path of the file, which is always in the server's recording folder."""
    path = simulation.recordings.path(_text(name, "recording's name"))
    simulation.replayer.stop(keep=False)
    simulation.recorder.start(path, simulation.map.name, simulation.episode, additional=bool(additional))
    return str(path)


@void("stop_recorder")
def stop_recorder(simulation: Simulation) -> None:
    simulation.recorder.stop()


# ---------------------------------------------------------------- reports


@value("show_recorder_file_info")
def show_recorder_file_info(simulation: Simulation, name: str, show_all: bool = False) -> str:
    path = simulation.recordings.existing(_text(name, "recording's name"))
    if path is None:
        return simulation.recordings.missing(name)
    return reports.file_info(path, bool(show_all))


@value("show_recorder_collisions")
def show_recorder_collisions(simulation: Simulation, name: str, first: Any, second: Any) -> str:
    path = simulation.recordings.existing(_text(name, "recording's name"))
    if path is None:
        return simulation.recordings.missing(name)
    return reports.collisions(path, _category(first), _category(second))


def _category(given: Any) -> str:
    """The actor category as a letter; the client sends the letter's character code."""
    letter = chr(given) if isinstance(given, int) and 0 < given < 128 else given
    if letter not in tuple("ovwtha"):
        raise CommandError(f"actor category {codec.shown(given)}: allowed are o, v, w, t, h and a")
    return str(letter)


@value("show_recorder_actors_blocked")
def show_recorder_actors_blocked(simulation: Simulation, name: str, least_s: Any = 30.0, least_cm: Any = 10.0) -> str:
    path = simulation.recordings.existing(_text(name, "recording's name"))
    if path is None:
        return simulation.recordings.missing(name)
    return reports.actors_blocked(path, codec.number(least_s, "min_time"), codec.number(least_cm, "min_distance"))


# ---------------------------------------------------------------- replay


@value("replay_file")
def replay_file(
    simulation: Simulation, name: str, start: Any, duration: Any, follow_id: int, sensors: bool = False,
    offset: Any = ((-10.0, 0.0, 5.0), (-25.0, 0.0, 0.0)),
) -> str:  # fmt: skip
    """Start a replay, loading the recording's map first where it is not loaded; answers once the replay has begun."""
    path = simulation.recordings.path(_text(name, "recording's name"))
    request = Request(
        path, codec.number(start, "start"), codec.number(duration, "duration"), codec.integer(follow_id, "follow_id"),
        bool(sensors), codec.transform_from_wire(offset, "offset"),
    )  # fmt: skip
    simulation.recorder.stop()
    answer = f"Replaying File: {path}\n"
    if not path.is_file():
        return answer + simulation.recordings.missing(name)
    with RecordingReader(path) as reader:
        answer += _load_map(simulation, reader.header)
    text, note = simulation.replayer.play(request, simulation.episode)
    if note:
        log(f"replay of {path}: {note}")
    return answer + text


def _map_name(header: Header) -> str:
    """The map's plain name. Path components are removed, because the file's content is not trusted."""
    return plain_name(header.map_name).removesuffix(".xodr")


def _is_loaded(simulation: Simulation, header: Header) -> bool:
    wanted = _map_name(header)
    return simulation.map.name.removesuffix("_Opt") == wanted.removesuffix("_Opt")


def _load_map(simulation: Simulation, header: Header) -> str:
    if _is_loaded(simulation, header):
        return ""
    try:
        simulation.load_map(_map_name(header), reset_settings=False, client_knows=False)
    except MapError as error:
        raise CommandError(f"the recording was made on map {header.map_name!r}: {error}") from error
    return f"Loading map {header.map_name}\n"


@void("stop_replayer")
def stop_replayer(simulation: Simulation, keep_actors: bool = False) -> None:
    simulation.replayer.stop(keep=bool(keep_actors))


@void("set_replayer_time_factor")
def set_replayer_time_factor(simulation: Simulation, factor: Any) -> None:
    wanted = codec.number(factor, "replayer's time factor")
    if not (math.isfinite(wanted) and 0.0 < wanted <= MAX_TIME_FACTOR):
        raise CommandError(f"replayer's time factor is {wanted:g}; allowed is more than 0 and at most 1000")
    simulation.replayer.options.time_factor = wanted


@void("set_replayer_ignore_hero")
def set_replayer_ignore_hero(simulation: Simulation, ignore: bool) -> None:
    simulation.replayer.options.ignore_hero = bool(ignore)


@void("set_replayer_ignore_spectator")
def set_replayer_ignore_spectator(simulation: Simulation, ignore: bool) -> None:
    simulation.replayer.options.ignore_spectator = bool(ignore)
