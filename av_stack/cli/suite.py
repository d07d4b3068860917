"""The command `av-stack suite`: drives a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from av_core.errors import ConfigError
from av_stack.agents.names import IMITATION, STACK, check_agent
from av_stack.checks import (
    check_detector,
    check_known,
    check_maps_folder,
    check_out_folder,
    check_weights,
    parse_address,
    parse_list,
)
from av_stack.cli.drive import check_options_of_stack
from av_stack.cli.options import (
    ORACLE_NAMES,
    AgentOption,
    AgentsOption,
    DetectorOption,
    OracleOption,
    OutOption,
    ServerOption,
    StepLimitOption,
)
from av_stack.cli.output import OutcomeError, console
from av_stack.cli.report import write_suite_page
from av_stack.interruption import importing
from scenarios.limits import RANDOM, SEED_MAX

if TYPE_CHECKING:
    from av_stack.suite.job import Job, Options
    from av_stack.suite.pool import Pool

WORKERS_MAX = 256
WorkersOption = Annotated[
    int | None,
    typer.Option(min=1, max=WORKERS_MAX, help="Runs at the same time. Default: 1; with --ray all that fit."),
]
RayOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Drive on the Ray cluster at HOST:PORT, or auto.")
]
COUNT, COUNT_MAX = 12, 10_000


def suite_command(
    suite: Annotated[
        str,
        typer.Argument(
            help="Name of a suite (av-stack list suites), a Leaderboard route file (.xml), or a folder of scenarios."
        ),
    ],
    routes: Annotated[
        str | None,
        typer.Option(metavar="IDS", help="Routes of a file or of suite obstacles, such as 0-4,7. Default: all."),
    ] = None,
    map_names: Annotated[
        str, typer.Option("--map", metavar="NAMES", help="Towns of suite random, comma-separated. Default: all.")
    ] = "",
    count: Annotated[
        int | None, typer.Option(min=1, max=COUNT_MAX, help=f"Routes of suite random. Default: {COUNT}.")
    ] = None,
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps for the embedded server.")] = None,
    server: ServerOption = None,
    oracle: OracleOption = "",
    agent: AgentOption = STACK,
    agents: AgentsOption = None,
    detector: DetectorOption = None,
    weights: Annotated[
        Path | None, typer.Option(help="Weights of --agent imitation. Default: the shipped ones.")
    ] = None,
    step_limit: StepLimitOption = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=SEED_MAX, help="Seed of every run. Default: each scenario's own.")
    ] = None,
    workers: WorkersOption = None,
    ray: RayOption = None,
    out: OutOption = Path("out"),
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the suite in --out; finished runs are kept.")
    ] = False,
) -> None:
    """Drive many scenarios or routes, each in a process and on a server of its own; writes suite.json.

    The exit status is 1 when a run fails, does not start, or crashes twice.
    """
    from av_stack.suite.job import Options

    address, oracles = parse_address(server), parse_list(oracle)
    check_known("--oracle", oracles, ORACLE_NAMES)
    check_maps_folder(maps)
    check_out_folder(out)
    check_agent(agent)
    check_options_of_stack(agent, {"--oracle": oracle, "--detector": detector})
    check_detector(detector)
    check_weights(weights)
    if weights is not None and agent != IMITATION:
        raise ConfigError(f"--weights: only --agent {IMITATION} uses them, and --agent is {agent!r:.80}")
    if address is not None and (ray is not None or (workers or 1) > 1):
        raise ConfigError("--server: one server drives one run at a time; leave --server out, or --workers and --ray")
    folder = maps.resolve() if maps is not None else None
    own_seed, agents_folder = None if suite == RANDOM else seed, agents.resolve() if agents is not None else None
    own_weights = weights.resolve() if weights is not None else None
    options = Options(folder, address, oracles, agent, own_seed, agents_folder, step_limit, own_weights, detector)
    with importing():
        jobs = _random_jobs(parse_list(map_names), seed, count, options) if suite == RANDOM else None
        if jobs is None:
            _check_only_random(suite, {"--map": map_names, "--count": count})
            jobs = _jobs(suite, routes, options)
    entries = _drive(suite, jobs, options, out, _Place(workers, ray), resume)
    failed = [entry["scenario"] for entry in entries if entry["shortcomings"] or entry["crash"] is not None]
    if failed:
        raise OutcomeError(f"{len(failed)} of {len(entries)} runs did not pass: {', '.join(failed)}", 1)


def _random_jobs(map_names: Sequence[str], seed: int | None, count: int | None, options: Options) -> list[Job]:
    from av_stack.server_process import embedded_maps
    from av_stack.suite.sources import random_jobs, with_map_digests

    towns = map_names or embedded_maps(options.maps)
    return with_map_digests(random_jobs(towns, seed or 0, count or COUNT, options), options.maps)


def _check_only_random(suite: str, given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise ConfigError(f"{option}: only suite {RANDOM} uses it, and the suite is {suite!r:.80}")


def _jobs(suite: str, routes: str | None, options: Options) -> list[Job]:
    from av_stack.suite.sources import (
        folder_jobs,
        refuse_if_none_can_start,
        route_jobs,
        suite_jobs,
        with_map_digests,
    )
    from scenarios.suites import SUITES

    path = Path(suite)
    if suite.endswith(".xml"):
        jobs = route_jobs(path, routes, options)
    elif suite in SUITES:
        jobs = suite_jobs(SUITES[suite], options, routes)
    elif routes is not None:
        raise ConfigError(
            f"--routes {routes!r:.40}: it selects routes of a file, and {suite!r:.80} is not an .xml file"
        )
    else:
        if not path.is_dir():
            check_known("SUITE", [suite], (*SUITES, RANDOM))
        jobs = folder_jobs(path, options)
    refuse_if_none_can_start(jobs)
    return with_map_digests(jobs, options.maps)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where runs are driven: `workers` at a time, on this machine or on the Ray cluster at the address `ray`."""

    workers: int | None
    ray: str | None


def _drive(
    suite: str, jobs: list[Job], options: Options, out: Path, place: _Place, resume: bool
) -> list[dict[str, Any]]:
    from av_stack.suite.fingerprint import fingerprint
    from av_stack.suite.folder import SuiteFolder
    from av_stack.suite.progress import SuiteProgress
    from av_stack.suite.runner import run_suite
    from av_stack.suite.table import suite_tables

    name = Path(suite).resolve().stem
    pool, machine = _pool(options, place)
    try:
        with SuiteFolder(out, fingerprint(name, jobs, options, machine), jobs, resume) as folder:
            with SuiteProgress(name, len(jobs), len(folder.entries()), pool.capacity, console) as progress:
                run_suite(folder, pool, progress)
            entries = folder.entries()
    finally:
        pool.close()
    console.print(suite_tables(name, entries))
    page = ", report.html" if write_suite_page(out) else ""
    console.print(f"wrote suite.json{page}, and a folder for each run, to {out}/", markup=False, soft_wrap=True)
    return entries


def _pool(options: Options, place: _Place) -> tuple[Pool, Mapping[str, str] | None]:
    """The pool, and a description of its machine if that is not this one."""
    if place.ray is not None:
        from av_stack.suite.ray_pool import RayPool

        cluster = RayPool(place.ray, place.workers, options)
        return cluster, cluster.machine
    from av_stack.suite.attempt import drive
    from av_stack.suite.pool import LocalPool

    return LocalPool(
        place.workers or 1, lambda task, path, stop: drive(task.job, options.arguments(), path, stop)
    ), None
