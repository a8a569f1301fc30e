"""Computes the intended starts of a load without running it."""

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
    """Returns the intended starts of a load as a pacer would grant them, in nanoseconds since the load's beginning.

    The list ends after ``count`` starts, at ``duration`` (seconds or a timedelta), or at the end of the shape,
    whichever comes first. More than 2^27 starts raise ``ValueError``. The result is an array of numpy, or of the
    module ``array`` if numpy is not installed. Without numpy, a type checker treats the result as ``Any``.
    """
    starts = Shape(load).starts(count, duration, shard, arrivals, seed)
    try:
        import numpy
    except ImportError:
        import array

        return array.array("q", starts)  # type: ignore[return-value]
    return numpy.frombuffer(starts, numpy.int64)
