//! Defines the options of data. The texts here are on `--help` pages.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The options of the data that requests are filled with.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// Fill in {{NAME}} from the rows of this CSV or JSON-lines file [see: help templates]
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,

    /// Take rows in this order; shuffled takes each row once per pass
    #[arg(long, value_enum, value_name = "ORDER", default_value_t, requires = "data")]
    pub(crate) data_order: DataOrder,

    /// Begin again after the last row, or stop the load
    #[arg(long, value_enum, value_name = "WHAT", default_value_t, requires = "data")]
    pub(crate) data_end: DataEnd,
}

/// The order in which requests use rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataOrder {
    #[default]
    Sequential,
    Shuffled,
    Random,
}

/// The action after the last row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataEnd {
    #[default]
    Wrap,
    Stop,
}
