"""Greenlets that share a pacer, one behind the other. Needs gevent, on Linux."""

import gevent
from gevent.lock import BoundedSemaphore

from ._nanopace import Grant, Pacer, Timer

_READ = 1


class Line:
    """Slots for the greenlets of one thread: the first in line has the slot, and a timer in gevent's hub
    wakes it."""

    def __init__(self, pacer: Pacer) -> None:
        self.pacer = pacer
        self._timer = Timer(pacer)
        self._turn = BoundedSemaphore(1)

    def acquire(self) -> Grant:
        """As ``Pacer.acquire``; other greenlets run meanwhile. One that is killed gives its slot back."""
        with self._turn:
            gevent.sleep(0)  # others run, too, while slots are always due
            try:
                while (grant := self._timer.poll()) is None:
                    self._wait_until_readable()
            except BaseException:
                self._timer.give_back()
                raise
            return grant

    def _wait_until_readable(self) -> None:
        hub = gevent.get_hub()
        with hub.loop.io(self._timer.fileno(), _READ) as readable:
            hub.wait(readable)
