"""Paces the operations of a load generator.

Each operation starts on schedule, and one that can't is told how late it is:

>>> import nanopace
>>> pacer = nanopace.Pacer("5k/s", slots=3)
>>> for grant in pacer:  # blocks until the intended start of the next slot
...     _ = grant.wait_time  # how late it starts, in seconds

Moments are numbers of ``time.monotonic_ns()``.
"""

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from . import _nanopace
from ._nanopace import Closed, Ended, Finished, Grant, Lane, Ledger, Shape
from ._line import Line
from ._plan import plan

__all__ = [
    "Closed",
    "Ended",
    "Finished",
    "Grant",
    "Lane",
    "Ledger",
    "Pacer",
    "Shape",
    "plan",
]


class Pacer(_nanopace.Pacer):
    __doc__ = _nanopace.Pacer.__doc__

    _lines: WeakKeyDictionary[asyncio.AbstractEventLoop, Line]

    def __init__(self, load: str, /, **settings: Any) -> None:
        super().__init__()
        self._lines = WeakKeyDictionary()

    async def acquire_async(self) -> Grant:
        """As ``acquire``, for a task of ``asyncio``: other tasks run meanwhile. On Linux.

        A task that is cancelled gives its slot back. Tasks get their slots in the order in which they
        ask.
        """
        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None:
            line = self._lines[loop] = Line(self)
        return await line.acquire()

    def __aiter__(self) -> "Pacer":
        return self

    async def __anext__(self) -> Grant:
        """The next grant; iteration ends when no operation starts any more."""
        try:
            return await self.acquire_async()
        except Ended:
            raise StopAsyncIteration from None
