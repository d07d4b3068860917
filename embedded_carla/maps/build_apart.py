"""Builds maps in a separate process, so that the server survives and keeps answering.

Two kinds of maps are built here. Maps whose text came from a client are built with limits on time and memory, because
bad numbers in the text can take all time and memory, or crash a library. Maps that one client loads while other clients
are connected are built here so that those get answers. `maps.proof` tests whether clients can use a map.

`python -m embedded_carla.maps.build_apart NAME SEED BYTES PARENT` reads the text from standard input and writes the
packed map to standard output.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.errors import MapError
from embedded_carla.maps.packing import PackingError, pack, unpack
from embedded_carla.memory import bound_memory
from embedded_carla.parent import end_with_parent

LONGEST_LOAD_S = 30.0
"""Time limit for building a client's map, s. The largest town that was tested takes 5 s."""

MOST_LOAD_BYTES = 4 << 30
"""Memory limit for building a client's map, bytes."""
UNBOUNDED = 0
"""Value for no memory limit: a map with which the server was started may be large."""

_REFUSED = 3


class Build:
    """A map that is built in a child process, started at once; `most` is its memory limit in bytes, or UNBOUNDED."""

    def __init__(
        self, name: str, text: str, seed: int, seconds: float = LONGEST_LOAD_S, most: int = MOST_LOAD_BYTES
    ) -> None:
        command = [sys.executable, "-m", __name__, name, str(seed), str(most), str(os.getpid())]
        self._name, self._seconds, self._most = name, seconds, most
        self._ends_s = time.monotonic() + seconds
        self._said, self._made = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - see close
        with tempfile.TemporaryFile() as source:
            source.write(text.encode())
            source.seek(0)
            self._process = subprocess.Popen(command, stdin=source, stdout=self._made, stderr=self._said)

    def is_over(self) -> bool:
        """Whether the build has ended or its time limit has passed."""
        return self._process.poll() is not None or time.monotonic() >= self._ends_s

    def wait(self) -> None:
        try:
            self._process.wait(max(self._ends_s - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            return  # `result` reports it

    def result(self) -> Any:
        """Return the LoadedMap; call once the build is over.

        Raises MapError if the text is not a map or the build exceeded its limits.
        """
        status = self._process.poll()
        made, said = self._read(self._made), self._read(self._said)
        self.close()
        if status is None:
            raise MapError(
                f"map {self._name}: not built within {self._seconds:g} s, which is all that a client's text gets"
            )
        if status:
            last = (bytes(said).decode(errors="replace").strip().splitlines() or ["no reason given"])[-1]
            if status == _REFUSED:
                raise MapError(last)
            how = f"signal {-status}" if status < 0 else f"{last:.160}"
            raise MapError(
                f"map {self._name}: its numbers make no map that can be built within {self._most >> 30} GiB ({how})"
            )
        try:
            return unpack(made)
        except PackingError as error:
            raise MapError(f"map {self._name}: it could not be read back: {error}") from error

    def close(self) -> None:
        """Kill the process if it still runs, and close the files."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._made.close()
        self._said.close()

    @staticmethod
    def _read(file: Any) -> NDArray[np.uint8]:
        """The content of the file, writable: for read-only arrays, compiled kernels would be compiled again."""
        file.seek(0)
        return np.fromfile(file, dtype=np.uint8)


def main() -> int:
    """Child process: exit with status 0, or with 3 and the reason in the last line of standard error."""
    name, seed, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    end_with_parent(int(sys.argv[4]))
    from embedded_carla.maps.build import make_map  # takes a second; the server may end before

    if most != UNBOUNDED:  # limits come after the imports, because the libraries must be loaded first
        bound_memory(most)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    text = sys.stdin.buffer.read().decode()
    try:
        sys.stdout.buffer.writelines(pack(make_map(name, text, seed)))
    except MapError as error:
        print(error, file=sys.stderr)
        return _REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
