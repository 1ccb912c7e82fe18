"""Lines that are logged for each request are limited by rate."""

from webhook.observe.log_rate import LogRate


def test_a_burst_is_logged_and_the_rest_is_counted_in_the_next_line() -> None:
    time = 0.0
    rate = LogRate(burst=3, per_second=2, now=lambda: time)
    assert [rate.allow() for _ in range(5)] == [0, 0, 0, None, None]
    time = 0.5
    assert [rate.allow() for _ in range(2)] == [2, None]
    time = 100.0
    assert [rate.allow() for _ in range(4)] == [1, 0, 0, None]
