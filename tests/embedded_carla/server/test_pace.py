"""When a frame may be made while a TrafficManager is at work."""

from __future__ import annotations

from embedded_carla.pace import EXPECT_S, LOST_S, MISSES, SETTLE_S, STEP_S, TrafficManagerWatch

STEP = ("get_vehicle_light_states", "get_weather_parameters", "apply_batch", "get_episode_settings")


def manager_at_rest() -> TrafficManagerWatch:
    watch = TrafficManagerWatch()
    watch.on_call("add_traffic_manager_running", 0.0)
    for call in STEP:
        watch.on_call(call, 0.0)
    return watch


def test_a_client_without_a_manager_never_waits() -> None:
    watch = TrafficManagerWatch()
    for call in STEP[:2]:
        watch.on_call(call, 1.0)
    assert watch.may_tick(1.0, 1.0)
    assert watch.settle_s(1.0) == 0.0


def test_a_frame_waits_for_the_whole_step() -> None:
    watch = manager_at_rest()
    watch.on_frame()
    for call in STEP[:3]:
        watch.on_call(call, 1.001)
        assert not watch.may_tick(1.001, 1.001), call
    watch.on_call(STEP[3], 1.002)
    assert watch.may_tick(1.001, 1.002)
    assert abs(watch.settle_s(1.002) - SETTLE_S) < 1e-9
    assert watch.settle_s(1.002 + SETTLE_S) == 0.0


def test_a_batch_of_the_script_does_not_end_the_step() -> None:
    watch = manager_at_rest()
    watch.on_frame()
    watch.on_call("apply_batch", 1.0)
    watch.on_call(STEP[0], 1.0)
    watch.on_call("get_episode_settings", 1.0)
    assert not watch.may_tick(1.0, 1.0)


def test_a_step_that_should_come_is_waited_for_a_while() -> None:
    watch = manager_at_rest()
    watch.on_frame()
    assert not watch.may_tick(1.0, 1.0 + 0.9 * EXPECT_S)
    assert watch.may_tick(1.0, 1.0 + EXPECT_S)


def test_a_step_that_never_ends_holds_nothing_for_ever() -> None:
    watch = manager_at_rest()
    watch.on_frame()
    watch.on_call(STEP[0], 1.0)
    assert not watch.may_tick(1.0, 1.0 + 0.9 * STEP_S)
    assert watch.may_tick(1.0, 1.0 + STEP_S)


def test_a_sleeping_manager_is_no_longer_expected_after_some_misses() -> None:
    watch = manager_at_rest()
    now = 1.0
    for _ in range(MISSES + 1):
        now += 1.0
        watch.on_frame()
    assert watch.may_tick(now, now)
    watch.on_call(STEP[0], now)
    watch.on_call(STEP[2], now)
    watch.on_call(STEP[3], now)
    watch.on_frame()
    assert not watch.may_tick(now, now)


def test_a_step_without_vehicles_ends_when_the_thread_asks_again() -> None:
    """An asynchronous TrafficManager without vehicles sends no batch and asks for the settings in a busy loop."""
    watch = manager_at_rest()
    watch.on_frame()
    for call in (STEP[0], STEP[1], STEP[3]):
        watch.on_call(call, 1.0)
        assert not watch.may_tick(1.0, 1.0)
    watch.on_call(STEP[3], 1.0)
    assert watch.may_tick(1.0, 1.0)


def test_a_thread_that_sleeps_through_a_frame_is_lost_after_a_while() -> None:
    watch = manager_at_rest()
    watch.on_frame()
    assert not watch.is_lost(1.0, 1.0 + 0.9 * LOST_S)
    assert watch.is_lost(1.0, 1.0 + LOST_S)
    for call in STEP:
        watch.on_call(call, 1.1)
    assert not watch.is_lost(1.0, 1.1 + 2.0 * LOST_S)


def test_a_thread_is_lost_that_asked_for_the_settings_after_its_first_frame() -> None:
    """It starts late on a busy machine, asks, and goes to sleep at the moment when the client has the frame."""
    watch = TrafficManagerWatch()
    watch.on_call("add_traffic_manager_running", 0.0)
    watch.on_frame()
    watch.on_call("get_episode_settings", 1.001)
    assert not watch.is_lost(1.0, 1.0 + LOST_S)
    assert watch.is_lost(1.0, 1.001 + LOST_S)


def test_a_thread_that_works_on_a_long_step_is_not_lost() -> None:
    watch = manager_at_rest()
    watch.on_frame()
    watch.on_call(STEP[0], 1.001)
    assert not watch.is_lost(1.0, 1.0 + 10.0 * LOST_S)
