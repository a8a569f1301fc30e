"""Measures how even the load of each installed generator is, for docs/EVENNESS.md.

Each round starts every tool once, in turn, against a new `nanopace witness`. The script writes every result to
benches/results/evenness.json, and the table into the page. Usage: evenness.py NANOPACE ROUNDS
"""

import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from statistics import median

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- evenness -->\n", "<!-- end of evenness -->"
URL = "http://127.0.0.1:9000/"
RATE, CONNECTIONS = 2000, 10
EACH = RATE // CONNECTIONS
SECONDS = 11  # The witness leaves out the first second.

LOCUSTFILE = f"""
from locust import FastHttpUser, constant_throughput, task

class User(FastHttpUser):
    wait_time = constant_throughput({EACH})

    @task
    def get(self):
        self.client.get("/")
"""

# The command of each tool, and the command that prints its version.
TOOLS = {
    "nanopace": (f"nanopace run {URL} --rate {RATE}/s -c {CONNECTIONS} -z {SECONDS}s --quiet", "nanopace --version"),
    "wrk2": (f"wrk2 -t1 -c{CONNECTIONS} -d{SECONDS}s -R{RATE} {URL}", "wrk2 -v"),
    "hey": (f"hey -z {SECONDS}s -c {CONNECTIONS} -q {EACH} {URL}", "apt-cache show hey"),
    "oha": (f"oha --no-tui -z {SECONDS}s -c {CONNECTIONS} -q {RATE} {URL}", "oha --version"),
    "h2load": (f"h2load --h1 -c {CONNECTIONS} -D {SECONDS} --rps {EACH} {URL}", "h2load --version"),
    "httperf": (f"httperf --port 9000 --rate {RATE} --num-conns {RATE * SECONDS}", "httperf --version"),
    "autocannon": (f"autocannon -c {CONNECTIONS} -d {SECONDS} -R {RATE} {URL}", "autocannon --version"),
    "loadtest": (f"loadtest -k -c {CONNECTIONS} -t {SECONDS} --rps {RATE} {URL}", "loadtest --version"),
    "locust": (f"locust -f $LOCUSTFILE --headless -u {CONNECTIONS} -r {CONNECTIONS} -t {SECONDS}s -H {URL[:-1]}", "locust -V"),
}


def version(command):
    shown = subprocess.run(command, shell=True, capture_output=True, text=True)
    return re.search(r"\d+\.\d[\w.]*", shown.stdout + shown.stderr)[0]


def measure(command):
    witness = f"nanopace witness --expect {RATE}/s --json -".split()
    with subprocess.Popen(witness, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        server.stderr.readline()  # The first line means that the witness listens.
        subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.send_signal(signal.SIGINT)
        result = json.loads(server.communicate()[0])
        return result if result["gaps"] else sys.exit(f"no load came from: {command}")


def near(result):
    return result["gaps"]["within_25_percent"]


def ranked(results):
    """Returns each tool's rank. A tool shares the next better tool's rank, unless that tool leads in at least 80 % of the rounds."""
    order = sorted(results, key=lambda tool: -median(map(near, results[tool])))
    ranks = {order[0]: 1}
    for place, (better, worse) in enumerate(zip(order, order[1:]), start=2):
        leads = [near(one) > near(other) for one, other in zip(results[better], results[worse])]
        ranks[worse] = place if sum(leads) >= 0.8 * len(leads) else ranks[better]
    return ranks


def row(tool, rank, results, version):
    share = median(map(near, results))
    late = median(result["lateness_ns"]["p99"] for result in results) / 1e6
    variation = median(result["gaps"]["coefficient_of_variation"] for result in results)
    burst = median(result["bursts"][0]["largest"] for result in results)
    rate = median(result["rate"] for result in results)
    figures = f"{share:.1%} | {variation:.2f} | {late:.2f} ms | {burst:.0f} | {rate:.1f}/s".replace("%", " %")
    return f"| {rank} | {tool} {version} | {figures} | `{TOOLS[tool][0]}` |\n"


def main(nanopace, rounds):
    os.environ["PATH"] = f"{pathlib.Path(nanopace).resolve().parent}:{os.environ['PATH']}"
    with tempfile.NamedTemporaryFile("w", suffix=".py") as locustfile:
        locustfile.write(LOCUSTFILE)
        locustfile.flush()
        os.environ["LOCUSTFILE"] = locustfile.name
        tools = {tool: TOOLS[tool] for tool in TOOLS if shutil.which(tool)}
        print("not installed:", ", ".join(TOOLS.keys() - tools.keys()) or "none")
        versions = {tool: version(of) for tool, (_, of) in tools.items()}
        measured = [{tool: measure(command) for tool, (command, _) in tools.items()} for _ in range(rounds)]
    results = {tool: [one[tool] for one in measured] for tool in tools}
    today, system = datetime.date.today(), f"{platform.machine()} {platform.system()} {platform.release().split('-')[0]}"
    machine = f"{today}, {system}, {os.cpu_count()} cores, {rounds} rounds"
    record = {"measured": machine, "versions": versions, "results": results}
    (ROOT / "benches/results/evenness.json").write_text(json.dumps(record) + "\n")
    rows = [row(tool, rank, results[tool], versions[tool]) for tool, rank in ranked(results).items()]
    head = "| rank | tool | gaps within 25 % | variation | lateness p99 | most in 1 ms | rate | command |\n"
    table = f"Measured on {machine}:\n\n{head}|---|---|---|---|---|---|---|---|\n{''.join(rows)}"
    page = ROOT / "docs/EVENNESS.md"
    before, rest = page.read_text().split(BEGIN)
    page.write_text(before + BEGIN + table + END + rest.split(END)[1])


main(sys.argv[1], int(sys.argv[2]))
