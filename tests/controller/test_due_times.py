"""Due times: one per item."""

from webhook.controller.due_times import DueTimes


def test_items_are_popped_when_they_are_due_in_order() -> None:
    due: DueTimes[str] = DueTimes()
    for item, at in (("b", 2.0), ("a", 1.0), ("c", 3.0)):
        due.set(item, at)
    assert (due.next_due(), due.pop(0.9)) == (1, None)
    assert [due.pop(2.5) for _ in range(3)] == ["a", "b", None]
    assert (len(due), due.next_due()) == (1, 3)


def test_of_two_times_of_an_item_the_earlier_applies() -> None:
    due: DueTimes[str] = DueTimes()
    for at in (5.0, 2.0, 9.0):
        due.set("a", at)
    assert [due.pop(10), due.pop(10), due.next_due()] == ["a", None, None]


def test_a_discarded_item_is_never_due() -> None:
    due: DueTimes[str] = DueTimes()
    due.set("a", 1)
    due.discard("a")
    assert "a" not in due
    assert due.pop(2) is None
    due.set("a", 3)
    assert (due.pop(2), due.pop(3)) == (None, "a")


def test_outdated_entries_do_not_accumulate() -> None:
    due: DueTimes[int] = DueTimes()
    for number in range(10_000):
        due.set(number % 10, 100_000.0 - number)
        due.discard((number + 5) % 10)
    assert len(due._heap) < 200
