//! Defines the options about data. Their doc comments are `--help` texts.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The options about the data that fills requests.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// Fill {{NAME}} in requests from column NAME of this CSV or JSON-lines file [see: help templates]
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,

    /// Use rows in this order; shuffled uses each row once per pass
    #[arg(long, value_enum, value_name = "ORDER", default_value_t, requires = "data")]
    pub(crate) data_order: DataOrder,

    /// After the last row, begin another pass (wrap) or, except in a search, end the load (stop)
    #[arg(long, value_enum, value_name = "WHAT", default_value_t, requires = "data")]
    pub(crate) data_end: DataEnd,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataOrder {
    #[default]
    Sequential,
    Shuffled,
    Random,
}

/// The behavior of a load after the last row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataEnd {
    #[default]
    Wrap,
    Stop,
}
