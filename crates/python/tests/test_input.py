"""Wrong input gets a ValueError or a TypeError that says what to write instead, and nothing else."""

import math
import random
import sys
from typing import Any

import nanopace
import pytest

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"load": None}, TypeError, '"5k/s"'),
    ({"load": 5000}, TypeError, '"5k/s"'),
    ({"load": b"5k/s"}, TypeError, '"5k/s"'),
    ({"load": "\ud800"}, ValueError, '"5k/s"'),
    ({"load": ""}, ValueError, "hold, ramp"),
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
    ({"pause": "nap"}, ValueError, "hybrid"),
    ({"start": "soon"}, ValueError, "on_first_use"),
    ({"speed": 3}, TypeError, "there is no setting"),
]


@pytest.mark.parametrize("wrong, error, text", WRONG)
def test_what_a_pacer_refuses(wrong: dict[str, Any], error: type[Exception], text: str) -> None:
    load = wrong.get("load", "5k/s")
    settings = {name: value for name, value in wrong.items() if name != "load"}
    with pytest.raises(error, match=text):
        nanopace.Pacer(load, **settings)


def test_what_calls_refuse() -> None:
    pacer = nanopace.Pacer("5k/s")
    for n in [-1, 2**32, 2**64]:
        with pytest.raises(ValueError, match="n is a whole number from 0 to 4294967295"):
            pacer.acquire_many(n)
    with pytest.raises(TypeError):
        pacer.acquire_many(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout"):
        pacer.acquire(timeout=math.nan)
    with pytest.raises(ValueError, match="unit of time"):
        pacer.set_load("5k/fortnight")
    with pytest.raises(ValueError, match="from_slot"):
        pacer.set_shard("1/2", -1)
    with pytest.raises(ValueError, match="at most 134217728 starts"):
        nanopace.plan("5k/s")
    assert pacer.rate == 5_000


def test_none_is_the_default() -> None:
    names = ["arrivals", "seed", "shard", "strictness", "max_backlog", "skip_later_than", "tolerance"]
    names += ["sleep_threshold", "pause", "slots", "duration", "start"]
    pacer = nanopace.Pacer("5k/s", **dict.fromkeys(names))
    assert pacer.acquire(timeout=None).slot == 0


def test_whatever_is_written_nothing_but_these_errors_comes() -> None:
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
