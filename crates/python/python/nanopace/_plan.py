"""A load before it runs."""

from collections.abc import Sequence
from typing import Any

from ._nanopace import Shape


def plan(
    load: str,
    *,
    count: "int | None" = None,
    duration: Any = None,
    shard: "str | None" = None,
    arrivals: "str | None" = None,
    seed: "int | None" = None,
) -> Sequence[int]:
    """The intended starts of a load, in nanoseconds since its beginning, as a pacer would grant them.

    It has ``count`` starts, or those before ``duration`` (seconds or a timedelta), or those of a shape
    that ends; at most 2^27. Returns an array of numpy, or one of the module ``array`` if numpy is not
    installed.
    """
    starts = Shape(load).starts(count, duration, shard, arrivals, seed)
    try:
        import numpy
    except ImportError:
        import array

        return array.array("q", starts)
    return numpy.frombuffer(starts, numpy.int64)  # type: ignore[return-value]
