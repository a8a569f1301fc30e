//! Records the results of operations: how many there were, how long they took, and what made them start late.

pub(crate) mod asked;
pub(crate) mod burst;
pub(crate) mod confidence;
pub(crate) mod cpu_time;
pub(crate) mod evenness;
pub(crate) mod gaps;
pub(crate) mod labels;
pub(crate) mod last_poll;
pub(crate) mod lateness;
pub(crate) mod machine_cpu;
pub(crate) mod nodes;
pub(crate) mod operation;
pub(crate) mod outcome;
pub(crate) mod over_time;
pub(crate) mod percentiles;
pub(crate) mod pool_growth;
pub(crate) mod quota;
pub(crate) mod randomness;
pub(crate) mod realtime;
pub(crate) mod repetition;
pub(crate) mod retained_histograms;
pub(crate) mod slot_record;
pub(crate) mod started_at;
pub(crate) mod stats;
pub(crate) mod tally;
pub(crate) mod think_times;
