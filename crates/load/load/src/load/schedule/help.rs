//! Holds the help text about loads, for `nanopace plan` and `nanopace run`.

/// The grammar of shapes, and the descriptions of arrivals and shards.
pub(crate) const GRAMMAR: &str = "\
A shape is one item, or several with commas between them, which follow each other:
  hold 100/s 60s                a constant rate; without one, what the item before ended with
  ramp 100/s..5k/s 30s          a straight line; without a first rate, from where the item before
                                ended: ramp ..5k/s 30s
  sine 1k/s..5k/s period 20s    a wave from the first rate to the second and back, once
  spike 100/s..5k/s 10s         straight up in the first half of the time and down in the second
  ladder 100/s..500/s steps 5 each 10s
                                so many rates at equal distances, both included, each this long
  (hold 1k/s 5s, hold 0/s 5s)   several items as one
An item may be followed by x3 (three times in all), forever, mirror (and then backwards),
reverse (backwards), take 10s (its first 10 s) or skip 10s (what is left behind them). Rates are
written as for --rate, and may be 0/s; times as 500ms, 30s, 1.5min, 2h or 1d.

A shape may also come from a file, with a moment and the rate then on each line, such as
30s,100/s: table:FILE goes straight from each rate to the next, steps:FILE holds each until the
next line, and the last line is the end.

Arrivals say how requests lie around the shape:
  even                evenly spaced
  poisson             independent of each other, as those of many users
  exact-poisson:1000  as poisson, but each 1000 in a row take exactly the time of 1000 even ones
  gamma:0.25          random gaps; below 1 in bursts, 1 is poisson, above 1 more and more even
  jitter:0.3          even, and each one late at random by up to 0.3 of its gap
  replay:FILE         as recorded: one time a line, such as what nanopace plan --csv writes; or CSV
                      with columns such as timestamp,method,url,headers,body; or the same as JSON
                      lines. Times are dates, times since 1970, or seconds from the start; 'replay:FILE
                      unit=ms' says otherwise. A rate or shape is the speed: 1/s (the default) plays
                      as recorded, 2/s twice as fast
  har:FILE            the requests of a HAR file, as they were recorded
The same --seed gives the same random numbers. --shard 1/3 is the first of three processes that
share a load; 1/2:1:1 the first of three that take a half, a quarter and a quarter of it.";
