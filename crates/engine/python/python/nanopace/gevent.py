"""A FIFO queue of greenlets that share a pacer. Needs gevent, on Linux."""

import time
from typing import TYPE_CHECKING

import gevent
from gevent.lock import BoundedSemaphore

from ._nanopace import Grant, Pacer, Timer

if TYPE_CHECKING:
    from ._nanopace import _Time

_READ = 1


class Line:
    """Slots for the greenlets of one thread: the first in the queue has the slot, and a timer in gevent's hub
    wakes it."""

    def __init__(self, pacer: Pacer) -> None:
        self.pacer = pacer
        self._timer = Timer(pacer)
        self._turn = BoundedSemaphore(1)

    def acquire(self, timeout: "_Time | None" = None) -> Grant:
        """Like ``Pacer.acquire``; other greenlets run meanwhile. A greenlet that is killed gives its slot back.

        Greenlets get their slots in the order in which they ask. A greenlet whose timeout ends before its turn takes
        a slot that is due, or raises ``TimeoutError``.
        """
        deadline_ns = Timer.deadline_ns(timeout)
        while not self._turn.acquire(blocking=False):
            if deadline_ns is not None:
                grant = self._timer.poll_behind(deadline_ns)
                if grant is not None:
                    return grant
            if self._turn.acquire(timeout=_seconds_until(deadline_ns)):
                break
        try:
            return self._first(deadline_ns)
        finally:
            self._turn.release()

    def _first(self, deadline_ns: "int | None") -> Grant:
        gevent.sleep(0)  # lets other greenlets run while slots are always due
        try:
            while (grant := self._timer.poll(deadline_ns)) is None:
                self._wait_until_readable()
        except BaseException:
            self._timer.give_back()
            raise
        return grant

    def _wait_until_readable(self) -> None:
        hub = gevent.get_hub()
        readable = hub.loop.io(self._timer.fileno(), _READ)
        try:
            hub.wait(readable)
        finally:
            readable.close()


def _seconds_until(deadline_ns: "int | None") -> "float | None":
    return None if deadline_ns is None else max(deadline_ns - time.monotonic_ns(), 0) / 1e9
