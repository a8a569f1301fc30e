"""Queues greenlets that share a pacer. Needs gevent and Linux."""

import time
from typing import TYPE_CHECKING

import gevent
from gevent.lock import BoundedSemaphore

from ._nanopace import Grant, Pacer, Timer

if TYPE_CHECKING:
    from ._nanopace import _Time

_READ = 1


class Line:
    """A queue of the greenlets of one thread. Only the first greenlet holds a slot. A timer's file descriptor, which
    gevent's hub watches, wakes that greenlet."""

    def __init__(self, pacer: Pacer) -> None:
        self.pacer = pacer
        self._timer = Timer(pacer)
        self._turn = BoundedSemaphore(1)

    def acquire(self, timeout: "_Time | None" = None) -> Grant:
        """Acquires a slot like ``Pacer.acquire``. Other greenlets run while this greenlet waits.

        A greenlet that is killed gives its slot back. Greenlets get their slots in the order of their calls, except
        that a greenlet that calls again at once can get a slot before waiting greenlets. A greenlet that is still in
        the queue at the end of its timeout starts the next free slot if that slot is due, and otherwise raises
        ``TimeoutError``.
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
