"""Tests a map's text in a child process, before anyone else reads it: `carla.Map` must read it and answer queries."""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import sys
from types import TracebackType
from typing import Any

from embedded_carla.errors import MapError

PROOF_S = 20.0
"""Limit of CPU time for testing one map, s. Town04 takes less than a second."""

MOST_PROOF_BYTES = 4 << 30
_PATIENCE, _PATIENCE_S = 6.0, 30.0
"""The child limits its own CPU time. The parent stops waiting after `_PATIENCE` times this limit plus `_PATIENCE_S` s,
because a busy machine is slower."""


class Prover:
    """A child process that reads maps. It lives until `close`, and is restarted if it has died."""

    def __init__(self, seconds: float = PROOF_S, most_bytes: int = MOST_PROOF_BYTES) -> None:
        self._seconds, self._most_bytes = seconds, most_bytes
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Prover:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def prove(self, name: str, text: str) -> str:
        """Raise MapError if clients could not use the text; it names the map, and the road if it is known.

        Returns the error of a TrafficManager on this map, "" if there is none.
        """
        process = self._started()
        try:
            answer = self._asked(process, text.encode())
        except (OSError, ValueError) as error:
            self.close()
            raise MapError(f"map {name}: the process that tests it has ended ({error})") from error
        failure = answer["failure"]
        if failure is not None:
            subject = f"road {failure['road']}" if failure["road"] else "it"
            raise MapError(f"map {name}: {subject} {failure['what']}")
        return str(answer["traffic_fault"])

    def close(self) -> None:
        """Kill the child."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):  # the buffer may hold text that the child did not read
                pipe.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "embedded_carla.maps.prover"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        return self._process

    def _asked(self, process: subprocess.Popen[bytes], text: bytes) -> Any:
        """The child's answer. Raises OSError or ValueError if it gives none."""
        assert process.stdin is not None
        assert process.stdout is not None
        limits = {"seconds": self._seconds, "most_bytes": self._most_bytes, "size": len(text)}
        process.stdin.write(json.dumps(limits).encode() + b"\n" + text)
        process.stdin.flush()
        if not select.select([process.stdout], [], [], _PATIENCE * self._seconds + _PATIENCE_S)[0]:
            raise TimeoutError("no answer")
        return json.loads(process.stdout.readline())


def prove(name: str, text: str, seconds: float = PROOF_S, most_bytes: int = MOST_PROOF_BYTES) -> str:
    """Test one text; see `Prover.prove`."""
    with Prover(seconds, most_bytes) as prover:
        return prover.prove(name, text)
