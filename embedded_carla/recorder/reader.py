"""Reads a recording frame by frame, with memory use independent of the file's size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from embedded_carla.recorder.format import PACKET_HEAD, RecordingError, unpack, unpack_header
from embedded_carla.recorder.packets import FrameStart, Header, Packet, PacketId

MAX_PACKET_BYTES = 8 << 20
"""Maximum size of a packet; a thousand actors with all their attributes take 3 MiB."""

MAX_FRAME_BYTES = 32 << 20
MAX_PACKETS = 20_000_000
"""Maximum number of packets in a file: 20 hours at 20 frames a second."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; its packets are decoded on request."""

    start: FrameStart
    raw: tuple[tuple[int, bytes], ...]

    def packets(self, *wanted: PacketId) -> Iterator[Packet]:
        """The packets with the ids `wanted`, or all if it is empty, in the file's order. Raises RecordingError."""
        for number, payload in self.raw:
            if not wanted or number in wanted:
                try:
                    yield unpack(number, payload)
                except RecordingError as error:
                    raise RecordingError(f"is damaged in frame {self.start.number}: {error}") from error


@dataclass(frozen=True, slots=True)
class Extent:
    """Number of frames and duration of a recording."""

    frames: int
    total_s: float


@dataclass(slots=True)
class _Pending:
    """A frame whose end has not been read yet."""

    start: FrameStart
    raw: list[tuple[int, bytes]] = field(default_factory=list)
    size: int = 0


class RecordingReader:
    """Reads a file once, from start to end. Raises RecordingError, one line that names the file.

    After the last frame, `is_cut` says whether the file ends within a frame, for example because its server was killed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_cut = False
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise RecordingError(f"recording {path} cannot be read: {error.strerror}") from error
        try:
            self._end = self._file.seek(0, 2)
            self._file.seek(0)
            self.header: Header = unpack_header(self._file.read)
        except RecordingError as error:
            self._file.close()
            raise RecordingError(f"{path} {error}") from error

    def __enter__(self) -> RecordingReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def packets(self) -> Iterator[tuple[int, bytes]]:
        """Number and payload of each packet."""
        for number, size in self._heads():
            yield number, self._file.read(size)

    def frames(self) -> Iterator[Frame]:
        """All complete frames."""
        pending: _Pending | None = None
        for number, size in self._heads():
            payload = self._file.read(size)
            if number == PacketId.FRAME_START:
                pending = _Pending(self._start(payload))
            elif pending is None:
                raise RecordingError(f"{self.path} is damaged: a packet {number} stands before the first frame")
            elif number == PacketId.FRAME_END:
                yield Frame(pending.start, tuple(pending.raw))
                pending = None
                continue
            else:
                pending.raw.append((number, payload))
                pending.size += size
                if pending.size > MAX_FRAME_BYTES:
                    raise RecordingError(f"{self.path} is damaged: frame {pending.start.number} never ends")
        self.is_cut = self.is_cut or pending is not None

    def extent(self) -> Extent:
        """The extent of the whole file. Only for a new reader; it is used up afterwards."""
        frames, total_s = 0, 0.0
        start: FrameStart | None = None
        for number, size in self._heads():
            if number == PacketId.FRAME_START:
                start = self._start(self._file.read(size))
            else:
                self._file.seek(size, 1)
                if number == PacketId.FRAME_END and start is not None:
                    frames, total_s = frames + 1, start.elapsed_s
        return Extent(frames, total_s)

    def _start(self, payload: bytes) -> FrameStart:
        try:
            start = unpack(PacketId.FRAME_START, payload)
        except RecordingError as error:
            raise RecordingError(f"{self.path} is damaged: {error}") from error
        assert isinstance(start, FrameStart)
        return start

    def _heads(self) -> Iterator[tuple[int, int]]:
        """Number and size of each complete packet; when one is yielded, the file is positioned at its payload."""
        for _ in range(MAX_PACKETS):
            head = self._file.read(PACKET_HEAD.size)
            if not head:
                return
            if len(head) < PACKET_HEAD.size:
                self.is_cut = True
                return
            number, size = PACKET_HEAD.unpack(head)
            at = self._file.tell()
            if size > MAX_PACKET_BYTES:
                raise RecordingError(f"{self.path} is damaged: the packet at byte {at} says it has {size} bytes")
            if at + size > self._end:
                self.is_cut = True
                return
            yield number, size
        raise RecordingError(f"{self.path} is too long: it has more than {MAX_PACKETS} packets")
