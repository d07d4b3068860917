"""What actors are drawn with: seeds that do not depend on ids, numbers that are unique."""

from __future__ import annotations

from embedded_carla.scene import MOST_INSTANCES
from embedded_carla.world.looks import Looks


def test_seeds_depend_on_the_type_and_its_count_alone() -> None:
    first, second = Looks(), Looks()
    told = [first.give(i, name)[0] for i, name in ((7, "car"), (8, "car"), (9, "bus"))]
    assert [second.give(i, name)[0] for i, name in ((900, "bus"), (901, "car"), (77_000, "car"))] == [
        told[2], told[0], told[1],
    ]  # fmt: skip
    assert len(set(told)) == 3


def test_an_actor_that_comes_again_looks_as_it_did() -> None:
    looks = Looks()
    before = [looks.give(i, "car")[0] for i in (1, 2, 3)]
    looks.release(2)
    assert looks.give(4, "car")[0] == before[1]


def test_numbers_are_unique_and_the_ids_where_they_fit() -> None:
    looks = Looks()
    assert looks.give(5, "car")[1] == 5
    assert looks.give(MOST_INSTANCES + 1 + 5, "car")[1] == 6
    assert looks.give(MOST_INSTANCES + 1, "car")[1] == 1  # 0 is the ground
    assert looks.give(2 * (MOST_INSTANCES + 1) - 1, "car")[1] == MOST_INSTANCES
    assert looks.give(3 * (MOST_INSTANCES + 1) - 1, "car")[1] == 2
    looks.release(5)
    assert looks.give(MOST_INSTANCES + 1 + 5 + MOST_INSTANCES + 1, "car")[1] == 5
