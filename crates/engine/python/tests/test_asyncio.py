"""Tests a pacer with tasks of asyncio."""

import asyncio
import gc
import itertools
import math
import weakref
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar

import nanopace
import pytest

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(main, 60))


async def until_granted(pacer: nanopace.Pacer, slots: int) -> None:
    while pacer.ledger().granted < slots:
        await asyncio.sleep(0.001)


def test_tasks_get_their_slots_in_order_and_never_early() -> None:
    async def main() -> None:
        pacer = nanopace.Pacer("2k/s")
        grants = await asyncio.gather(*(pacer.acquire_async() for _ in range(200)))
        assert [grant.slot for grant in grants] == list(range(200))
        assert all(grant.actual_start_ns >= grant.intended_start_ns for grant in grants)

    run(main())


def test_a_task_that_is_cancelled_gives_its_slot_back() -> None:
    async def main() -> None:
        pacer = nanopace.Pacer("1/h")
        await pacer.acquire_async()
        for _ in range(3):
            task = asyncio.create_task(pacer.acquire_async())
            await until_granted(pacer, 2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert pacer.ledger().granted == 1
        pacer.set_load("1k/s")
        assert (await pacer.acquire_async()).slot == 1

    run(main())


@pytest.mark.parametrize("timeouts", [[None], [0, 0.0001, 0.001, None], [0.0001, 60]])
def test_whenever_tasks_are_cancelled_no_slot_is_lost(timeouts: "list[float | None]") -> None:
    async def main() -> None:
        pacer = nanopace.Pacer("20k/s", slots=2_000)
        started: list[int] = []
        chosen = itertools.cycle(timeouts)

        async def start() -> None:
            try:
                grant = await pacer.acquire_async(next(chosen))
            except TimeoutError:
                return
            started.append(grant.slot)

        async def rounds(index: int) -> None:
            while len(started) < 2_000 and index < 10**6:
                tasks = [asyncio.create_task(start()) for _ in range(3)]
                for _ in range(index % 7):
                    await asyncio.sleep(0)
                tasks[index % 3].cancel()
                results = await asyncio.gather(*tasks, return_exceptions=True)
                index += 5
                if any(isinstance(result, nanopace.Finished) for result in results):
                    return

        await asyncio.gather(*(rounds(index) for index in range(4)))
        assert sorted(started) == list(range(2_000))

    run(main())


def test_changes_and_the_end_reach_tasks() -> None:
    async def main() -> None:
        pacer = nanopace.Pacer("1/h", start="on_resume")
        first = asyncio.create_task(pacer.acquire_async())
        await until_granted(pacer, 1)
        pacer.resume()
        assert (await first).slot == 0
        second = asyncio.create_task(pacer.acquire_async())
        await until_granted(pacer, 2)
        await asyncio.to_thread(pacer.set_load, "1k/s")  # from another thread
        assert (await second).slot == 1
        pacer.set_load("1/h")
        while pacer.try_acquire() is not None:
            pass  # slots that were due meanwhile
        granted = pacer.ledger().granted
        waiting = [asyncio.create_task(pacer.acquire_async()) for _ in range(3)]
        await until_granted(pacer, granted + 1)
        pacer.close()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(result) for result in results] == [nanopace.Closed] * 3

    run(main())


def test_a_slot_that_is_too_far_away_is_not_taken() -> None:
    async def main() -> None:
        pacer = nanopace.Pacer("1/h")
        assert (await pacer.acquire_async(timeout=0)).slot == 0
        timeouts: list[Any] = [0, 0.01, timedelta(minutes=59)]
        for timeout in timeouts:
            with pytest.raises(TimeoutError, match="due after the timeout"):
                await pacer.acquire_async(timeout=timeout)
            assert pacer.ledger().granted == 1
        first = asyncio.create_task(pacer.acquire_async(timeout=7_200))
        await until_granted(pacer, 2)
        for timeout in timeouts:
            with pytest.raises(TimeoutError, match="due after the timeout"):  # after another one
                await pacer.acquire_async(timeout=timeout)
        assert not first.done() and pacer.ledger().granted == 2
        await asyncio.to_thread(pacer.set_load, "1/d")  # now it is known for that one, too
        with pytest.raises(TimeoutError, match="due after the timeout"):
            await first
        assert pacer.ledger().granted == 1
        for wrong, error in [(-1, ValueError), (math.nan, ValueError), ("1s", TypeError), (True, TypeError)]:
            with pytest.raises(error, match="timeout must be a time of 0 seconds or more"):
                await pacer.acquire_async(timeout=wrong)  # type: ignore[arg-type]

    run(main())


def test_timeouts_end_in_a_pause_and_after_others() -> None:
    async def main() -> None:
        pacer = nanopace.Pacer("1k/s", start="on_resume")
        tasks = [asyncio.create_task(pacer.acquire_async(timeout)) for timeout in (0.02, 0.01, 60)]
        done, _ = await asyncio.wait(tasks[:2])
        assert all(isinstance(task.exception(), TimeoutError) for task in done)
        await until_granted(pacer, 1)
        pacer.resume()
        assert (await tasks[2]).slot == 0

    run(main())


def test_a_queued_task_takes_a_due_slot_when_its_timeout_ends() -> None:
    async def main() -> None:
        pacer = nanopace.Pacer("1G/s")  # something is always due
        tasks = [asyncio.create_task(pacer.acquire_async(timeout=0)) for _ in range(100)]
        grants = await asyncio.gather(*tasks)
        assert sorted(grant.slot for grant in grants) == list(range(100))

    run(main())


def test_others_run_while_slots_are_always_due() -> None:
    async def main() -> None:
        pacer = nanopace.Pacer("1G/s")
        is_over = False

        async def end() -> None:
            nonlocal is_over
            is_over = True

        other = asyncio.create_task(end())
        while not is_over:
            await pacer.acquire_async()
        await other

    run(main())


def test_iteration_ends_with_the_schedule_and_loops_share_a_pacer() -> None:
    pacer = nanopace.Pacer("1M/s", slots=100)

    async def some(most: int) -> list[int]:
        slots: list[int] = []
        async for grant in pacer:
            slots.append(grant.slot)
            if len(slots) == most:
                break
        return slots

    assert run(some(40)) == list(range(40))
    assert run(some(1_000)) == list(range(40, 100))


def test_a_loop_that_is_over_is_forgotten() -> None:
    pacer = nanopace.Pacer("10k/s")

    async def main() -> weakref.ref[asyncio.AbstractEventLoop]:
        await asyncio.gather(*(pacer.acquire_async() for _ in range(3)))
        return weakref.ref(asyncio.get_running_loop())

    loops = [asyncio.run(main()) for _ in range(3)]
    gc.collect()
    assert [loop() for loop in loops] == [None] * 3
