"""The intended starts of a load, without running it."""

from typing import TYPE_CHECKING

from ._nanopace import Shape

if TYPE_CHECKING:
    from typing import SupportsIndex

    import numpy
    from numpy.typing import NDArray

    from ._nanopace import _Load, _Time


def plan(
    load: "_Load",
    *,
    count: "SupportsIndex | None" = None,
    duration: "_Time | None" = None,
    shard: "str | None" = None,
    arrivals: "str | None" = None,
    seed: "SupportsIndex | None" = None,
) -> "NDArray[numpy.int64]":
    """The intended starts of a load, in nanoseconds since its beginning, as a pacer would grant them.

    It has ``count`` starts, or those before ``duration`` (seconds or a timedelta), or those of a shape
    that ends; at most 2^27. Returns an array of numpy, or one of the module ``array`` if numpy is not
    installed: a type checker then sees any type.
    """
    starts = Shape(load).starts(count, duration, shard, arrivals, seed)
    try:
        import numpy
    except ImportError:
        import array

        return array.array("q", starts)  # type: ignore[return-value]
    return numpy.frombuffer(starts, numpy.int64)
