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

# The random tests with many more cases.
properties cases="100000":
    PROPTEST_CASES={{ cases }} cargo test --release -p nanopace

# The benchmarks; each prints our figure beside the bare baseline.
bench *options:
    cargo bench -p nanopace-benches {{ options }}

# Licences and sources of all dependencies (needs cargo-deny).
deny:
    cargo deny check licenses bans sources
