//! Compiles and runs the examples in pages of the repository as documentation tests.
//!
//! This package contains the tests because it is not published. A published package cannot include these files. The
//! crate `nanopace` tests the pages in `crates/engine/core/docs`.

macro_rules! pages {
    ($($name:ident = $path:literal),* $(,)?) => {
        $(
            #[doc = include_str!($path)]
            mod $name {}
        )*
    };
}

pages! {
    readme = "../../README.md",
    engine = "../../crates/engine/README.md",
    limits_wing = "../../crates/limits/README.md",
    load_wing = "../../crates/load/README.md",
    architecture = "../../docs/ARCHITECTURE.md",
    coming_from = "../../docs/COMING-FROM.md",
    compare = "../../docs/COMPARE.md",
    limits = "../../docs/LIMITS.md",
    memory_ordering = "../../docs/MEMORY-ORDERING.md",
    how_to = "../../docs/run/how-to.md",
    report = "../../docs/run/report.md",
    run_reference = "../../docs/run/reference.md",
    tutorial = "../../docs/run/tutorial.md",
    performance = "../../docs/PERFORMANCE.md",
    scaling = "../../docs/SCALING.md",
    testing = "../../docs/TESTING.md",
}
