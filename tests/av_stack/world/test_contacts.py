"""Contacts reach the judge at a tick that the load of the machine does not decide."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from av_stack.world.carla.sensors import split_contacts


@dataclass(frozen=True)
class Contact:
    frame: int


@given(st.lists(st.tuples(st.integers(10, 30), st.integers(0, 1))))
def test_when_a_contact_arrives_does_not_matter_within_a_tick(contacts: list[tuple[int, int]]) -> None:
    """Each contact arrives in its own tick, or only in the next: it is given in the next, once."""
    given_at: list[tuple[int, int]] = []
    waiting: list[Contact] = []
    for tick in range(10, 33):
        waiting += [Contact(frame) for frame, late in contacts if frame + late == tick]
        due, waiting = split_contacts(waiting, 12, tick)
        given_at += [(contact.frame, tick) for contact in due]
    assert sorted(given_at) == sorted((frame, frame + 1) for frame, _ in contacts if frame > 12)
    assert not waiting
