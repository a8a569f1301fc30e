//! The project's pages. Included here, their examples are compiled and run with the other tests.

macro_rules! pages {
    ($($name:ident = $path:literal),* $(,)?) => {
        $(
            #[doc = include_str!($path)]
            mod $name {}
        )*
    };
}

pages! {
    readme = "../../../README.md",
    architecture = "../../../docs/ARCHITECTURE.md",
    design = "../../../docs/DESIGN.md",
    limitations = "../../../docs/LIMITATIONS.md",
    measuring = "../../../docs/MEASURING.md",
    memory_ordering = "../../../docs/MEMORY-ORDERING.md",
    pausing = "../../../docs/PAUSING.md",
    performance = "../../../docs/PERFORMANCE.md",
    limits = "../../../docs/LIMITS.md",
    scaling = "../../../docs/SCALING.md",
    testing = "../../../docs/TESTING.md",
}
