"""What pages show of Python runs as it is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]
PAGES = [PACKAGE / "README.md", PACKAGE.parents[1] / "README.md"]
BLOCKS = {page: re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S) for page in PAGES}


@pytest.mark.parametrize("block", sum(BLOCKS.values(), []))
def test_what_a_page_shows(block: str) -> None:
    run = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr


def test_every_page_shows_something() -> None:
    assert all(BLOCKS.values())


def test_the_example_draws_a_report(tmp_path: Path) -> None:
    picture = tmp_path / "run.svg"
    report = PACKAGE / "tests/report.json"
    words = [sys.executable, str(PACKAGE / "examples/plot.py"), str(report), str(picture)]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "asked" in picture.read_text()
