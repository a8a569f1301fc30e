"""Tests that invalid input raises a ValueError or a TypeError whose message says what to write instead."""

import math
import random
import sys
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import nanopace
import numpy
import pytest

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"load": None}, TypeError, '"5k/s"'),
    ({"load": True}, TypeError, '"5k/s"'),
    ({"load": 0}, ValueError, "a positive rate such as 1/h"),
    ({"load": -5000}, ValueError, "a positive rate such as 100/s"),
    ({"load": 2e10}, ValueError, "the fastest is 10G/s"),
    ({"load": 1e-9}, ValueError, "the slowest is 1/d"),
    ({"load": math.nan}, ValueError, "a rate such as 5000/s"),
    ({"load": 10**400}, ValueError, "a rate such as 5000/s"),
    ({"load": b"5k/s"}, TypeError, '"5k/s"'),
    ({"load": "\ud800"}, ValueError, '"5k/s"'),
    ({"load": ""}, ValueError, "write a rate, such as `5k/s`, or a shape, such as `ramp 100/s..5k/s 30s"),
    ({"load": "11G/s"}, ValueError, "the fastest is 10G/s"),
    ({"load": "hold 5k/s 10s, jump 3s"}, ValueError, "column 16"),
    ({"slots": -1}, ValueError, "from 0 to 18446744073709551615"),
    ({"slots": 2**64}, ValueError, "from 0 to 18446744073709551615"),
    ({"slots": 1.5}, TypeError, "a whole number"),
    ({"slots": True}, TypeError, "a whole number"),
    ({"seed": "x"}, TypeError, "a whole number"),
    ({"duration": -1}, ValueError, "0 seconds or more"),
    ({"duration": math.nan}, ValueError, "0 seconds or more"),
    ({"duration": 10**400}, ValueError, "0 seconds or more"),
    ({"duration": "10s"}, TypeError, "0 seconds or more"),
    ({"duration": False}, TypeError, "0 seconds or more"),
    ({"arrivals": "pareto"}, ValueError, "poisson"),
    ({"arrivals": 3}, TypeError, '"poisson"'),
    ({"shard": "4/3"}, ValueError, "write 1/3 to 3/3"),
    ({"strictness": -1}, ValueError, "from 0"),
    ({"strictness": "high"}, TypeError, "0.5"),
    ({"strictness": True}, TypeError, "0.5"),
    ({"strictness": 10**400}, ValueError, "from 0"),
    ({"pause": "nap"}, ValueError, "hybrid"),
    ({"start": "soon"}, ValueError, "on_first_use"),
    ({"speed": 3}, TypeError, "there is no setting"),
]


@pytest.mark.parametrize("wrong, error, text", WRONG)
def test_a_pacer_refuses_invalid_arguments(wrong: dict[str, Any], error: type[Exception], text: str) -> None:
    load = wrong.get("load", "5k/s")
    settings = {name: value for name, value in wrong.items() if name != "load"}
    with pytest.raises(error, match=text):
        nanopace.Pacer(load, **settings)


def test_calls_refuse_invalid_arguments() -> None:
    pacer = nanopace.Pacer("5k/s")
    for acquire_many in [pacer.acquire_many, pacer.try_acquire_many]:
        for n in [-1, 0, 2**32, 2**64]:
            with pytest.raises(ValueError, match="n must be a whole number from 1 to 4294967295"):
                acquire_many(n)
        for none in [None, 1.0, True, "1"]:
            with pytest.raises(TypeError, match="n must be a whole number from 1 to 4294967295"):
                acquire_many(none)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout"):
        pacer.acquire(timeout=math.nan)
    with pytest.raises(ValueError, match="unit of time"):
        pacer.set_load("5k/fortnight")
    with pytest.raises(ValueError, match="from_slot"):
        pacer.set_shard("1/2", -1)
    with pytest.raises(ValueError, match="at most 134217728 starts"):
        nanopace.plan("5k/s")
    assert pacer.rate == 5_000


@pytest.mark.parametrize("load", [5_000, 5_000.0, Decimal(5_000), numpy.int64(5_000), "5k/s"])
def test_a_number_is_a_rate_per_second(load: Any) -> None:
    pacer = nanopace.Pacer(load)
    assert pacer.rate == 5_000
    pacer.set_load(0.5)
    assert pacer.rate == 0.5
    assert nanopace.Shape(load).peak == 5_000
    assert nanopace.plan(load, count=3).tolist() == [0, 200_000, 400_000]


def test_an_end_is_a_moment() -> None:
    grant = nanopace.Pacer("5k/s").acquire()
    wrong: list[tuple[Any, type[Exception]]] = [(-1, ValueError), (2**64, ValueError), (True, TypeError)]
    wrong += [(end, TypeError) for end in (0.5, math.nan, math.inf, "now", timedelta(1))]
    for response_time in [grant.response_time, grant.response_time_ns]:
        for end, error in wrong:
            with pytest.raises(error, match=r"end_ns must be a moment, .*write time.monotonic_ns\(\)"):
                response_time(end)
        assert response_time(0) == 0 and response_time(None) >= 0
    assert grant.response_time_ns(numpy.int64(grant.intended_start_ns + 7)) == 7


class Raises:
    """A number whose conversion raises."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __index__(self) -> int:
        raise self.error

    def __float__(self) -> float:
        raise self.error


@pytest.mark.parametrize("error", [TypeError, OverflowError, LookupError, KeyboardInterrupt])
def test_an_error_that_a_value_raises_goes_through(error: type[BaseException]) -> None:
    pacer, value = nanopace.Pacer("5k/s"), Raises(error("mine"))
    number: Any = value
    calls: list[Callable[[], object]] = [
        lambda: nanopace.Pacer("5k/s", duration=number),
        lambda: nanopace.Pacer("5k/s", slots=number),
        lambda: nanopace.plan("5k/s", count=number),
        lambda: pacer.acquire(timeout=number),
        lambda: pacer.lane().acquire(timeout=number),
        lambda: pacer.acquire_many(number),
        lambda: pacer.try_acquire_many(number),
        lambda: pacer.set_strictness(number),
        lambda: pacer.set_shard("1/2", number),
        lambda: pacer.acquire().response_time(number),
    ]
    for call in calls:
        with pytest.raises(error, match="mine"):
            call()


def test_values_that_convert_to_a_number_are_accepted() -> None:
    grant = nanopace.Pacer("1M/s", duration=Decimal("0.5"), slots=numpy.int64(7)).acquire_many(numpy.uint8(7))
    assert grant.slot == 0
    assert len(nanopace.plan("100/s", duration=Fraction(1, 2))) == 50
    wrong: list[Any] = [numpy.array([1, 2]), Decimal("NaN"), 1j]
    for none in wrong:
        with pytest.raises((TypeError, ValueError)):
            nanopace.plan("100/s", duration=none)


def test_an_error_shows_the_beginning_of_a_long_text() -> None:
    long = "é" * 2**20
    setting: dict[str, Any] = {long: 1}
    calls: list[Callable[[], object]] = [
        lambda: nanopace.Pacer(long),
        lambda: nanopace.Pacer("5/" + long),
        lambda: nanopace.Pacer("5/s", arrivals=long),
        lambda: nanopace.Pacer("5/s", pause=long),  # type: ignore[arg-type]
        lambda: nanopace.Pacer("5/s", shard=long),
        lambda: nanopace.Pacer("5/s", **setting),
        lambda: nanopace.Pacer(type(long, (), {})()),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as raised:
            call()
        assert len(str(raised.value)) < 300


def test_none_is_the_default() -> None:
    names = ["arrivals", "seed", "shard", "strictness", "max_backlog", "skip_later_than", "tolerance"]
    names += ["sleep_threshold", "pause", "slots", "duration", "start"]
    pacer = nanopace.Pacer("5k/s", **dict.fromkeys(names))
    assert pacer.acquire(timeout=None).slot == 0


def test_any_input_raises_only_these_errors() -> None:
    random.seed(34)
    values: list[Any] = [None, True, -1, 0, 1, 2**31, 2**63, 2**64, 10**400, 0.5, -0.0, math.inf, -math.inf]
    values += [math.nan, "", "1/2", "\ud800", "\0", "é" * 1_000, b"\xff", [], {}, object(), sys, 1j]
    names = ["arrivals", "seed", "shard", "strictness", "max_backlog", "skip_later_than", "tolerance"]
    names += ["sleep_threshold", "pause", "slots", "duration", "start"]
    for _ in range(20_000):
        settings = {name: random.choice(values) for name in random.sample(names, 2)}
        load = random.choice(["5k/s", "hold 1M/s 1s", random.choice(values)])
        try:
            pacer = nanopace.Pacer(load, **settings)
            pacer.acquire_many(random.choice(values), timeout=random.choice(values))
        except (TypeError, ValueError, TimeoutError, nanopace.Ended):
            pass
