"""Runs attempts on a Ray cluster: one task each, which brings its files back. Needs the extra `ray`.

Ray repeats nothing by itself. A node or a worker process that dies is a crash of the attempts that ran there, and the
suite repeats them like any other.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from av_core.errors import ConfigError, install_hint
from av_stack.server_process import embedded_map_files
from av_stack.suite.fingerprint import differences
from av_stack.suite.job import Attempt, Job, Options, Task, Work
from av_stack.suite.ray_node import NodeEnded, NodeTask, drive_on_node, node_kind, unpack
from av_stack.suite.verdict import CRASHED

CPUS_PER_RUN = 2
"""CPUs that a run takes of its node: one for the server, one for the client."""

WorkOf = Callable[[Job], Work | None]

LOOK_EVERY_S = 0.5
SURVEY_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 5.0


class RayPool:
    """Runs attempts on the Ray cluster at `address`.

    At most `workers` attempts run at a time; without `workers`, as many as the cluster has room for. `work_of` returns
    the work that a job does instead of a drive, or None; its file is sent to the cluster once. Raises ConfigError if
    Ray is not installed, no cluster answers, or its nodes are not all of one kind.
    """

    def __init__(self, address: str, workers: int | None, options: Options, work_of: WorkOf = lambda _: None) -> None:
        try:
            import ray
        except ImportError:
            raise ConfigError(f"--ray needs the package ray: {install_hint('ray')}") from None
        refuse_silence(address)
        self._ray, self._workers, self._options, self._work_of = ray, workers, options, work_of
        self._sent: dict[Path, Any] = {}
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error")
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise ConfigError(f"--ray {address}: no Ray cluster that this machine belongs to: {error}") from None
        self._drive = ray.remote(num_cpus=CPUS_PER_RUN, max_retries=0, scheduling_strategy="SPREAD")(drive_on_node)
        self._running: dict[Any, tuple[Task, Path, float]] = {}
        try:
            self._kind = self._common_kind(address)
        except BaseException:
            ray.shutdown()
            raise

    @property
    def machine(self) -> Mapping[str, str]:
        """The kind of machine that all nodes are."""
        machine: Mapping[str, str] = self._kind["machine"]
        return machine

    def capacity(self) -> int:
        return self._workers or max(1, sum(cpus // CPUS_PER_RUN for _, cpus in self._nodes()))

    def submit(self, task: Task, folder: Path) -> None:
        work = self._work_of(task.job)
        command, content = (work.command, self._content(work.file)) if work is not None else (None, None)
        node_task = NodeTask(task.job, self._options, self._kind, self._map_file(task.job), command)
        reference = self._drive.remote(node_task, content)
        self._running[reference] = (task, folder, time.monotonic())

    def next_ended(self) -> tuple[Task, Attempt]:
        ended: list[Any] = []
        while not ended:
            ended, _ = self._ray.wait(list(self._running), num_returns=1, timeout=LOOK_EVERY_S)
        task, folder, began_s = self._running.pop(ended[0])
        exceptions = self._ray.exceptions
        try:
            result: NodeEnded = self._ray.get(ended[0])
        except exceptions.RayTaskError:  # a mistake in this program, not a crash
            raise
        except exceptions.RayError as error:
            first = str(error).strip().splitlines()[0].partition(". ")[0]
            crash = f"the Ray cluster lost the run: {type(error).__name__}: {first}"
            return task, Attempt(CRASHED, crash, time.monotonic() - began_s, crash)
        unpack(result.files, folder)
        return task, result.attempt

    def close(self) -> None:
        """End all runs, and leave the cluster. A run whose Ray worker is gone ends by itself."""
        for reference in self._running:
            self._ray.cancel(reference, force=False)
        self._ray.shutdown()

    def _content(self, file: Path) -> Any:
        """Ray's reference to the content of a file."""
        if file not in self._sent:
            self._sent[file] = self._ray.put(file.read_bytes())
        return self._sent[file]

    def _nodes(self) -> list[tuple[str, int]]:
        """Id and CPUs of each node that is alive."""
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        return [(node["NodeID"], int(node["Resources"].get("CPU", 0))) for node in alive]

    def _common_kind(self, address: str) -> dict[str, Any]:
        """Version and machine of the nodes on which runs can be. Raises ConfigError unless they are all equal."""
        ids = [node_id for node_id, cpus in self._nodes() if cpus >= CPUS_PER_RUN]
        if not ids:
            raise ConfigError(f"--ray {address}: no node has the {CPUS_PER_RUN} CPUs that a run needs")
        ask = self._ray.remote(num_cpus=0, max_retries=0)(node_kind)
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        asked = [ask.options(scheduling_strategy=strategy(node_id=node_id, soft=False)).remote() for node_id in ids]
        try:
            kinds: list[dict[str, Any]] = self._ray.get(asked, timeout=SURVEY_TIMEOUT_S)
        except self._ray.exceptions.RayError as error:
            last = str(error).strip().splitlines()[-1]
            raise ConfigError(f"--ray {address}: av-stack does not run on every node: {last}") from None
        common = {"version": node_kind()["version"], "machine": kinds[0]["machine"]}
        for node_id, kind in zip(ids, kinds, strict=True):
            if wrong := differences(kind, common):
                raise ConfigError(f"--ray {address}: node {node_id[:8]} is of another kind: {'; '.join(wrong[:3])}")
        return common

    def _map_file(self, job: Job) -> tuple[str, bytes] | None:
        """The map of a job, where it is one of `--maps`."""
        maps = self._options.maps
        if maps is None or not job.map_digest:
            return None
        path = embedded_map_files(maps)[job.map_name.removesuffix("_Opt")]
        return path.name, path.read_bytes()


def refuse_silence(address: str) -> None:
    """Raise ConfigError where nothing listens at HOST:PORT: Ray itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return  # "auto", or an address that Ray refuses
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--ray {address}: no Ray cluster answers there: {error}") from None
