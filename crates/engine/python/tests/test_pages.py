"""Tests that the Python code of the pages runs unchanged."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nanopace
import nanopace.gevent
import pytest

PACKAGE = Path(__file__).parents[1]
PAGE = (PACKAGE / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


@pytest.mark.parametrize("block", BLOCKS)
def test_the_code_of_a_page_runs(block: str) -> None:
    run = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr


def names() -> "set[str]":
    """Returns the names that users may write: classes, their members, and arguments with a default."""
    classes = [nanopace.Pacer, *nanopace.Pacer.__bases__, nanopace.Grant, nanopace.Lane, nanopace.Ledger]
    classes += [nanopace.Shape, nanopace.gevent.Line]
    members = {name for of in classes for name in vars(of) if not name.startswith("_")}
    calls: list[Callable[..., object]] = [nanopace.Pacer, nanopace.plan, nanopace.Pacer.acquire_async, nanopace.Grant.response_time]
    arguments = {name for call in calls for name in inspect.signature(call).parameters if name != "self"}
    return members | arguments | set(nanopace.__all__)


@pytest.mark.parametrize("name", sorted(names() - {"load"}))
def test_the_page_has_every_name(name: str) -> None:
    code = re.findall(r"^```python\n.*?^```|`[^`\n]+`", PAGE, re.M | re.S)
    assert any(re.search(rf"\b{name}\b", part) for part in code), name


def test_loads_of_the_page_are_loads() -> None:
    rates, shapes = re.findall(r"^```text\n(.*?)^```", PAGE, re.M | re.S)[:2]
    for rate in re.split(" {2,}", rates)[:-1]:
        assert nanopace.Pacer(rate).rate > 0
    for line in shapes.splitlines():
        assert nanopace.Shape("hold 1/s 1s, " + re.split(" {2,}", line)[0]).peak > 0


def test_the_page_has_examples() -> None:
    assert BLOCKS


def test_the_example_draws_a_report(tmp_path: Path) -> None:
    picture = tmp_path / "run.svg"
    report = PACKAGE / "tests/report.json"
    words = [sys.executable, str(PACKAGE / "examples/plot.py"), str(report), str(picture)]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "asked" in picture.read_text()
