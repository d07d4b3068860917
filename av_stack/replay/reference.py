"""References: the decisions of the stack in a replay, step by step, in a small MCAP file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import foxglove
from mcap.reader import make_reader

from av_core.errors import AvStackError, ConfigError
from av_stack.agents.base import AgentStep
from av_stack.recording.exact.packing import PackingError, Unpacker, packer
from av_stack.recording.exact.reader import DAMAGE
from av_stack.recording.exact.topics import ENCODING, SCHEMA_ENCODING, STEP
from av_stack.recording.mcap_file import McapFile
from av_stack.recording.repair import open_recording

COMMIT_EVERY_STEPS = 100


class ReferenceWriter:
    """Context manager that writes a reference to `path`; the file appears only if the block ends without an error.

    Raises AvStackError where it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._part = path, path.with_name(f"{path.name}.part")
        self._steps = 0

    def __enter__(self) -> ReferenceWriter:
        context = self._context = foxglove.Context()  # a channel is closed with its context
        try:
            self._file = McapFile(self._part)
        except OSError as error:
            raise ConfigError(f"{self._path}: {error.strerror}") from None
        self._writer = foxglove.open_mcap(self._file, context=context)
        schema = foxglove.Schema(name="av_stack.AgentStep", encoding=SCHEMA_ENCODING, data=packer(AgentStep).schema)
        self._channel = foxglove.Channel(STEP, message_encoding=ENCODING, schema=schema, context=context)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            if kind is None:
                self._commit()
                self._part.replace(self._path)
        finally:
            self._writer.close()
            self._file.close()
            self._part.unlink(missing_ok=True)

    def write(self, step: bytes, time_s: float) -> None:
        """Write a packed `AgentStep`."""
        self._channel.log(step, log_time=round(time_s * 1e9))
        self._steps += 1
        if self._steps % COMMIT_EVERY_STEPS == 0:
            self._commit()

    def _commit(self) -> None:
        self._writer.flush()
        try:
            self._file.commit()
        except OSError as error:
            raise AvStackError(f"{self._path}: the reference cannot be written: {error.strerror}") from None


def read_reference(path: Path) -> tuple[Mapping[int, bytes], Unpacker[AgentStep]]:
    """(the packed steps of a reference by frame number, their unpacker). A recording can serve as a reference, too.

    Raises ConfigError where the file is no reference.
    """
    steps: dict[int, bytes] = {}
    unpacker: Unpacker[AgentStep] | None = None
    try:
        with open_recording(path) as file:
            for schema, _, message in make_reader(file, validate_crcs=True).iter_messages(topics=[STEP]):
                unpacker = unpacker or Unpacker(AgentStep, schema.data if schema is not None else b"")
                result = unpacker.unpack(message.data).result
                if result is not None:
                    steps[result.stamp.frame] = message.data
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except PackingError as error:
        raise ConfigError(f"{path}: {error}") from None
    except DAMAGE as error:
        raise ConfigError(f"{path}: a damaged reference: {error}") from None
    if unpacker is None or not steps:
        raise ConfigError(f"{path}: no reference of a replay: no step of the stack is in it")
    return steps, unpacker
