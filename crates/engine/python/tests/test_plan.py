"""Tests the intended starts of a load that is not run."""

import array
import sys

import nanopace
import numpy
import pytest


def test_a_plan_has_the_requested_starts() -> None:
    assert nanopace.plan("100/s", count=3).tolist() == [0, 10_000_000, 20_000_000]
    assert len(nanopace.plan("100/s", duration=10)) == 1_000
    assert len(nanopace.plan("100/s", count=10**9, duration=1)) == 100
    # A ramp from zero: half of its end rate times its time.
    assert len(nanopace.plan("ramp 0/s..100/s 10s")) == 500
    assert len(nanopace.plan("100/s", count=0)) == 0


def test_shards_have_each_start_once() -> None:
    whole = nanopace.plan("1k/s", duration=1, arrivals="poisson", seed=1)
    parts = [
        nanopace.plan("1k/s", duration=1, arrivals="poisson", seed=1, shard=f"{n}/3") for n in (1, 2, 3)
    ]
    assert sorted(numpy.concatenate(parts)) == list(whole)


def test_without_numpy_it_is_the_array_of_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = nanopace.plan("(sine 500/s..1500/s period 1s) forever", count=1_000)
    assert isinstance(expected, numpy.ndarray) and expected.dtype == numpy.int64
    monkeypatch.setitem(sys.modules, "numpy", None)
    plain = nanopace.plan("(sine 500/s..1500/s period 1s) forever", count=1_000)
    assert isinstance(plain, array.array) and list(plain) == list(expected)


def test_a_shape_returns_its_rates() -> None:
    shape = nanopace.Shape("ramp 0/s..100/s 10s, hold 5s")
    assert (shape.duration, shape.peak) == (15.0, 100.0)
    assert [shape.rate_at(at) for at in (5, 12)] == [50.0, 100.0]
    assert shape.count_at(10) == 500.0
    assert nanopace.Shape("5k/s").duration is None
