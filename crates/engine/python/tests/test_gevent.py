"""Tests a queue of greenlets."""

import random
from datetime import timedelta
from typing import Any

import gevent
import nanopace
import pytest
from nanopace.gevent import Line


@pytest.fixture(autouse=True)
def ends() -> Any:
    """Raises ``Timeout`` if the block takes longer than 60 s."""
    with gevent.Timeout(60):
        yield


def test_greenlets_get_their_slots_in_order_and_never_early() -> None:
    line = Line(nanopace.Pacer("2k/s"))
    greenlets = [gevent.spawn(line.acquire) for _ in range(100)]
    grants = [greenlet.get() for greenlet in greenlets]
    assert [grant.slot for grant in grants] == list(range(100))
    assert all(grant.actual_start_ns >= grant.intended_start_ns for grant in grants)


def test_a_slot_that_is_too_far_away_is_not_taken() -> None:
    line = Line(nanopace.Pacer("1/h"))
    assert line.acquire(timeout=0).slot == 0
    timeouts: list[Any] = [0, 0.01, timedelta(minutes=59)]
    for timeout in timeouts:
        with pytest.raises(TimeoutError, match="due after the timeout"):
            line.acquire(timeout)
        assert line.pacer.ledger().granted == 1
    first = gevent.spawn(line.acquire, 7_200)
    while line.pacer.ledger().granted == 1:
        gevent.sleep(0.001)
    for timeout in timeouts:
        with pytest.raises(TimeoutError, match="due after the timeout"):  # after another one
            line.acquire(timeout)
    line.pacer.set_load("1/d")  # now it is known for that one, too
    with pytest.raises(TimeoutError, match="due after the timeout"):
        first.get()
    assert line.pacer.ledger().granted == 1
    with pytest.raises(ValueError, match="timeout must be a time of 0 seconds or more"):
        line.acquire(-1)


def test_timeouts_end_in_a_pause_and_after_others() -> None:
    line = Line(nanopace.Pacer("1k/s", start="on_resume"))
    greenlets = [gevent.spawn(line.acquire, timeout) for timeout in (0.02, 0.01, 60)]
    for greenlet in greenlets[:2]:
        with pytest.raises(TimeoutError, match="paused"):
            greenlet.get()
    line.pacer.resume()
    assert greenlets[2].get().slot == 0


def test_whenever_greenlets_are_killed_no_slot_is_lost() -> None:
    random.seed(34)
    line = Line(nanopace.Pacer("20k/s", slots=1_000))
    started: list[int] = []
    is_over = False

    def start() -> None:
        nonlocal is_over
        try:
            started.append(line.acquire(random.choice([None, 0, 0.0001, 60])).slot)
        except TimeoutError:
            pass
        except nanopace.Finished:
            is_over = True

    while not is_over:
        greenlets = [gevent.spawn(start) for _ in range(3)]
        for _ in range(random.randrange(7)):
            gevent.sleep(0)
        random.choice(greenlets).kill()
        gevent.joinall(greenlets)
    assert sorted(started) == list(range(1_000))
