//! Parses shapes, such as `ramp 100/s..5k/s 30s, hold 60s`.

use super::token::{Token, Tokens};
use super::{Level, Shape};
use crate::error::{ShapeError, ShapeSyntaxError};
use std::str::FromStr;
use std::time::Duration;

const DEEPEST: usize = 64;

const BEGINNINGS: [&str; 7] = ["(", "hold", "ramp", "sine", "spike", "peak", "ladder"];

impl FromStr for Shape {
    type Err = ShapeSyntaxError;

    /// Parses a list of parts, separated by commas:
    ///
    /// ```text
    /// hold 5k/s 60s                       Shape::hold
    /// hold 60s                            at the final rate of the part before it
    /// ramp 100/s..5k/s 30s                Shape::ramp
    /// ramp ..5k/s 30s                     from the final rate of the part before it
    /// sine 1k/s..5k/s period 20s          Shape::sine
    /// spike 1k/s..20k/s 10s               Shape::spike
    /// peak 1k/s 30s                       Shape::bell from 0/s; peak 100/s..1k/s 30s from 100/s
    /// ladder 1k/s..5k/s steps 5 each 30s  Shape::ladder
    /// (ramp 0/s..5k/s 30s, hold 60s)      a shape as a part
    /// ```
    ///
    /// A part can be followed by one or several of these words: `x3` (three times), `forever`, `mirror` (followed by
    /// the same part backwards), `reverse` (backwards), `take 10s` (its first 10 s) and `skip 10s` (the part after its
    /// first 10 s). Each word applies to that part only. To apply a word to several parts, put these parts in
    /// parentheses. If a part ends where `take` or `skip` cut it, the part after it has to state its own initial rate.
    /// (A `hold` keeps its rate when it is cut.)
    ///
    /// Rates are written as for [`Rate`](crate::Rate); `0/s` is also valid. A time is a number and a unit of a rate,
    /// such as `1.5min`.
    ///
    /// # Errors
    /// Returns a [`ShapeSyntaxError`], which contains the position of the error in the string and says what to write
    /// instead.
    ///
    /// # Examples
    /// ```
    /// use nanopace::Shape;
    /// use std::time::Duration;
    ///
    /// let shape: Shape = "ramp 100/s..5k/s 30s, hold 60s, sine 1k/s..5k/s period 20s x3".parse()?;
    /// assert_eq!(shape.duration(), Some(Duration::from_secs(150)));
    /// assert_eq!(shape.rate_at(Duration::from_secs(60)), 5_000.0);
    ///
    /// let error = "ramp 100/s..5k/s 30".parse::<Shape>().unwrap_err();
    /// assert_eq!(error.column(), 18);
    /// # Ok::<(), nanopace::ShapeSyntaxError>(())
    /// ```
    fn from_str(text: &str) -> Result<Shape, ShapeSyntaxError> {
        let mut parser = Parser { tokens: Tokens::of(text), depth: 0 };
        let piece = parser.row(None)?;
        match parser.tokens.peek() {
            end if end.is_end() => Ok(piece.shape),
            other => Err(other.error("write a comma between the parts of a shape, or `x3`, `forever`, `mirror`, `reverse`, `take 10s` or `skip 10s` after a part")),
        }
    }
}

impl Shape {
    /// If no keyword of shapes comes first, the error message shows the forms of a rate and of a shape.
    pub(crate) fn of_load(text: &str) -> Result<Shape, ShapeSyntaxError> {
        let first = Tokens::of(text).peek();
        if BEGINNINGS.contains(&first.text) {
            return text.parse();
        }
        Err(first.error(
            "write a rate, such as `5k/s`, or a shape, such as `ramp 100/s..5k/s 30s, hold 60s`",
        ))
    }
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    depth: usize,
}

struct Piece {
    shape: Shape,
    first: Option<Level>,
    last: Option<Level>,
}

impl Piece {
    fn new(
        token: Token<'_>,
        shape: Result<Shape, ShapeError>,
        first: impl Into<Option<Level>>,
        last: impl Into<Option<Level>>,
    ) -> Result<Piece, ShapeSyntaxError> {
        Ok(Piece { shape: token.located(shape)?, first: first.into(), last: last.into() })
    }
}

impl<'a> Parser<'a> {
    fn row(&mut self, before: Option<Level>) -> Result<Piece, ShapeSyntaxError> {
        let mut row = self.part(before)?;
        while self.tokens.take_if(",").is_some() {
            let token = self.tokens.peek();
            let part = self.part(row.last)?;
            row = Piece::new(token, row.shape.then(part.shape), row.first, part.last)?;
        }
        Ok(row)
    }

    fn part(&mut self, before: Option<Level>) -> Result<Piece, ShapeSyntaxError> {
        let mut part = self.item(before)?;
        loop {
            let token = self.tokens.peek();
            part = match token.text {
                "forever" => {
                    self.tokens.take();
                    Piece::new(token, part.shape.forever(), part.first, part.last)?
                }
                "mirror" => {
                    self.tokens.take();
                    Piece::new(token, part.shape.mirrored(), part.first, part.first)?
                }
                "reverse" => {
                    self.tokens.take();
                    Piece::new(token, part.shape.reversed(), part.last, part.first)?
                }
                "take" | "skip" => self.cut(part)?,
                text if text.starts_with('x') => {
                    let times = self.times()?;
                    Piece::new(token, part.shape.repeat(times), part.first, part.last)?
                }
                _ => return Ok(part),
            };
        }
    }

    fn cut(&mut self, Piece { shape, first, last }: Piece) -> Result<Piece, ShapeSyntaxError> {
        let word = self.tokens.take();
        let time = self.tokens.take().time()?;
        if word.text == "take" {
            let all_ns = shape.duration_ns();
            let shape = word.located(shape.take(time))?;
            let last = if shape.duration_ns() == all_ns { last } else { shape.text.held().1 };
            Ok(Piece { shape, first, last })
        } else {
            let shape = word.located(shape.skip(time))?;
            let first = if time.is_zero() { first } else { shape.text.held().0 };
            Ok(Piece { shape, first, last })
        }
    }

    fn times(&mut self) -> Result<u64, ShapeSyntaxError> {
        let token = self.tokens.take();
        let number = match token.text {
            "x" => self.tokens.take(),
            text => Token { text: &text[1..], column: token.column + 1 },
        };
        number
            .text
            .parse()
            .map_err(|_| number.error("write how often to repeat, as a whole number, such as `x3`"))
    }

    fn item(&mut self, before: Option<Level>) -> Result<Piece, ShapeSyntaxError> {
        let token = self.tokens.take();
        match token.text {
            "(" => self.group(token, before),
            "hold" => self.hold(token, before),
            "ramp" => self.ramp(token, before),
            "sine" => {
                let (from, to) = self.rates()?;
                let period = self.after("period")?.time()?;
                Piece::new(token, Shape::sine(from, to, period), from, from)
            }
            "spike" => {
                let (from, to) = self.rates()?;
                let time = self.tokens.take().time()?;
                Piece::new(token, Shape::spike(from, to, time), from, from)
            }
            "peak" => self.peak(token),
            "ladder" => self.ladder(token),
            _ => Err(token.error("begin a part of a shape with hold, ramp, sine, spike, peak, ladder or an opening parenthesis")),
        }
    }

    fn group(&mut self, open: Token<'_>, before: Option<Level>) -> Result<Piece, ShapeSyntaxError> {
        if self.depth == DEEPEST {
            return Err(open.error("nest parentheses at most 64 deep"));
        }
        self.depth += 1;
        let row = self.row(before)?;
        self.depth -= 1;
        match self.tokens.take_if(")") {
            Some(_) => Ok(row),
            None => Err(self
                .tokens
                .peek()
                .error("write a comma and another part, or a closing parenthesis")),
        }
    }

    fn hold(&mut self, token: Token<'_>, before: Option<Level>) -> Result<Piece, ShapeSyntaxError> {
        let next = self.tokens.take();
        let (level, time) =
            match (next.maybe_time(), before) {
                (None, _) => (next.level()?, self.tokens.take().time()?),
                (Some(time), Some(before)) => (before, time),
                (Some(_), None) => return Err(next.error(
                    "nothing comes before this hold, or it follows a part that was cut: write its rate too, such as `hold 5k/s 60s`",
                )),
            };
        Piece::new(token, Shape::hold(level, time), level, level)
    }

    fn ramp(&mut self, token: Token<'_>, before: Option<Level>) -> Result<Piece, ShapeSyntaxError> {
        let dots = self.tokens.peek();
        let (from, to) = match before {
            Some(before) if dots.text == ".." => {
                self.tokens.take();
                (before, self.tokens.take().level()?)
            }
            None if dots.text == ".." => return Err(dots.error("nothing comes before this ramp, or it follows a part that was cut: write its initial rate too, such as `ramp 0/s..5k/s 30s`")),
            _ => self.rates()?,
        };
        let time = self.tokens.take().time()?;
        Piece::new(token, Shape::ramp(from, to, time), from, to)
    }

    fn peak(&mut self, token: Token<'_>) -> Result<Piece, ShapeSyntaxError> {
        let first = self.tokens.take().level()?;
        let (base, peak) = match self.tokens.take_if("..") {
            Some(_) => (first, self.tokens.take().level()?),
            None => (Level::ZERO, first),
        };
        let time = self.tokens.take().time()?;
        Piece::new(token, Shape::bell(base, peak, time), base, base)
    }

    fn ladder(&mut self, token: Token<'_>) -> Result<Piece, ShapeSyntaxError> {
        let (from, to) = self.rates()?;
        let number = self.after("steps")?;
        let steps = number.text.parse().map_err(|_| {
            number.error("write how many steps, as a whole number, such as `steps 5`")
        })?;
        let each: Duration = self.after("each")?.time()?;
        Piece::new(token, Shape::ladder(from, to, steps, each), from, to)
    }

    fn rates(&mut self) -> Result<(Level, Level), ShapeSyntaxError> {
        let from = self.tokens.take().level()?;
        match self.tokens.take_if("..") {
            Some(_) => Ok((from, self.tokens.take().level()?)),
            None => Err(self
                .tokens
                .peek()
                .error("write two dots and the other rate, such as `100/s..5k/s`")),
        }
    }

    fn after(&mut self, word: &str) -> Result<Token<'a>, ShapeSyntaxError> {
        match self.tokens.take_if(word) {
            Some(_) => Ok(self.tokens.take()),
            None => Err(self.tokens.peek().error(&format!("write `{word}` here"))),
        }
    }
}
