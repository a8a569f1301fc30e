"""Runs Locust at a rate: one pacer for all users of a process, and one load for all workers of a run.

>>> from locust import HttpUser, task
>>> from nanopace.locust import Paced
>>> class Visitor(Paced, HttpUser):
...     load = "500/s"  # of all users and all workers together
...
...     @task
...     def index(self):
...         self.client.get("/")

Each task begins at the start of a slot, except a task after ``interrupt()`` and the tasks of a class with its own
``wait_time`` (in a ``TaskSet``, all but a user's first task). In all of Locust's statistics, the response time of a
task's first request counts from the intended start of the task's slot. The schedule does not depend on the number of
users: start as many users as may be busy at the same time.
"""

import functools
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import gevent
from locust import LoadTestShape, events
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import MasterRunner, WorkerRunner

from . import Ended, Grant, Pacer, Shape
from .gevent import Line

if TYPE_CHECKING:
    from ._nanopace import _Load

_log = logging.getLogger("nanopace")


class Paced:
    """A Locust user whose tasks begin on schedule: list it before ``HttpUser`` or another user class."""

    environment: Environment
    load: "_Load"
    """A rate such as "500/s", a number of operations per second, or a shape such as "ramp 100/s..5k/s 30s, hold 60s".
    The load begins when the first user has finished ``on_start``."""

    settings: dict[str, Any] = {}
    """Keyword arguments of :class:`nanopace.Pacer`, such as arrivals and strictness."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Checks the load and the settings of the class, so that an error raises once, and not for each user."""
        super().__init_subclass__(**arguments)
        if "load" in vars(cls):
            _pacer_of(cls)

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)  # type: ignore[call-arg]
        self._run = _run_of(environment)
        begin = self.on_start

        def on_start() -> None:
            begin()
            self.wait_time()

        self.on_start = on_start  # type: ignore[method-assign]

    def on_start(self) -> None:
        """Calls ``on_start`` of Locust's user class."""
        super().on_start()  # type: ignore[misc]

    def wait_time(self) -> float:
        """Waits until the next slot starts. Returns 0, so that Locust adds no wait time."""
        try:
            grant = self._run.line(self).acquire()
        except Ended:
            raise StopUser from None
        self._run.report_start(self)
        vars(gevent.getcurrent())["nanopace_grant"] = grant
        return 0


class LoadShape(LoadTestShape):
    """Ends a test when the load is over and the users have stopped, or ``late_seconds`` after the end of the load.
    Locust checks this once per second, so the test can end up to one second later. The number of users is constant,
    because the pacer follows the load. Set ``load`` and ``users``. In each process, the load begins when the first user
    has finished ``on_start``. The end of the load counts from the beginning in the last process."""

    abstract = True
    load: "_Load"
    users: int = 100
    late_seconds: float = 10
    """The time after the end of the load in which users that are late start the slots that are due, and receive
    responses."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Checks the load of the class, so that an invalid load raises before the test runs."""
        super().__init_subclass__(**arguments)
        if "load" in vars(cls):
            Shape(cls.load)

    def __init__(self) -> None:
        super().__init__()
        if not hasattr(self, "load"):
            raise _no_load(type(self))

    def tick(self) -> "tuple[int, float] | None":
        assert self.runner is not None, "Locust sets it"
        duration = Shape(self.load).duration
        late_seconds = self.late_seconds if self.runner.user_count else 0
        is_over = duration is not None and self._seconds() >= duration + late_seconds
        return None if is_over else (self.users, self.users)

    def _seconds(self) -> float:
        """Returns the time since the load began in the last process. Before that, returns 0 while there are users,
        or, on a master, while no worker is running. If there are no users, the load never begins, so the run time of
        the test counts."""
        assert self.runner is not None, "Locust sets it"
        began = _run_of(self.runner.environment).began
        if began is not None:
            return time.monotonic() - began
        waits = isinstance(self.runner, MasterRunner) and not self.runner.clients.running
        return 0 if waits or self.runner.user_count else self.get_run_time()


def _no_load(owner: type) -> TypeError:
    return TypeError(f'{owner.__name__} has no load: write load = "500/s" in it')


def _pacer_of(owner: "type[Paced]", shard: str = "1/1") -> Pacer:
    settings = {"start": "on_first_use", "shard": shard, **owner.settings}
    return Pacer(owner.load, **settings)


class _Run:
    """The queues of one Locust process, and its shard of the load."""

    def __init__(self, environment: Environment) -> None:
        self._lines: dict[type[Paced], Line] = {}
        self._shard = None if isinstance(environment.runner, WorkerRunner) else "1/1"
        """The shard of this process, or None for a worker without a shard of the current test."""
        self.began: float | None = None
        """The time at which this process last learned that it or another process has begun the load. None before
        that."""
        self._has_started: bool | None = None
        """Whether an operation has started in this process or in a process that reports to it. None before a test."""
        request = environment.events.request
        request.fire = functools.partial(_fire_late, request.fire)  # type: ignore[method-assign]
        environment.events.test_start.add_listener(self._begin)
        environment.events.test_stop.add_listener(self._end)
        environment.events.quitting.add_listener(self._quit)
        if isinstance(environment.runner, WorkerRunner):
            environment.runner.register_message("nanopace", self._hear)
        if isinstance(environment.runner, MasterRunner):
            environment.runner.register_message("nanopace began", self._hear_begin)
            environment.runner.register_message("nanopace started", self._hear_start)

    def line(self, user: Paced) -> Line:
        """Returns the queue for the class that sets the user's ``load``. At the first call for a class, creates the
        queue and reports that the load begins. Classes that inherit a ``load`` share its queue."""
        bases = (base for base in type(user).__mro__ if issubclass(base, Paced))
        owner = next((base for base in bases if "load" in vars(base)), None)
        if owner is None:
            raise _no_load(type(user))
        if owner not in self._lines:
            if self._shard is None:
                raise StopUser
            self._lines[owner] = Line(_pacer_of(owner, self._shard))
            self._hear_begin()
            _send_to_master(user, "nanopace began")
        return self._lines[owner]

    def report_start(self, user: Paced) -> None:
        """Reports the first operation of a test in this process."""
        if not self._has_started:
            self._hear_start()
            _send_to_master(user, "nanopace started")

    def _hear_start(self, **_: Any) -> None:
        self._has_started = True

    def _hear_begin(self, **_: Any) -> None:
        self.began = time.monotonic()

    def _begin(self, environment: Environment, **_: Any) -> None:
        self._lines.clear()
        self.began = None
        self._has_started = False
        if self._shard is None:
            _log.error("this worker joined a running test, whose load is already divided: start it before a test")
        if isinstance(environment.runner, MasterRunner):
            workers = [worker.id for worker in environment.runner.clients.ready]
            for number, worker in enumerate(workers, 1):
                shard = f"{number}/{len(workers)}"
                environment.runner.send_message("nanopace", {"shard": shard}, worker)

    def _hear(self, msg: Any, **_: Any) -> None:
        self._shard = msg.data["shard"]

    def _end(self, environment: Environment, **_: Any) -> None:
        if isinstance(environment.runner, WorkerRunner):
            self._shard = None
        for owner, line in self._lines.items():
            ledger = line.pacer.ledger()
            _log.info("%s: %s operations have started", owner.__name__, ledger.granted)
            if ledger.backlog_slots:
                _log.warning(
                    "%s: %s operations that were due have not started, and are in no statistics",
                    owner.__name__,
                    ledger.backlog_slots,
                )

    def _quit(self, environment: Environment, **_: Any) -> None:
        """Fails a test with paced users in which no operation has started."""
        is_paced = any(getattr(user, "wait_time") is Paced.wait_time for user in environment.user_classes)
        is_worker = isinstance(environment.runner, WorkerRunner)
        if not is_paced or is_worker or self._has_started is not False:
            return
        _log.error("no operation has started: check on_start, the load and the number of users")
        if environment.process_exit_code is None:
            environment.process_exit_code = 1


def _send_to_master(user: Paced, message: str) -> None:
    if isinstance(user.environment.runner, WorkerRunner):
        user.environment.runner.send_message(message)


_runs: WeakKeyDictionary[Environment, _Run] = WeakKeyDictionary()


def _run_of(environment: Environment) -> _Run:
    if environment not in _runs:
        _runs[environment] = _Run(environment)
    return _runs[environment]


@events.init.add_listener
def _on_init(environment: Environment, **_: Any) -> None:
    _run_of(environment)


def _fire_late(fire: Callable[..., None], **event: Any) -> None:
    """Fires a request's event. For the first request of a task, the response time counts from the intended start."""
    grant = vars(gevent.getcurrent()).pop("nanopace_grant", None)
    if grant is not None and event.get("response_time") is not None:
        event["response_time"] += _lateness_ms(grant, **event)
    fire(**event)


def _lateness_ms(
    grant: Grant, response_time: float, start_time: "float | None" = None, **_: Any
) -> float:
    """Returns how late the request began, in milliseconds. Locust's ``start_time`` is a time of the wall clock, which
    may be set during the request. The result is therefore limited: the request began after its grant, and has ended
    by now."""
    now_ns = time.monotonic_ns()
    elapsed = 0.0 if start_time is None else time.time() - start_time
    began_ns = max(now_ns - elapsed * 1e9, grant.actual_start_ns)
    latest_ns = now_ns - response_time * 1e6
    return (min(began_ns, latest_ns) - grant.intended_start_ns) / 1e6
