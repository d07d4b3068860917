"""Prepared launches with no GPU: what reaches the driver, and when a tensor map is encoded."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from cuda_ops.errors import CudaOpsError  # noqa: E402
from cuda_ops.runtime import prepared  # noqa: E402
from cuda_ops.runtime.launcher import TensorMap  # noqa: E402

MATRIX = TensorMap(None, 2, 100, 48, 64, 64)


class Driver:
    """Stands in for the driver: keeps what it is given, and answers `error`."""

    def __init__(self) -> None:
        self.encoded: list[tuple[Any, ...]] = []
        self.launched: list[tuple[int, int, bytes]] = []
        self.error = 0

    def encode(self, place: int, kind: int, rank: int, address: int, sizes: Any, pitch: Any, box: Any, *_: Any) -> int:
        self.encoded.append((kind, rank, address, list(sizes), list(pitch), list(box)))
        ctypes.memset(place, address % 251, prepared.MAP_BYTES)
        return self.error

    def launch(self, config: Any, kernel: Any, pointers: Any, extra: Any) -> int:
        of_map, of_array, of_number = (int(place) for place in pointers)
        assert of_map % prepared.MAP_ALIGNMENT == 0
        array = ctypes.c_uint64.from_address(of_array).value
        number = ctypes.c_int32.from_address(of_number).value
        self.launched.append((array, number, ctypes.string_at(of_map, prepared.MAP_BYTES)))
        return 0


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setattr(prepared, "_encode_map", lambda: made.encode)
    monkeypatch.setattr(prepared, "_launch_kernel", lambda: made.launch)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 0, raising=False)
    return made


def launch_of_three() -> prepared.PreparedLaunch:
    arguments = [MATRIX, ctypes.c_void_p(0), ctypes.c_int32(7)]
    return prepared.PreparedLaunch(1, 0, (1, 1, 1), 32, 1, arguments, [0, 1])


def test_a_map_is_encoded_when_its_matrix_has_moved(driver: Driver) -> None:
    start = launch_of_three()
    for address in (4096, 4096, 8192, 4096):
        start(address, 555)
    assert [one[2] for one in driver.encoded] == [4096, 8192, 4096]
    assert driver.encoded[0] == (1, 2, 4096, [48, 100], [96], [64, 64])
    assert driver.launched == [(555, 7, bytes([address % 251]) * 128) for address in (4096, 4096, 8192, 4096)]


def test_a_map_that_the_driver_does_not_take_is_named(driver: Driver) -> None:
    driver.error = 1
    with pytest.raises(CudaOpsError, match="no tensor map of 100 x 48: code 1"):
        launch_of_three()(4096, 555)
    assert driver.launched == []
