"""Makes the jobs of a suite: from a suite of this project, a route file, a folder of scenarios, or random routes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import yaml
from lxml import etree

from av_core.errors import AvStackError, ConfigError
from av_stack.checks import check_map
from av_stack.run import check_settings
from av_stack.server_process import embedded_map_files, embedded_maps
from av_stack.suite.job import DIGEST_CHARS, Job, Options
from av_stack.world.carla.map import read_lane_graph
from scenarios.leaderboard.route_xml import read_bytes, survey
from scenarios.leaderboard.routes import LeaderboardRoute
from scenarios.leaderboard.subset import select_routes
from scenarios.leaderboard.xml_elements import read_elements
from scenarios.model import Scenario, load_scenario
from scenarios.random_routes import random_scenario
from scenarios.suites import Suite

NAME_CHARS = re.compile(r"[^A-Za-z0-9_.+-]+")
NAME_MAX = 80
RESERVED = ("attempts", "suite.json", "suite.lock", "journal.jsonl", "report.html")
"""Names that a run's folder cannot have."""


def suite_jobs(suite: Suite, options: Options, selection: str | None = None) -> list[Job]:
    """The jobs of one of `SUITES`: its scenarios, then the routes of its files.

    `selection` ("0-4,7") selects routes of a suite that is one file; other suites raise ConfigError.
    """
    if selection is not None:
        if suite.scenarios or len(suite.route_files) != 1:
            raise ConfigError(f"--routes {selection!r:.40}: it selects routes of a file, and this suite is not a file")
        return route_jobs(suite.route_files[0], selection, options)
    jobs = [_scenario_job(scenario, options) for scenario in suite.scenarios]
    jobs += [job for path in suite.route_files for job in route_jobs(path, None, options)]
    return finished(jobs)


def scenario_jobs(scenarios: Iterable[Scenario], options: Options) -> list[Job]:
    """One job for each scenario."""
    return finished([_scenario_job(scenario, options) for scenario in scenarios])


def folder_jobs(folder: Path, options: Options) -> list[Job]:
    """One job for each YAML file of a folder. A file that cannot be read becomes a job with a `refusal`."""
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
    if not paths:
        raise ConfigError(f"{folder}: no scenario; expected one .yaml file or more")
    jobs = []
    for path in paths:
        try:
            scenario = load_scenario(str(path))
        except AvStackError as error:
            jobs.append(Job(path.stem, "scenario", path.read_text(errors="replace"), "", refusal=str(error)))
        else:
            jobs.append(replace(_scenario_job(scenario, options), name=path.stem))
    return finished(jobs)


def route_jobs(path: Path, routes: str | None, options: Options) -> list[Job]:
    """One job for each route of a Leaderboard file, or for those that `--routes` selects.

    A route that cannot be read becomes a job with a `refusal`.
    """
    data = read_bytes(path)
    found = survey(data, str(path))
    texts = _route_texts(data)
    chosen = found.routes if routes is None else select_routes(found.routes, routes)
    jobs = [Job(_route_name(path, route), "route", texts[route.line], route.town) for route in chosen]
    if routes is None:
        reasons = {problem.line: problem.message for problem in reversed(found.problems)}
        for line in sorted(texts.keys() - {route.line for route in found.routes}):
            refusal = f"{path}:{line}: {reasons.get(line, 'the route cannot be read')}"
            jobs.append(Job(f"{path.stem}_line_{line}", "route", texts[line], "", refusal))
    return [_checked(job, options) for job in finished(jobs)]


def random_jobs(map_names: Sequence[str], seed: int, count: int, options: Options) -> list[Job]:
    """`count` random routes, in turn through each of the towns. Raises ConfigError for an unknown town."""
    files = embedded_map_files(options.maps)
    for name in map_names:
        check_map(name, files)
    graphs = {name: read_lane_graph(files[name]) for name in map_names[:count]}
    names = [map_names[number % len(map_names)] for number in range(count)]
    drives = [random_scenario(graphs[name], name, seed, number) for number, name in enumerate(names)]
    return scenario_jobs(drives, options)


def finished(jobs: Sequence[Job]) -> list[Job]:
    """The jobs with unique names that are valid names of folders."""
    taken = set(RESERVED)
    done = []
    for job in jobs:
        name = wanted = NAME_CHARS.sub("_", job.name)[:NAME_MAX].lstrip(".") or "run"
        number = 1
        while name.lower() in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name.lower())
        done.append(replace(job, name=name))
    return done


def with_map_digests(jobs: Sequence[Job], maps: Path | None) -> list[Job]:
    """The jobs with the digest of their map's file, if the folder `maps` has it."""
    return [replace(job, map_digest=_map_digest(job.map_name, maps)) for job in jobs]


def refuse_if_none_can_start(jobs: Sequence[Job]) -> None:
    """Raise ConfigError, with the first reason, if no job at all can start: then the options are wrong."""
    if jobs and all(job.refusal for job in jobs):
        raise ConfigError(jobs[0].refusal)


def _scenario_job(scenario: Scenario, options: Options) -> Job:
    replaced = {"weather"} if scenario.weather_keyframes else None  # a scenario has only one of them
    text = yaml.safe_dump(scenario.model_dump(mode="json", exclude_none=True, exclude=replaced), sort_keys=False)
    refusal = ""
    try:
        check_settings(scenario, None, options.address, options.maps)
    except AvStackError as error:
        refusal = str(error)
    return Job(scenario.name, "scenario", text, scenario.map, refusal)


def _route_name(path: Path, route: LeaderboardRoute) -> str:
    """The route's id, with the type of its scenario where it has just one."""
    types = [scenario.type for scenario in route.scenarios]
    return "_".join([path.stem, route.route_id, *(types if len(types) == 1 else [])])


def _checked(job: Job, options: Options) -> Job:
    """The job; with a `refusal` if its map does not exist."""
    if job.refusal or options.address is not None:
        return job
    try:
        check_map(job.map_name, embedded_maps(options.maps))
    except ConfigError as error:
        return replace(job, refusal=str(error))
    return job


def _route_texts(data: bytes) -> dict[int, str]:
    """For each route, by the line of its start tag: a file that holds it alone.

    `survey` has accepted `data`, and has refused what an XML parser must not follow.
    """
    lines = [element.line for element in read_elements(data).children if element.tag == "route"]
    root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    texts = (etree.tostring(route, encoding="unicode", with_tail=False) for route in root.findall("route"))
    return {line: f"<routes>\n{text}\n</routes>\n" for line, text in zip(lines, texts, strict=True)}


def _map_digest(name: str, maps: Path | None) -> str:
    path = maps / f"{name.removesuffix('_Opt')}.xodr" if maps is not None and Path(name).name == name else None
    if path is None or not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGEST_CHARS]
