"""Tests users of Locust in a separate process, against a server that may stall."""

import itertools
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

STOP_SECONDS = 0.5


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    first = threading.Lock()

    def do_GET(self) -> None:
        if self.path == "/stops" and self.first.acquire(blocking=False):
            time.sleep(STOP_SECONDS)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


USERS = """
import gevent
from locust import FastHttpUser, HttpUser, task
from locust.runners import LocalRunner
from nanopace.locust import LoadShape, Paced

class Visitor(Paced, {client}):
    load = {load!r}
    settings = {settings!r}

    def on_start(self):
        gevent.sleep({start_seconds})

    @task
    def get(self):
        grant = gevent.getcurrent().nanopace_grant
        with open({slots!r}, "a") as file:
            file.write(f"{{grant.slot}}\\n")
        self.client.get({path!r})

    def on_stop(self):
        runner = self.environment.runner
        if isinstance(runner, LocalRunner) and runner.user_count == 1:  # the last one
            gevent.spawn(runner.quit)
"""


def locust(host: str, folder: Path, *options: str, **user: Any) -> tuple[dict[str, Any], list[int]]:
    """Runs Locust. Returns the statistics of the only request, and the slots that were started."""
    run = subprocess.run(users(host, folder, user) + list(options), capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    (statistics,) = itertools.chain(*documents(run.stdout))
    return statistics, sorted(map(int, (folder / "slots").read_text().split()))


def users(host: str, folder: Path, user: "dict[str, Any]") -> "list[str]":
    """Writes a file for Locust. Returns the command that runs Locust with this file."""
    slots, file = folder / "slots", folder / "users.py"
    fields = {"client": "HttpUser", "settings": {}, "path": "/", "slots": str(slots), "start_seconds": 0} | user
    file.write_text(USERS.format(**fields) + user.get("more", ""))
    words = [sys.executable, "-m", "locust", "-f", str(file), "-H", host, "--headless", "--json"]
    port = free_port()  # of the master, if the options start one
    ports = ["--master-bind-port", port, "--master-port", port]
    return [*words, *ports, "--exit-code-on-error", "2", "-r", "1000"]


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def documents(text: str) -> Iterator[list[Any]]:
    """Yields the statistics that each process prints. Those of workers are empty."""
    while text := text.lstrip():
        document, end = json.JSONDecoder().raw_decode(text)
        yield document
        text = text[end:]


@pytest.mark.parametrize("client", ["HttpUser", "FastHttpUser"])
def test_every_slot_is_one_request_and_then_the_users_stop(
    host: str, tmp_path: Path, client: str
) -> None:
    user = {"client": client, "load": "200/s", "settings": {"slots": 100}}
    statistics, slots = locust(host, tmp_path, "-u", "10", "-t", "50s", **user)
    assert (statistics["num_requests"], statistics["num_failures"]) == (100, 0)
    assert slots == list(range(100))


def test_response_times_count_from_the_intended_start(host: str, tmp_path: Path) -> None:
    user = {"load": "100/s", "settings": {"slots": 50}, "path": "/stops"}
    statistics, _ = locust(host, tmp_path, "-u", "1", "-t", "50s", **user)
    # The first request stalls the only user. So the request after k intervals of 10 ms begins at
    # least this late:
    least_ms = sum(STOP_SECONDS * 1e3 - 10 * k for k in range(50))
    assert statistics["num_requests"] == 50
    assert statistics["total_response_time"] >= least_ms


def test_workers_are_shards_of_one_load(host: str, tmp_path: Path) -> None:
    user = {"load": "100/s", "settings": {"slots": 30}}
    options = ["--processes", "2", "-u", "4", "-t", "10s"]
    statistics, slots = locust(host, tmp_path, *options, **user)
    assert statistics["num_requests"] == 60
    assert slots == list(range(60))


SHAPE = "\nclass Load(LoadShape):\n    load = Visitor.load\n    users = 5\n"


@pytest.mark.parametrize("options", [[], ["--processes", "2"]])
@pytest.mark.parametrize("start_seconds", [0, 3])
def test_a_test_ends_with_its_shape(
    host: str, tmp_path: Path, options: "list[str]", start_seconds: int
) -> None:
    # Users who log in, for example, begin later than the test.
    user = {"load": "ramp 0/s..100/s 1s", "more": SHAPE, "start_seconds": start_seconds}
    statistics, slots = locust(host, tmp_path, *options, **user)
    assert statistics["num_requests"] == 50 and slots == list(range(50))


TICKS = """
import time
from types import SimpleNamespace
from nanopace import locust
class Load(locust.LoadShape):
    load, users, late_seconds = "hold 100/s 1s", 5, 60
shape = Load()
locust.MasterRunner = SimpleNamespace
shape.get_run_time = lambda: 2.0
for running, users, ago in {ticks}:
    began = None if ago is None else time.monotonic() - ago
    locust._run_of = lambda _: SimpleNamespace(began=began)
    shape.runner = SimpleNamespace(user_count=users, environment=None, clients=SimpleNamespace(running=running))
    print(shape.tick() is None)
"""


@pytest.mark.parametrize(
    "case, ticks, ends",
    [
        ("workers are slow to start", [([], 0, None), (["a"], 5, None)], False),
        ("no user is left that could begin it", [(["a"], 0, None)], True),
        ("users are late, or have no answer yet", [(["a"], 5, 2), (["a"], 1, 30)], False),
        ("users that are late have stopped", [(["a"], 0, 2)], True),
        ("users are later than that", [(["a"], 5, 62)], True),
    ],
)
def test_when_a_test_with_a_shape_ends(case: str, ticks: "list[Any]", ends: bool) -> None:
    program = TICKS.format(ticks=ticks)
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert told.stdout.splitlines() == [str(ends)] * len(ticks), (case, told.stderr)


JOINS = """
from types import SimpleNamespace
from locust import User
from locust.env import Environment
from locust.exception import StopUser
from nanopace import locust
class Visitor(locust.Paced, User):
    load = "100/s"
class Worker(SimpleNamespace):
    def register_message(self, message, listener): self.listener = listener
    def send_message(self, message): pass
locust.WorkerRunner = Worker
environment = Environment(user_classes=[Visitor])
environment.runner = worker = Worker()
visitor, run = Visitor(environment), locust._run_of(environment)
def has_line():
    try:
        return run.line(visitor) is not None
    except StopUser:
        return False
print(has_line())
for shard in ["2/2", "1/3"]:
    worker.listener(SimpleNamespace(data={"shard": shard}))
    environment.events.test_start.fire(environment=environment)
    print(has_line())
    environment.events.test_stop.fire(environment=environment)
    environment.events.test_start.fire(environment=environment)
    print(has_line())
"""


def test_a_worker_that_joins_a_running_test_starts_nothing() -> None:
    told = subprocess.run([sys.executable, "-c", JOINS], capture_output=True, text=True, timeout=60)
    assert told.stdout.split() == ["False", "True", "False", "True", "False"], told.stderr


def test_a_shape_without_a_load_is_refused() -> None:
    program = "from nanopace.locust import LoadShape\nclass Load(LoadShape): users = 5\nLoad()"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert 'TypeError: Load has no load: write load = "500/s" in it' in told.stderr


@pytest.mark.parametrize("options", [[], ["--processes", "2"]])
def test_a_test_whose_users_all_fail_to_begin_ends_with_its_shape_and_status_1(
    host: str, tmp_path: Path, options: "list[str]"
) -> None:
    more = SHAPE + "\nclass Visitor(Visitor):\n    def on_start(self):\n        raise LookupError\n"
    words = users(host, tmp_path, {"load": "hold 100/s 2s", "more": more}) + options
    run = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert "LookupError" in run.stderr and "no operation has started" in run.stderr
    assert set(map(len, documents(run.stdout))) == {0}
    assert run.returncode == 1


@pytest.mark.parametrize(
    "user, more, error",
    [
        ({"load": "5k/fortnight"}, "", "ValueError: column 1: `fortnight` is not a unit of time"),
        ({"load": None}, "", "TypeError: a load that is not a number per second must be a string"),
        ({"load": "1/s", "settings": {"slots": -1}}, "", "ValueError: slots must be a whole number"),
        ({"load": "1/s"}, SHAPE.replace("Visitor.load", "''"), "ValueError: column 1: the end: write a rate"),
    ],
)
def test_an_invalid_load_fails_when_its_class_is_made(
    host: str, tmp_path: Path, user: "dict[str, Any]", more: str, error: str
) -> None:
    words = users(host, tmp_path, user | {"more": more})
    run = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert run.stderr.count(error) == 1 and "in __init_subclass__" in run.stderr
    assert run.returncode == 1
