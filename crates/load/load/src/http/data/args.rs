//! Defines the options of data. The texts here are on `--help` pages.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The options of the data that requests are filled with.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// File of rows, CSV or JSON lines, one for each request: {{NAME}} in the URL, a header, a body or
    /// --targets stands for the value of a column. Without data there are {{slot}}, {{now}},
    /// {{now-ms}}, {{uuid}}, {{random 1..100}}, {{random-text 32}} and {{env NAME}}
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,

    /// Which row a request has: the next one; the next one of a pass in random order, in which each
    /// is once; or any. It follows from the number of its slot and --seed
    #[arg(long, value_enum, value_name = "ORDER", default_value_t, requires = "data")]
    pub(crate) data_order: DataOrder,

    /// After the last row, begin again, or stop: then each row is sent once, unless the order is random
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
