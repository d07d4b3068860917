"""A short run of what `make fuzz` does with 3,000 mutated maps."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from embedded_carla.maps.proof import Prover
from embedded_carla.opendrive import parse
from tests.embedded_carla.fuzz.map_seeds import seeds
from tests.embedded_carla.fuzz.run_map_fuzz import run, run_through_server

MAPS, SEED = 300, 3


def test_the_maps_are_sound_before_they_are_mutated() -> None:
    hand_made, *towns = seeds()
    with Prover() as prover:
        for root in (*hand_made, *(town[0] for town in towns if town)):
            assert prover.prove("Seed", parse(etree.tostring(root, encoding="unicode"), "Seed").xodr_text) == ""


def test_three_hundred_mutated_maps() -> None:
    pytest.importorskip("carla")
    found = run(MAPS, SEED, build_every=6, told=False)
    assert not found.faults
    assert found.maps == MAPS
    assert found.became["refused by the checks"] > MAPS / 20
    assert found.became["refused by the proof"] > MAPS / 60
    assert found.became["accepted"] + found.became["repaired and accepted"] > MAPS / 3
    assert found.built > MAPS / 30


def test_mutated_maps_through_server_and_client(tmp_path: Path) -> None:
    assert run_through_server((0, 2), SEED, tmp_path).total() == 2
