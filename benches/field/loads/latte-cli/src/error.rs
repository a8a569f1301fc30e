//! Defines the errors of the loop.

use std::fmt;

#[derive(Debug)]
pub enum LatteError {
    Configuration(String),
}

pub type Result<T> = std::result::Result<T, Box<LatteError>>;

impl fmt::Display for LatteError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let LatteError::Configuration(what) = self;
        f.write_str(what)
    }
}

impl std::error::Error for LatteError {}
