//! Pages beyond the reference: what to know before use, and why the engine is as it is.
//!
//! * [Limitations](limitations): read before using.
//! * [Measuring](measuring): the terms, and which number to report.
//! * [Pausing](pausing): which way to hold a caller back, and what it costs.
//! * [Design](design): why it is like this.

/// Mounts a page of `docs/`. The page's own links are for readers of the file. The same names are
/// defined here first, for rustdoc: Markdown goes by the first definition of a name.
macro_rules! pages {
    ($($name:ident = $file:literal),* $(,)?) => {
        $(
            /// [Design]: crate::_documentation::design
            /// [Limitations]: crate::_documentation::limitations
            /// [Measuring]: crate::_documentation::measuring
            /// [Pausing]: crate::_documentation::pausing
            /// [`Grant::wait_time`]: crate::Grant::wait_time
            /// [`Lane::give_back`]: crate::Lane::give_back
            /// [`Pacer::acquire`]: crate::Pacer::acquire
            /// [`Pacer::claim`]: crate::Pacer::claim
            /// [`Stats::early_starts`]: crate::Stats::early_starts
            /// [`Stats::spun`]: crate::Stats::spun
            /// [`fine_timers`]: crate::PacerBuilder::fine_timers
            /// [`sleep_share`]: crate::PacerBuilder::sleep_share
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
}
