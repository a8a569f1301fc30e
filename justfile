# Shows the recipes.
default:
    @just --list --unsorted

# Runs the main job: the embedded target, 2 workers, 5 000 requests/s, 10 s.
run *options:
    cargo run --release -- run {{ options }}

# Every test, loom models at depth 2 included.
test:
    cargo xtask test

# Format, clippy and documentation, with warnings as errors.
lint:
    cargo xtask lint

# The loom models at depth 2.
loom:
    cargo xtask loom

# The loom models at depth 3 and more; takes long.
loom-deep preemptions="3":
    cargo xtask loom {{ preemptions }}

# Every stored edit to the engine must make its models fail.
loom-mutants *names:
    cargo run --release -p loom-tests --bin mutants -- {{ names }}

# The random tests with many more cases.
properties cases="100000":
    PROPTEST_CASES={{ cases }} cargo test --release -p nanopace

# The benchmarks; each prints our figure beside the bare baseline.
bench *options:
    cargo bench -p nanopace-benches {{ options }}

# The figures that the project holds itself to, beside their baselines and bounds; a few minutes.
figures *options:
    cargo run --release -p nanopace-benches --bin figures -- {{ options }}

# How exactly starts happen on this machine, and which way to pause suits it.
calibrate *options:
    cargo run --release -- calibrate {{ options }}

# Licences and sources of all dependencies (needs cargo-deny).
deny:
    cargo deny check licenses bans sources
