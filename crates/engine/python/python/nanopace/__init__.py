"""Paces the operations of a load generator.

Each operation starts on schedule, and its grant reports how late it is:

>>> import nanopace
>>> pacer = nanopace.Pacer("5k/s", slots=3)
>>> for grant in pacer:  # blocks until the intended start of the next slot
...     _ = grant.wait_time  # how late it starts, in seconds

Points in time are values of ``time.monotonic_ns()``.
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
        """Acquires a slot like ``acquire``, for a task of ``asyncio``. Other tasks run while this task waits. Needs
        Linux.

        A task that is cancelled gives its slot back. Tasks queue in the order of their calls, and get their slots in
        this order. A task that is still in the queue at the end of its timeout starts the next free slot if that slot
        is due, and otherwise raises ``TimeoutError``.
        """
        return await line_of(self).acquire(timeout)

    def __aiter__(self) -> "Pacer":
        return self

    async def __anext__(self) -> Grant:
        """Returns the next grant. Iteration ends when no more operations start."""
        try:
            return await self.acquire_async()
        except Ended:
            raise StopAsyncIteration from None
