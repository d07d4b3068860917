"""Bytes of recordings: a real server's file comes back the same, and no file brings the reader down."""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_carla.recorder import reports
from embedded_carla.recorder.format import RecordingError, pack, unpack, unpack_header
from embedded_carla.recorder.packets import (
    ROWS,
    ActorAdded,
    ActorsAdded,
    FrameStart,
    PacketId,
    PhysicsControl,
    PhysicsControls,
    Rows,
    Unknown,
    VehicleWheels,
    WalkerBones,
    WalkersBones,
    Wheels,
)
from embedded_carla.recorder.reader import MAX_PACKET_BYTES, RecordingReader
from tests.embedded_carla.recorder.recordings import drive, drive_bytes, pack_file

real_recording = pytest.fixture(lambda data_dir: data_dir / "recordings" / "DistanceToLaneCenter.log")

_f32 = st.floats(width=32, allow_nan=False)
_vector = st.tuples(_f32, _f32, _f32)
_u32 = st.integers(0, 2**32 - 1)
_text = st.text(max_size=20)


def _floats(count: int) -> st.SearchStrategy[tuple[float, ...]]:
    return st.tuples(*[_f32] * count)


def _many(item: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(item, max_size=4).map(tuple)


_variable = st.one_of(
    st.builds(
        ActorsAdded,
        _many(
            st.builds(
                ActorAdded, _u32, st.integers(0, 255), _vector, _vector, _u32, _text,
                _many(st.tuples(st.integers(0, 255), _text, _text)),
            )
        ),
    ),
    st.builds(
        PhysicsControls,
        _many(
            st.builds(
                PhysicsControl, _u32, _floats(5), st.booleans(), _floats(4), _vector,
                _many(_floats(2)), _many(_floats(3)), _many(_floats(2)), _many(_floats(12)),
            )
        ),
    ),
    st.builds(WalkersBones, _many(st.builds(WalkerBones, _u32, _many(st.tuples(_text, _vector, _vector))))),
    st.builds(Wheels, _many(st.builds(VehicleWheels, _u32, _many(st.tuples(st.integers(0, 255), _f32, _f32))))),
    st.builds(Unknown, st.integers(25, 255), st.binary(max_size=50)),
)  # fmt: skip


@given(_variable)
def test_packets_of_variable_size_come_back(packet: ActorsAdded) -> None:
    data = pack(packet)
    number, size = struct.unpack_from("<BI", data)
    assert size == len(data) - 5
    assert unpack(number, data[5:]) == packet


@given(st.sampled_from(sorted(ROWS)), st.integers(0, 5), st.randoms(use_true_random=False))
def test_packets_of_rows_come_back(kind: PacketId, count: int, random: object) -> None:
    data = bytes(random.randrange(256) for _ in range(count * ROWS[kind].itemsize))  # type: ignore[attr-defined]
    packed = pack(Rows(kind, np.frombuffer(data, ROWS[kind])))
    again = unpack(packed[0], packed[5:])
    assert isinstance(again, Rows)
    assert again.packet is kind
    assert again.rows.tobytes() == data


@given(st.integers(0, 255), st.binary(max_size=400))
def test_any_payload_is_read_or_refused(number: int, payload: bytes) -> None:
    try:
        packet = unpack(number, payload)
    except RecordingError:
        return
    if number != PacketId.PHYSICS_CONTROLS:  # a bool may be any byte but 0
        assert pack(packet)[5:] == payload


def test_a_real_servers_recording_comes_back_byte_for_byte(real_recording: Path) -> None:
    reader = RecordingReader(real_recording)
    packets = [unpack(number, payload) for number, payload in reader.packets()]
    assert pack_file(reader.header, packets) == real_recording.read_bytes()
    assert not [p for p in packets if isinstance(p, Unknown)]
    starts = [p for p in packets if isinstance(p, FrameStart)]
    assert [s.number for s in starts] == list(range(1, 433))
    assert starts[-1].duration_s == -1.0
    assert all(abs(a.elapsed_s + a.duration_s - b.elapsed_s) < 1e-9 for a, b in itertools.pairwise(starts))


def test_header_of_something_else_is_refused() -> None:
    for data in (b"", b"\x01\x00", b"\x01\x00\x0e\x00CARLA_RECORDEX" + b"\0" * 20, drive_bytes()[:20], b"\x7fELF" * 20):
        with pytest.raises(RecordingError, match="is not a CARLA recording"):
            unpack_header(io.BytesIO(data).read)


def _readings(path: Path) -> list[Callable[[], object]]:
    def frames() -> None:
        with RecordingReader(path) as reader:
            for frame in reader.frames():
                list(frame.packets())

    return [
        frames,
        lambda: reports.file_info(path, True),
        lambda: reports.collisions(path, "a", "a"),
        lambda: reports.actors_blocked(path, 0.5, 10.0),
    ]


def _complaint(read: Callable[[], object]) -> str:
    """What reading says against the file, "" for nothing."""
    try:
        read()
    except RecordingError as error:
        return str(error)
    return ""


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(drive_bytes(6))
    for _ in range(data.draw(st.integers(0, 6), "changes")):
        content[data.draw(st.integers(0, len(content) - 1), "where")] = data.draw(st.integers(0, 255), "what")
    del content[data.draw(st.integers(0, len(content)), "length") :]
    path = tmp_path / "damaged.log"
    path.write_bytes(content)
    for read in _readings(path):
        assert "\n" not in _complaint(read)


def test_a_cut_file_is_read_up_to_its_last_whole_frame(tmp_path: Path) -> None:
    path = tmp_path / "cut.log"
    whole = drive_bytes(20)
    path.write_bytes(whole[:-100])
    with RecordingReader(path) as reader:
        assert [f.start.number for f in reader.frames()] == list(range(1, 20))
        assert reader.is_cut
    assert "The file ends within a frame, after frame 19." in reports.file_info(path, False)


def test_a_packet_that_claims_gigabytes_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "huge.log"
    header, packets = drive(2)
    claim = struct.pack("<BI", PacketId.POSITIONS, MAX_PACKET_BYTES + 1)
    with path.open("wb") as file:
        file.write(pack_file(header, packets[:1]) + claim)
        file.truncate(6 << 30)  # sparse: the bytes are there, and zero
    for read in _readings(path):
        with pytest.raises(RecordingError, match="says it has"):
            read()


def test_a_frame_without_end_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "endless.log"
    header, packets = drive(2)
    block = pack(Unknown(77, bytes(1 << 20)))
    path.write_bytes(pack_file(header, packets[:1]) + 40 * block)
    with RecordingReader(path) as reader, pytest.raises(RecordingError, match="frame 1 never ends"):
        list(reader.frames())


def test_packets_before_the_first_frame_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "early.log"
    header, packets = drive(2)
    path.write_bytes(pack_file(header, packets[1:]))
    with RecordingReader(path) as reader, pytest.raises(RecordingError, match="before the first frame"):
        list(reader.frames())
