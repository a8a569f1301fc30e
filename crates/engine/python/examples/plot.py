"""Draws the results of `nanopace run --json run.json`: rates, response times and service times over time.

    pip install matplotlib && python plot.py run.json run.svg

The cells are notebook cells, for editors that support them.
"""

# %% The report
import json
import math
import sys
from pathlib import Path

import matplotlib.pyplot as plt

report = json.loads(Path(sys.argv[1]).read_text())
parts = report["rate_over_time"]
middles = [(part["from_seconds"] + part["to_seconds"]) / 2 for part in parts]

# %% Rates: requested and achieved
plt.rcParams["svg.fonttype"] = "none"
figure, (rates, times) = plt.subplots(2, sharex=True, layout="constrained")
rates.step(middles, [part["target_rate"] for part in parts], where="mid", label="asked")
rates.step(middles, [part["achieved_rate"] for part in parts], where="mid", label="achieved")
rates.set_ylabel("operations/s")
rates.set_ylim(bottom=0)
rates.legend()


# %% Times: response times of the operations that were due in each part, and service times of those that ended in it
def p99_ms(part: dict, kind: str) -> float:
    p99_ns = part[kind]["p99"]  # None if the part has no such operation
    return math.nan if p99_ns is None else p99_ns / 1e6


times.plot(middles, [p99_ms(part["by_intended_start"], "response_time_ns") for part in parts], label="response")
times.plot(middles, [p99_ms(part, "service_time_ns") for part in parts], label="service")
times.set_ylabel("p99, ms")
times.set_yscale("log")
times.set_xlabel("s")
times.legend()

# %% The verdict
figure.suptitle(f"{report['verdict']}: {report['started']} of {report['due']} started")
figure.savefig(sys.argv[2])
