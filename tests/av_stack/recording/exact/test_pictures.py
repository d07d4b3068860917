"""Pictures come back in every bit, of any size and content; and damaged ones are told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_stack.recording.exact.packing import PackingError
from av_stack.recording.exact.pictures import PictureDecoder, PictureEncoder


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 2**32 - 1), st.sampled_from([1, 40, 256]))
def test_pictures_come_back_in_every_bit(width: int, height: int, seed: int, levels: int) -> None:
    encoder, decoder = PictureEncoder("front", width, height), PictureDecoder()
    rng = np.random.default_rng(seed)
    for _ in range(3):
        bgr = rng.integers(0, levels, (height, width, 3)).astype(np.uint8)
        packed = encoder.encode(bgr)
        assert (packed.width_px, packed.height_px) == (width, height)
        back = decoder.decode(packed)
        assert np.array_equal(back, bgr)
        assert back.flags.c_contiguous
        assert back.flags.writeable


def test_a_smooth_picture_takes_much_less_room() -> None:
    bgr = np.repeat(np.linspace(0, 255, 640).astype(np.uint8)[None, :, None], 360, axis=0).repeat(3, axis=2)
    assert len(PictureEncoder("front", 640, 360).encode(bgr).data) < bgr.nbytes / 4


def test_each_picture_can_be_read_alone_and_sizes_may_change() -> None:
    rng, decoder = np.random.default_rng(1), PictureDecoder()
    for width in (64, 40, 64):
        pictures = [rng.integers(0, 256, (48, width, 3), dtype=np.uint8) for _ in range(3)]
        encoder = PictureEncoder("front", width, 48)
        packed = [encoder.encode(bgr) for bgr in pictures]
        assert np.array_equal(decoder.decode(packed[2]), pictures[2])


def test_a_picture_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="instead of 64x48 px"):
        PictureEncoder("front", 64, 48).encode(np.zeros((48, 63, 3), dtype=np.uint8))


def test_damage_is_told() -> None:
    packed = PictureEncoder("front", 64, 48).encode(np.zeros((48, 64, 3), dtype=np.uint8))
    for broken, message in (
        (replace(packed, data=packed.data[:100]), "camera front: a damaged picture"),
        (replace(packed, data=b""), "camera front: a damaged picture"),
        (replace(packed, codec="h264"), "no picture of magicyuv, but 'h264'"),
        (replace(packed, width_px=0), "no picture of magicyuv"),
    ):
        with pytest.raises(PackingError, match=message):
            PictureDecoder().decode(broken)
