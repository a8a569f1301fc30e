"""Measures the cost of calls and the lateness of starts, compared with what Python offers.

    pip install . && python benches/calls.py
"""

import asyncio
import time
import timeit

import nanopace

CALLS = 10_000


def cost(name: str, statement: str, **names: object) -> None:
    best = min(timeit.repeat(statement, globals=names, repeat=400, number=CALLS))
    print(f"{name:<34} {best / CALLS * 1e9:6.0f} ns")


def lateness(name: str, late_ns: list[int]) -> None:
    late_ns.sort()
    p50, p99 = (late_ns[int(len(late_ns) * part)] / 1e3 for part in (0.5, 0.99))
    print(f"{name:<34} p50 {p50:6.0f} us   p99 {p99:6.0f} us")


async def awaited(starts: int) -> None:
    pacer = nanopace.Pacer("1k/s", slots=starts)
    lateness("await acquire_async", [grant.wait_time_ns async for grant in pacer])
    began, late = time.monotonic_ns(), []
    for slot in range(starts):
        due = began + slot * 1_000_000
        await asyncio.sleep((due - time.monotonic_ns()) / 1e9)
        late.append(max(0, time.monotonic_ns() - due))
    lateness("asyncio.sleep until then", late)


if __name__ == "__main__":
    print("slots that are due:")
    fast = nanopace.Pacer("1G/s")
    cost("time.perf_counter()", "now()", now=time.perf_counter)
    cost("pacer.acquire()", "acquire()", acquire=fast.acquire)
    cost("lane.acquire()", "acquire()", acquire=fast.lane().acquire)
    cost("pacer.try_acquire()", "acquire()", acquire=fast.try_acquire)
    print("at 1k/s, one after the other:")
    for pause in ("sleep", "hybrid"):
        grants = nanopace.Pacer("1k/s", slots=3_000, pause=pause)  # type: ignore[arg-type]
        lateness(f"pacer.acquire(), {pause}", [grant.wait_time_ns for grant in grants])
    asyncio.run(awaited(3_000))
