//! Defines the operators that compare a figure with its limit.

use super::words::{CriterionError, Word};
use std::fmt::{self, Display, Formatter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
}

impl Operator {
    pub(crate) fn read(word: &Word) -> Result<Operator, CriterionError> {
        Ok(match &word.text[..] {
            "<" => Operator::Below,
            "<=" => Operator::AtMost,
            ">" => Operator::Above,
            ">=" => Operator::AtLeast,
            "=" | "==" => Operator::Equal,
            other => {
                let told = format!("{other:?} is not an operator; write <, <=, >, >= or =");
                return Err(CriterionError::at(word, told));
            }
        })
    }

    /// Returns whether the comparison holds. For NaN, the result is always `false`.
    #[expect(clippy::float_cmp, reason = "both numbers are rounded in the same way")]
    pub(crate) fn holds(self, figure: f64, limit: f64) -> bool {
        match self {
            Operator::Below => figure < limit,
            Operator::AtMost => figure <= limit,
            Operator::Above => figure > limit,
            Operator::AtLeast => figure >= limit,
            Operator::Equal => figure == limit,
        }
    }
}

impl Display for Operator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operator::Below => "<",
            Operator::AtMost => "<=",
            Operator::Above => ">",
            Operator::AtLeast => ">=",
            Operator::Equal => "=",
        })
    }
}
