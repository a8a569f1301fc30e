//! Prints the C header, generated from the source of `crates/engine/capi`. This is a separate program, so that the
//! tests do not build the generator.

use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style,
};
use std::error::Error;
use std::io;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../engine/capi/src/lib.rs");

const HEAD: &str = "\
/* nanopace for C and C++: paces the operations of load generators. Each operation starts on schedule, and its
 * grant reports how late it is.
 *
 * Rules for every function:
 *
 * - It returns a status, and NANOPACE_STATUS_OK is 0. Results go to out pointers. Unless the function's comment
 *   says otherwise, these are written only if the status is NANOPACE_STATUS_OK.
 * - A pointer is null or points to a value of its type. Null for a required pointer is an error.
 * - A handle works from any thread, unless its comment says otherwise. Using a freed handle returns
 *   NANOPACE_STATUS_FREED until 256 more handles of its kind have been freed.
 * - Strings are UTF-8. Times are nanoseconds.
 * - No function may be called in a signal handler.
 * - After a fork, each process has a copy: parent and child hand out the same slots independently. Fork while
 *   no other thread is in a call. A watch is not copied: see nanopace_watch.
 * - pthread_cancel does not end a wait: close the pacer instead. Disable cancellation around nanopace_new and
 *   nanopace_watch_free, which contain cancellation points.
 *
 * Generated from the source by `cargo xtask pages`.
 */

#ifndef NANOPACE_H
#define NANOPACE_H";

/// The end of the header. Its function uses the size of the struct in the caller's header, so it cannot be in the
/// library.
const TAIL: &str = "\
// Options that are all at their defaults.
static inline nanopace_options nanopace_options_default(void) {
  nanopace_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  return options;
}

#endif  /* NANOPACE_H */";

const NAMES: [(&str, &str); 13] = [
    ("ClaimHandle", "nanopace_claim"),
    ("Clock", "nanopace_clock"),
    ("Counters", "nanopace_counters"),
    ("Grant", "nanopace_grant"),
    ("LaneHandle", "nanopace_lane"),
    ("Ledger", "nanopace_ledger"),
    ("Options", "nanopace_options"),
    ("PacerHandle", "nanopace_pacer"),
    ("PollerHandle", "nanopace_poller"),
    ("Start", "nanopace_start"),
    ("State", "nanopace_state"),
    ("Status", "nanopace_status"),
    ("WatchHandle", "nanopace_watch"),
];

fn main() -> Result<(), Box<dyn Error>> {
    Builder::new().with_config(config()).with_src(SOURCE).generate()?.write(io::stdout());
    Ok(())
}

fn config() -> Config {
    let rename = NAMES.map(|(rust, c)| (rust.to_owned(), c.to_owned())).into();
    let include = ["Clock", "Start"].map(str::to_owned).into();
    Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Type,
        header: Some(HEAD.to_owned()),
        trailer: Some(TAIL.to_owned()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h", "string.h"].map(str::to_owned).into(),
        usize_is_size_t: true,
        line_length: 100,
        documentation_style: DocumentationStyle::C99,
        export: ExportConfig { rename, include, ..ExportConfig::default() },
        enumeration: EnumConfig {
            rename_variants: RenameRule::ScreamingSnakeCase,
            prefix_with_name: true,
            ..EnumConfig::default()
        },
        ..Config::default()
    }
}
