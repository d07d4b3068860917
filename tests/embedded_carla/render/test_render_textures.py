"""Surface textures: made once on a machine, then read."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_carla.maps.cache import MapCache
from embedded_carla.render import textures


def test_textures_are_made_once_and_read_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = textures.kept_texels(MapCache(tmp_path))
    assert {name: len(field) for name, field in made.items()} == dict.fromkeys(textures.SURFACES, 4 * textures.SIZE**2)
    with monkeypatch.context() as patch:
        patch.setattr(textures, "texels", lambda name: pytest.fail(f"{name} was made again"))
        assert textures.kept_texels(MapCache(tmp_path)) == made
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    assert textures.kept_texels(MapCache(tmp_path)) == made  # what is damaged is made anew
