//! Pages beyond the reference: limitations, measuring, schedules, pausing and the reasons for the design.
//!
//! * [Limitations](limitations): read this page before you use the crate.
//! * [Measuring](measuring): explains which time to report.
//! * [Schedules](schedules): rates that change over time, random and recorded arrivals, and one load that several
//!   processes share.
//! * [Pausing](pausing): the ways to pause a caller until its slot is due, and the cost of each.
//! * [Design](design): the reasons for the design.

/// Includes pages of `docs/` as module documentation. The links are defined first, because Markdown uses the first
/// definition of a name, and the pages define their links as files or URLs.
macro_rules! pages {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(
            /// [Design]: crate::_documentation::design
            /// [Limitations]: crate::_documentation::limitations
            /// [Measuring]: crate::_documentation::measuring
            /// [Pausing]: crate::_documentation::pausing
            /// [Schedules]: crate::_documentation::schedules
            /// [`Arrivals`]: crate::Arrivals
            /// [`Counters::early_starts`]: crate::Counters::early_starts
            /// [`Counters::spun`]: crate::Counters::spun
            /// [`Counters`]: crate::Counters
            /// [`Curve`]: crate::Curve
            /// [`Ended::Finished`]: crate::Ended::Finished
            /// [`Grant::wait_time`]: crate::Grant::wait_time
            /// [`Lane::give_back`]: crate::Lane::give_back
            /// [`Ledger`]: crate::Ledger
            /// [`Pacer::acquire`]: crate::Pacer::acquire
            /// [`Pacer::claim`]: crate::Pacer::claim
            /// [`Pacer::rate`]: crate::Pacer::rate
            /// [`Pacer::set_rate`]: crate::Pacer::set_rate
            /// [`Pacer::set_shape`]: crate::Pacer::set_shape
            /// [`Pacer::set_shard`]: crate::Pacer::set_shard
            /// [`Pacer::shape`]: crate::Pacer::shape
            /// [`Pacer::try_acquire`]: crate::Pacer::try_acquire
            /// [`PacerBuilder::slots`]: crate::PacerBuilder::slots
            /// [`Shape`]: crate::Shape
            /// [`Shape::custom`]: crate::Shape::custom
            /// [`Shape::skip`]: crate::Shape::skip
            /// [`Shape::table`]: crate::Shape::table
            /// [`Shard`]: crate::Shard
            /// [`fine_timers`]: crate::PacerBuilder::fine_timers
            /// [`sleep_share`]: crate::PacerBuilder::sleep_share
            /// [`slots`]: crate::PacerBuilder::slots
            /// [`until`]: crate::PacerBuilder::until
            /// [`sleep_threshold`]: crate::PacerBuilder::sleep_threshold
            /// [`spin_share`]: crate::PacerBuilder::spin_share
            ///
            #[doc = include_str!($file)]
            pub mod $name {}
        )*
    };
}

pages! {
    design = "../docs/design.md",
    limitations = "../docs/limitations.md",
    measuring = "../docs/measuring.md",
    pausing = "../docs/pausing.md",
    schedules = "../docs/schedules.md",
}
