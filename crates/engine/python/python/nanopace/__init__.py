"""Paces the operations of a load generator.

Each operation starts on schedule, and its grant reports how late it is:

>>> import nanopace
>>> pacer = nanopace.Pacer("5k/s", slots=3)
>>> for grant in pacer:  # blocks until the intended start of the next slot
...     _ = grant.wait_time  # how late it starts, in seconds

Moments are numbers of ``time.monotonic_ns()``.
"""

from typing import TYPE_CHECKING

from . import _nanopace
from ._nanopace import Closed, Ended, Finished, Grant, Lane, Ledger, Shape, __version__
from ._line import line_of
from ._plan import plan

if TYPE_CHECKING:
    from ._nanopace import _Time

__all__ = [
    "Closed",
    "Ended",
    "Finished",
    "Grant",
    "Lane",
    "Ledger",
    "Pacer",
    "Shape",
    "__version__",
    "plan",
]


class Pacer(_nanopace.Pacer):
    __doc__ = _nanopace.Pacer.__doc__

    async def acquire_async(self, timeout: "_Time | None" = None) -> Grant:
        """Like ``acquire``, for a task of ``asyncio``: other tasks run meanwhile. On Linux.

        A task that is cancelled gives its slot back. Tasks get their slots in the order in which they
        ask. A task whose timeout ends before its turn takes a slot that is due, or raises ``TimeoutError``.
        """
        return await line_of(self).acquire(timeout)

    def __aiter__(self) -> "Pacer":
        return self

    async def __anext__(self) -> Grant:
        """The next grant; iteration ends when no operation starts any more."""
        try:
            return await self.acquire_async()
        except Ended:
            raise StopAsyncIteration from None
