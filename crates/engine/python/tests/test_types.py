"""Tests the type stubs against the compiled module, checks the types of the package and its tests, and the version."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import nanopace

PACKAGE = Path(__file__).parents[1]


def test_the_stubs_match_the_compiled_module() -> None:
    mypy("mypy.stubtest", "nanopace")


def test_the_package_and_its_tests_are_typed(tmp_path: Path) -> None:
    mypy("mypy", "--cache-dir", str(tmp_path), "python", "tests")


def test_the_version_is_the_package_version() -> None:
    assert nanopace.__version__ == importlib.metadata.version("nanopace")


def mypy(*words: str) -> None:
    run = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=PACKAGE)
    assert run.returncode == 0, run.stdout + run.stderr
