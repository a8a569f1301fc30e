"""Compares Locust alone and Locust with nanopace, against one server that records when each request comes.

    pip install .[locust] && python benches/field.py

Both are set to 500/s with 100 users for 10 s: Locust with its own `constant_throughput`, then with `Paced`.
Then both run again, and after 4 s the server stalls for 1 s. Prints the requests per second, the share of
gaps between them within 25 % of 2 ms, and the response times that Locust itself reports.
"""

import asyncio
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

RATE, USERS, SECONDS, STOP_AFTER = 500, 100, 10, 4

USER = """
from locust import FastHttpUser, constant_throughput, task
from nanopace.locust import Paced

class Visitor({bases}):
    {pacing}

    @task
    def get(self):
        self.client.get("/")
"""

KINDS = {
    "Locust": ("FastHttpUser", f"wait_time = constant_throughput({RATE / USERS})"),
    "with nanopace": ("Paced, FastHttpUser", f'load = "{RATE}/s"'),
}

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Witness(asyncio.Protocol):
    def __init__(self, stamps: list[int], stop_seconds: float) -> None:
        self.stamps, self.stop_seconds = stamps, stop_seconds

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for _ in range(data.count(b"\r\n\r\n")):
            self.stamps.append(time.monotonic_ns())
            if len(self.stamps) == 1:
                after = STOP_AFTER
                asyncio.get_running_loop().call_later(after, time.sleep, self.stop_seconds)
            self.transport.write(ANSWER)


def serve(pipe: Connection, stop_seconds: float) -> None:
    stamps: list[int] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Witness(stamps, stop_seconds), "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await loop.run_in_executor(None, pipe.recv)

    asyncio.run(main())
    pipe.send(stamps)


def run(kind: str, stop_seconds: float) -> str:
    pipe, far = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(far, stop_seconds))
    server.start()
    bases, pacing = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        users = Path(folder) / "users.py"
        users.write_text(USER.format(bases=bases, pacing=pacing))
        words = [sys.executable, "-m", "locust", "-f", str(users), "--headless", "--json"]
        words += ["-H", f"http://127.0.0.1:{pipe.recv()}", "-r", str(USERS), "-u", str(USERS)]
        words += ["-t", f"{SECONDS}s"]
        output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    pipe.send(None)
    stamps = pipe.recv()
    server.join()
    return line(kind, stop_seconds, stamps, json.loads(output)[0])


def line(kind: str, stop_seconds: float, stamps: list[int], statistics: dict[str, dict[str, int]]) -> str:
    """Counts from 1 s after the first request to 1 s before the last, because users begin and end in those seconds."""
    inner = [at for at in stamps if stamps[0] + 10**9 <= at <= stamps[-1] - 10**9]
    gaps = [later - earlier for earlier, later in zip(inner, inner[1:])]
    even = sum(abs(gap * RATE / 1e9 - 1) <= 0.25 for gap in gaps) / len(gaps)
    rate = len(gaps) / (inner[-1] - inner[0]) * 1e9
    times = sorted((float(ms), n) for ms, n in statistics["response_times"].items())
    p50, p95 = (quantile(times, part) for part in (0.5, 0.95))
    return (
        f"{kind:<14} stop {stop_seconds:g} s   {rate:6.1f}/s   {even:6.1%} even"
        f"   response p50 {p50:g} ms, p95 {p95:g} ms"
    )


def quantile(times: list[tuple[float, int]], part: float) -> float:
    left = part * sum(n for _, n in times)
    for ms, n in times:
        left -= n
        if left <= 0:
            return ms
    return times[-1][0]


if __name__ == "__main__":
    for stop_seconds in (0, 1):
        for kind in KINDS:
            print(run(kind, stop_seconds), flush=True)
