"""A Ray cluster of two nodes on this machine; a node that is killed is replaced by a new one."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

RUNS = str(Path(tempfile.gettempdir()) / "av-stack-suite-")
"""Begin of the folders in which nodes drive."""

OBJECT_STORE_BYTES = 150 << 20
NODE = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}


class TwoNodes:
    """A context manager; `address` is for `--ray`."""

    def __init__(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster(initialize_head=True, head_node_args=dict(NODE))
        self._second: Any = None

    def __enter__(self) -> TwoNodes:
        self.replace()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster.shutdown()

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def raylet(self) -> int:
        """The process that is the second node."""
        return int(self._second.all_processes["raylet"][0].process.pid)

    def kill_node(self) -> int:
        pid = self.raylet()
        os.kill(pid, signal.SIGKILL)
        return pid

    def replace(self) -> None:
        """Let a new node take the place of the second one."""
        if self._second is not None:
            self._cluster.remove_node(self._second, allow_graceful=False)
        self._second = self._cluster.add_node(**NODE)
