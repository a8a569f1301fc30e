"""Tests a pacer with threads."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import nanopace
import pytest

STUCK_SECONDS = 60
"""The time after which a thread that has not returned counts as stuck."""


def in_thread(run: Callable[[], object]) -> Callable[[], object]:
    """Runs the call in another thread. Returns the call's result, or the error that the call raises."""
    results: list[object] = []

    def caught() -> None:
        try:
            results.append(run())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=caught, daemon=True)
    thread.start()

    def result() -> object:
        thread.join(STUCK_SECONDS)
        assert results, "the thread is stuck"
        return results[0]

    return result


def wait_until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + STUCK_SECONDS
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_the_rate_of_a_shape_is_0_where_it_starts_nothing() -> None:
    rests = nanopace.Pacer("hold 0/s 1h, hold 5/s 1h")
    over = nanopace.Pacer("hold 5/s 1ms")
    wait_until(lambda: over.rate == 0)
    assert (rests.rate, nanopace.Pacer("1/d").rate) == (0, 1 / 86_400)


def test_slots_start_in_order_and_never_early() -> None:
    before = time.monotonic_ns()
    pacer = nanopace.Pacer("2k/s", slots=50)
    grants = list(pacer)
    after = time.monotonic_ns()
    assert [grant.slot for grant in grants] == list(range(50))
    first = grants[0].intended_start_ns
    assert [grant.intended_start_ns - first for grant in grants] == [n * 500_000 for n in range(50)]
    for grant in grants:
        assert before <= grant.intended_start_ns <= grant.actual_start_ns <= after
        assert grant.wait_time_ns == grant.actual_start_ns - grant.intended_start_ns
        assert grant.wait_time == grant.wait_time_ns / 1e9
        assert grant.response_time_ns(after) == after - grant.intended_start_ns
        assert grant.response_time() >= grant.wait_time


@pytest.mark.parametrize("load", ["1M/s", "ramp 0/s..2M/s 1min", "(sine 500k/s..1500k/s period 10ms) forever"])
def test_threads_share_the_slots(load: str) -> None:
    pacer = nanopace.Pacer(load, slots=20_000)
    ways: list[Callable[[], object]] = [lambda: list(pacer), lambda: list(pacer.lane())]
    results = [in_thread(way) for way in ways * 2]
    grants = [grant for result in results for grant in result()]  # type: ignore[attr-defined]
    assert sorted(grant.slot for grant in grants) == list(range(20_000))
    assert all(grant.actual_start_ns >= grant.intended_start_ns for grant in grants)
    assert pacer.ledger().granted == 20_000


def test_a_plan_matches_the_grants_of_a_pacer() -> None:
    settings: dict[str, Any] = {"arrivals": "poisson", "seed": 7, "shard": "2/3"}
    load = "ramp 0/s..10k/s 100ms"
    grants = list(nanopace.Pacer(load, **settings))
    planned = list(nanopace.plan(load, **settings))
    began = grants[0].intended_start_ns - planned[0]
    assert [grant.intended_start_ns - began for grant in grants] == planned


def test_changes_and_the_end_reach_sleeping_threads() -> None:
    changes: list[tuple[Callable[[nanopace.Pacer], None], type]] = [
        (lambda pacer: pacer.set_load("1k/s"), nanopace.Grant),
        (lambda pacer: pacer.set_load("hold 1k/s 1h"), nanopace.Grant),
        (lambda pacer: pacer.close(), nanopace.Closed),
    ]
    for change, result in changes:
        for acquire in ["acquire", "acquire_many", "lane"]:
            pacer = nanopace.Pacer("1/h")
            pacer.acquire()
            sleep = {
                "acquire": pacer.acquire,
                "acquire_many": lambda pacer=pacer: pacer.acquire_many(2),
                "lane": lambda pacer=pacer: pacer.lane().acquire(),
            }[acquire]
            asleep = in_thread(sleep)
            wait_until(lambda: pacer.ledger().granted > 1)
            change(pacer)
            assert isinstance(asleep(), result)


def test_a_slot_that_is_too_far_away_is_not_taken() -> None:
    pacer = nanopace.Pacer("1/h")
    assert pacer.try_acquire() is not None
    assert pacer.try_acquire() is None
    lane = pacer.lane()
    timeouts: list[float | timedelta] = [0, 0.01, timedelta(minutes=59)]
    for timeout in timeouts:
        for acquire in [pacer.acquire, lane.acquire]:
            with pytest.raises(TimeoutError, match="due after the timeout"):
                acquire(timeout=timeout)
        with pytest.raises(TimeoutError):
            pacer.acquire_many(5, timeout=timeout)
    assert pacer.ledger().granted == 1
    due = pacer.next_due_ns()
    assert due is not None and due > time.monotonic_ns() + 59 * 60 * 10**9


def test_a_pause_ends_by_resume_only() -> None:
    pacer = nanopace.Pacer("1k/s", start="on_resume")
    assert pacer.is_paused and pacer.next_due_ns() is None and pacer.try_acquire() is None
    with pytest.raises(TimeoutError, match="paused"):
        pacer.acquire(timeout=0.01)
    asleep = in_thread(pacer.acquire)
    wait_until(lambda: pacer.ledger().granted > 0)
    pacer.resume()
    grant = asleep()
    assert isinstance(grant, nanopace.Grant) and grant.slot == 0


def test_a_schedule_ends_by_finished_and_a_block_by_closed() -> None:
    with nanopace.Pacer("1M/s", duration=timedelta(milliseconds=1)) as pacer:
        assert len(list(pacer.lane())) == 1_000
        with pytest.raises(nanopace.Finished):
            pacer.acquire()
        pacer.set_strictness(1)
        assert pacer.strictness == 1 and not pacer.is_closed
    assert pacer.is_closed
    with pytest.raises(nanopace.Closed):
        pacer.acquire_many(2)


def test_the_ledger_balances() -> None:
    pacer = nanopace.Pacer("100k/s", strictness=0.5)
    for _ in range(1_000):
        pacer.acquire()
    pacer.pause()
    of = pacer.ledger()
    assert of.elapsed_ns == of.allocated_ns + of.idle_ns + of.waiting_ns + of.backlog_ns
    assert (of.granted, of.skipped) == (1_000, 0)


def test_a_lane_belongs_to_the_thread_that_uses_it() -> None:
    lane = nanopace.Pacer("1M/s").lane()
    assert isinstance(in_thread(lane.acquire)(), nanopace.Grant)
    for use in [lane.acquire, lane.try_acquire, lane.give_back]:
        with pytest.raises(RuntimeError, match="one thread"):
            use()


INTERRUPTED = """
import nanopace, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets background processes ignore it
pacer = nanopace.Pacer("1/h")
pacer.acquire()
take = {"acquire": pacer.acquire, "acquire_many": lambda: pacer.acquire_many(3), "lane": pacer.lane().acquire}
def interrupt():
    while pacer.ledger().granted == 1:
        time.sleep(0.001)
    signal.raise_signal(signal.SIGINT) if sys.argv[2] == "raise" else signal.pthread_kill(
        threading.main_thread().ident, signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    take[sys.argv[1]]()
except KeyboardInterrupt:
    assert pacer.ledger().granted == 1, pacer.ledger()  # its slot went back
    print("interrupted")
"""


@pytest.mark.parametrize("take", ["acquire", "acquire_many", "lane"])
@pytest.mark.parametrize("how", ["raise", "kill"])
def test_an_interrupt_ends_a_wait_and_gives_the_slot_back(take: str, how: str) -> None:
    words = [sys.executable, "-c", INTERRUPTED, take, how]
    run = subprocess.run(words, capture_output=True, text=True, timeout=STUCK_SECONDS)
    assert (run.stdout, run.stderr) == ("interrupted\n", "")


SHORTLY_BEFORE = """
import nanopace, signal, sys, time
class Raised(Exception):
    pass
def interrupt(*_):
    raise Raised
signal.signal(signal.SIGALRM, interrupt)
interrupted = 0
while interrupted < 3:
    pacer = nanopace.Pacer("10/s", pause=sys.argv[2])
    pacer.acquire()
    take = {"acquire": pacer.acquire, "acquire_many": lambda: pacer.acquire_many(3), "lane": pacer.lane().acquire,
            "timeout": lambda: pacer.acquire(timeout=10), "next": lambda: next(pacer)}[sys.argv[1]]
    left = (pacer.next_due_ns() - time.monotonic_ns()) / 1e9
    grant = None
    try:
        signal.setitimer(signal.ITIMER_REAL, max(left - 0.01, 1e-6))
        grant = take()
        time.sleep(60)
    except Raised:
        pass
    if grant is None:  # otherwise the signal came after the start
        assert pacer.ledger().granted == 1, pacer.ledger()
        interrupted += 1
"""


@pytest.mark.parametrize("take", ["acquire", "acquire_many", "lane", "timeout", "next"])
@pytest.mark.parametrize("pause", ["sleep", "hybrid"])
def test_an_error_shortly_before_a_start_takes_no_slot_with_it(take: str, pause: str) -> None:
    words = [sys.executable, "-c", SHORTLY_BEFORE, take, pause]
    run = subprocess.run(words, capture_output=True, text=True, timeout=STUCK_SECONDS)
    assert (run.returncode, run.stderr) == (0, "")


IMPORTS_NOTHING = """
import nanopace, sys
class Interrupted:  # like a signal handler, which may run during an import
    def find_spec(*_):
        raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted)
pacer = nanopace.Pacer("1k/s", slots=3)
take = [lambda: pacer.acquire(timeout=60), lambda: pacer.acquire_many(1, timeout=60), pacer.lane().acquire]
assert [grant().slot for grant in take] == [0, 1, 2]
"""


def test_no_call_does_an_import_that_a_signal_handler_would_interrupt() -> None:
    words = [sys.executable, "-c", IMPORTS_NOTHING]
    run = subprocess.run(words, capture_output=True, text=True, timeout=STUCK_SECONDS)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_slot_starts_when_its_thread_has_the_interpreters_lock() -> None:
    script = """
import nanopace, sys, threading, time
sys.setswitchinterval(1_000)  # the holder of the lock is not asked to release it
pacer = nanopace.Pacer("10/s")
pacer.acquire()
begun, released = threading.Event(), 0
def work():
    global released
    begun.set()
    while pacer.ledger().granted == 1:
        time.sleep(0.001)
    while released < pacer.next_due_ns() - 50_000_000:  # until halfway to the next slot
        released = time.monotonic_ns()
threading.Thread(target=work, daemon=True).start()
begun.wait()
print(pacer.acquire().actual_start_ns >= released > 0)
"""
    words = [sys.executable, "-c", script]
    run = subprocess.run(words, capture_output=True, text=True, timeout=STUCK_SECONDS)
    assert (run.stdout, run.stderr) == ("True\n", "")


def test_other_code_runs_while_a_handler_of_a_signal_returns() -> None:
    script = """
import nanopace, signal, threading, time
pacer = nanopace.Pacer("1/h")
pacer.acquire()
def go_on(*_):
    pacer.set_load("1k/s")  # the handler comes back into the pacer
signal.signal(signal.SIGALRM, go_on)
signal.setitimer(signal.ITIMER_REAL, 0.05)
print(pacer.acquire().slot)
"""
    words = [sys.executable, "-c", script]
    run = subprocess.run(words, capture_output=True, text=True, timeout=STUCK_SECONDS)
    assert (run.stdout, run.stderr) == ("1\n", "")
