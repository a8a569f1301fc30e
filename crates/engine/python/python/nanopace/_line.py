"""Queues the tasks of one event loop in FIFO order."""

import asyncio
import sys
import time
from collections import OrderedDict
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ._nanopace import Grant

if TYPE_CHECKING or sys.platform == "linux":
    from ._nanopace import Pacer, Timer
if TYPE_CHECKING:
    from ._nanopace import _Time

_lines: "WeakKeyDictionary[asyncio.AbstractEventLoop, WeakKeyDictionary[Pacer, _Line]]"
_lines = WeakKeyDictionary()


def line_of(pacer: "Pacer") -> "_Line":
    """Returns the pacer's queue in the running loop. The queue exists as long as the loop and the pacer."""
    lines = _lines.setdefault(asyncio.get_running_loop(), WeakKeyDictionary())
    line = lines.get(pacer)
    if line is None:
        line = lines[pacer] = _Line(pacer)
    return line


class _Line:
    """A FIFO queue of tasks. Only the first task holds a slot. A timer's file descriptor wakes that task."""

    def __init__(self, pacer: "Pacer") -> None:
        if sys.platform != "linux":
            raise NotImplementedError(
                "acquire_async needs Linux: call acquire in a thread instead"
            )
        self._timer = Timer(pacer)
        self._is_taken = False
        self._behind: OrderedDict[asyncio.Future[bool], None] = OrderedDict()

    async def acquire(self, timeout: "_Time | None" = None) -> Grant:
        deadline_ns = Timer.deadline_ns(timeout)
        while self._is_taken:
            if deadline_ns is not None:
                grant = self._timer.poll_behind(deadline_ns)
                if grant is not None:
                    return grant
            if await self._stand(deadline_ns):
                break
        self._is_taken = True
        try:
            return await self._first(deadline_ns)
        finally:
            self._pass_on()

    async def _stand(self, deadline_ns: "int | None") -> bool:
        """Queues until the task is the first one, or until the deadline. Returns whether the task is the first one."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._behind[turn] = None
        left_ns = None if deadline_ns is None else deadline_ns - time.monotonic_ns()
        alarm = None if left_ns is None else loop.call_later(left_ns / 1e9, _set, turn, False)
        try:
            return await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.result():
                self._pass_on()
            raise
        finally:
            self._behind.pop(turn, None)
            if alarm is not None:
                alarm.cancel()

    def _pass_on(self) -> None:
        """Removes the first task from the queue. The next task that still waits becomes the first one."""
        self._is_taken = False
        while self._behind and not self._is_taken:
            turn, _ = self._behind.popitem(last=False)
            self._is_taken = _set(turn, True)

    async def _first(self, deadline_ns: "int | None") -> Grant:
        await asyncio.sleep(0)  # lets other tasks run while slots are always due
        try:
            while (grant := self._timer.poll(deadline_ns)) is None:
                await self._readable()
        except BaseException:
            self._timer.give_back()
            raise
        return grant

    async def _readable(self) -> None:
        loop, timer = asyncio.get_running_loop(), self._timer.fileno()
        readable = loop.create_future()
        loop.add_reader(timer, _set, readable, True)
        try:
            await readable
        finally:
            loop.remove_reader(timer)


def _set(future: "asyncio.Future[bool]", result: bool) -> bool:
    """Sets the future's result. Returns False if the future already has a result or was cancelled."""
    if future.done():
        return False
    future.set_result(result)
    return True
