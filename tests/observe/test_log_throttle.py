"""One log line of each kind per interval."""

from webhook.observe.log_throttle import INTERVAL_SECONDS, MAX_KINDS, LogThrottle


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_first_event_is_allowed_and_later_ones_are_counted_until_the_interval_ends() -> None:
    clock = Clock()
    throttle = LogThrottle(clock)
    assert [throttle.allow(404) for _ in range(1000)] == [1] + [0] * 999
    clock.now += INTERVAL_SECONDS - 1
    assert throttle.allow(404) == 0
    clock.now += 1
    assert throttle.allow(404) == 1001
    assert throttle.allow(404) == 0
    clock.now += 10 * INTERVAL_SECONDS
    assert throttle.allow(404) == 2


def test_each_kind_has_its_own_interval() -> None:
    throttle = LogThrottle(Clock())
    assert [throttle.allow(kind) for kind in (400, 404, 400, 415, 404)] == [1, 1, 0, 1, 0]


def test_kinds_without_recent_lines_are_forgotten() -> None:
    clock = Clock()
    throttle = LogThrottle(clock)
    for number in range(20 * MAX_KINDS):
        assert throttle.allow(number) == 1
        assert throttle.allow(number) == 0
        clock.now += 1
    assert len(throttle._allowed_at) <= MAX_KINDS
    assert throttle._suppressed.keys() <= throttle._allowed_at.keys()
    clock.now += 10
    assert throttle.allow(20 * MAX_KINDS - 1) == 0
