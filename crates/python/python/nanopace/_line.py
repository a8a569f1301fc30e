"""The tasks of one event loop, one behind the other."""

import asyncio
import sys
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ._nanopace import Grant

if TYPE_CHECKING or sys.platform == "linux":
    from ._nanopace import Pacer, Timer

_lines: "WeakKeyDictionary[asyncio.AbstractEventLoop, WeakKeyDictionary[Pacer, _Line]]"
_lines = WeakKeyDictionary()


def line_of(pacer: "Pacer") -> "_Line":
    """The line of those who wait in the running loop; it lasts as long as the loop and the pacer."""
    lines = _lines.setdefault(asyncio.get_running_loop(), WeakKeyDictionary())
    line = lines.get(pacer)
    if line is None:
        line = lines[pacer] = _Line(pacer)
    return line


class _Line:
    """The first task has the slot, and the file descriptor of a timer wakes it."""

    def __init__(self, pacer: "Pacer") -> None:
        if sys.platform != "linux":
            raise NotImplementedError(
                "acquire_async needs Linux: call acquire in a thread instead"
            )
        self._timer = Timer(pacer)
        self._turn = asyncio.Lock()
        self._tasks = 0

    async def acquire(self) -> Grant:
        self._tasks += 1
        try:
            async with self._turn:
                return await self._acquire()
        finally:
            self._tasks -= 1
            if self._tasks == 0:
                # One that somebody has waited for keeps its loop alive, and so this line.
                self._turn = asyncio.Lock()

    async def _acquire(self) -> Grant:
        await asyncio.sleep(0)  # others run, too, while slots are always due
        try:
            while (grant := self._timer.poll()) is None:
                await self._readable()
        except BaseException:
            self._timer.give_back()
            raise
        return grant

    async def _readable(self) -> None:
        loop, timer = asyncio.get_running_loop(), self._timer.fileno()
        readable = loop.create_future()
        loop.add_reader(timer, _set, readable)
        try:
            await readable
        finally:
            loop.remove_reader(timer)


def _set(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
