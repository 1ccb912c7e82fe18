"""Of what happens often, a line now and then."""

from webhook.observe.log_throttle import SECONDS, LogThrottle


class Clock:
    """Says the time that it is set to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_first_is_logged_at_once_and_the_others_are_counted() -> None:
    clock = Clock()
    seldom = LogThrottle(clock)
    assert [seldom.due(404) for _ in range(1000)] == [1] + [0] * 999
    clock.now += SECONDS - 1
    assert seldom.due(404) == 0
    clock.now += 1
    assert seldom.due(404) == 1001
    assert seldom.due(404) == 0
    clock.now += 10 * SECONDS
    assert seldom.due(404) == 2


def test_each_kind_has_its_own_line() -> None:
    seldom = LogThrottle(Clock())
    assert [seldom.due(kind) for kind in (400, 404, 400, 415, 404)] == [1, 1, 0, 1, 0]
