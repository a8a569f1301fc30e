//! Reads shapes as people write them.

use super::Shape;
use crate::error::ShapeSyntaxError;
use std::fmt;
use std::str::FromStr;

impl FromStr for Shape {
    type Err = ShapeSyntaxError;

    fn from_str(_text: &str) -> Result<Shape, ShapeSyntaxError> {
        Err(ShapeSyntaxError::new(1, "write a shape such as `hold 5k/s 60s`".to_owned()))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.program)
    }
}
