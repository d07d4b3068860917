"""Who is in a hurry behind the ego: those that come much too fast in its lane, and no ordinary traffic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planning.local.hurry import Follower, HurryMemory, update_hurry

LIMIT_MPS, STEP_S = 13.9, 0.05


def watch(
    follower: Callable[[float], Follower | None], seconds: float, ego_mps: float = 12.0, limit_mps: float = LIMIT_MPS
) -> list[tuple[float, bool]]:
    """For each moment the time, and whether the ego makes room then."""
    memory, found = HurryMemory(), []
    for step in range(int(seconds / STEP_S)):
        time_s = step * STEP_S
        one = follower(time_s)
        memory = update_hurry(memory, [one] if one else [], ego_mps, limit_mps, time_s)
        found.append((time_s, bool(memory.in_hurry)))
    return found


def first_s(found: list[tuple[float, bool]]) -> float:
    return next((time_s for time_s, is_in_hurry in found if is_in_hurry), float("inf"))


def test_one_that_comes_much_too_fast_is_in_a_hurry_until_it_has_passed() -> None:
    found = watch(lambda t: Follower(7, -95.0 + 15.0 * t, 0.1, 27.0), 8.0)
    assert first_s(found) == pytest.approx(95.0 / 15.0 - 6.0 + 0.3, abs=0.15), "6 s away, and sure after 0.3 s"
    assert not found[-1][1]
    assert all(is_in_hurry for time_s, is_in_hurry in found if 1.0 < time_s < 95.0 / 15.0)


def test_one_that_had_to_brake_behind_the_ego_still_is() -> None:
    def braked(time_s: float) -> Follower:
        ahead_m = min(-60.0 + 20.0 * time_s, -8.0)
        return Follower(7, ahead_m, 0.0, 32.0 if ahead_m < -8.0 else 12.0)

    assert all(is_in_hurry for time_s, is_in_hurry in watch(braked, 20.0) if time_s > 0.5)
    assert not watch(braked, 40.0)[-1][1], "but not for ever"


def test_one_that_queues_behind_the_ego_is_in_no_hurry() -> None:
    """A car at 58 km/h in a zone of 30 came to stand behind the ego, which then drove through a junction too slowly."""

    def queues(time_s: float) -> Follower:
        speed_mps = max(16.0 - 4.0 * time_s, 0.0)
        return Follower(7, -40.0 + (16.0**2 - speed_mps**2) / 8.0, 0.0, speed_mps)

    found = watch(queues, 12.0, ego_mps=0.0, limit_mps=8.3)
    assert first_s(found) < 0.5
    assert all(is_in_hurry for time_s, is_in_hurry in found if 0.5 < time_s < 7.5), "it may be about to pass"
    assert not any(is_in_hurry for time_s, is_in_hurry in found if time_s > 8.5)


def test_one_that_falls_back_is_forgotten() -> None:
    def falls_back(time_s: float) -> Follower:
        return Follower(7, -80.0, 0.0, 30.0 if time_s < 1.0 else 11.0)

    found = watch(falls_back, 8.0)
    assert first_s(found) < 0.5
    assert not found[-1][1]


@pytest.mark.parametrize(
    ("speed_mps", "ego_mps", "limit_mps", "aside_m"),
    [
        (14.5, 12.0, 13.9, 0.0),  # drives like the ego
        (16.5, 6.0, 13.9, 0.0),  # 20 % too fast, and the ego is slow
        (36.0, 30.0, 30.0, 0.0),  # the same on a motorway
        (13.9, 0.0, 13.9, 0.0),  # the ego stands before a light
        (30.0, 12.0, 13.9, 3.5),  # in the lane beside
        (-13.0, 12.0, 13.9, 0.0),  # has passed, the other way
    ],
)
def test_ordinary_traffic_is_in_no_hurry(speed_mps: float, ego_mps: float, limit_mps: float, aside_m: float) -> None:
    def comes(time_s: float) -> Follower:
        return Follower(7, min(-60.0 + (speed_mps - ego_mps) * time_s, -5.0), aside_m, speed_mps)

    assert first_s(watch(comes, 15.0, ego_mps, limit_mps)) == float("inf")


def test_a_ghost_of_a_few_ticks_is_none() -> None:
    found = watch(lambda t: Follower(7, -50.0, 0.0, 30.0) if t < 0.2 else None, 3.0)
    assert first_s(found) == float("inf")


def test_a_new_track_at_the_same_place_is_the_same_vehicle() -> None:
    def comes(time_s: float) -> Follower | None:
        ahead_m = min(-70.0 + 20.0 * time_s, -7.0)
        if 3.3 < time_s < 3.8:
            return None
        return Follower(7 if time_s < 3.5 else 8, ahead_m, 0.2, 32.0 if ahead_m < -7.0 else 12.0)

    assert all(is_in_hurry for time_s, is_in_hurry in watch(comes, 10.0) if time_s > 1.0)


def in_hurry_after(lost: Follower, *then: Follower) -> list[int]:
    """The track ids of those in a hurry, 0.5 s after the track `lost` was seen last.

    `then` are seen throughout, but for a new track 8, which appears at last.
    """
    memory = HurryMemory()
    for step in range(20):
        time_s = step * STEP_S
        is_lost = time_s > 0.46
        seen = [one for one in then if step == 19 or one.track_id != 8]
        memory = update_hurry(memory, seen if is_lost else [*seen, lost], 23.0, 27.8, time_s)
    return [one.track_id for one in memory.in_hurry]


def test_a_car_that_was_seen_with_it_is_another_vehicle() -> None:
    """The radars lost an ambulance 43 m behind the ego, and a car was 5 m from it, in the lane beside."""
    ambulance, car = Follower(7, -43.0, -1.5, 36.0), Follower(9, -38.0, 1.0, 18.0)
    assert in_hurry_after(ambulance, car) == [7], "it is expected where it should be now"


def test_a_track_that_begins_before_the_last_one_ends_is_the_same_vehicle() -> None:
    ambulance, again = Follower(7, -43.0, -1.5, 36.0), Follower(9, -41.5, -2.2, 35.0)
    assert in_hurry_after(ambulance, again) == [9]


def test_it_is_found_again_although_it_sets_off() -> None:
    """It waited behind the ego, and gained 16 m/s when the ego was out of its way, while the radars did not see it."""
    ambulance, again = Follower(7, -43.0, -1.5, 36.0), Follower(8, -24.0, -3.0, 47.0)
    assert in_hurry_after(ambulance, again) == [8]


def test_one_that_is_seen_no_more_is_forgotten() -> None:
    found = watch(lambda t: Follower(7, -60.0 + 18.0 * t, 0.0, 30.0) if t < 2.0 else None, 6.0)
    assert first_s(found) < 0.5
    assert not found[-1][1]
