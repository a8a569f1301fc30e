//! Shortens the page of `-h` to the options that a first run needs. The page of `--help` shows all options in groups.

use clap::{Arg, Command};
use std::ffi::OsString;

const FIRST: [&str; 13] = [
    "until",
    "from",
    "max",
    "step",
    "rate",
    "duration",
    "requests",
    "connections",
    "header",
    "body",
    "fail_if",
    "html",
    "svg",
];

/// The position of the first option of [`FIRST`] on a page: after the program's own options, before `--help`.
const FIRST_PLACE: usize = 500;

pub(crate) fn hide_rare(command: Command, own: &Command) -> Command {
    command.mut_args(|option| {
        let is_own = own.get_arguments().any(|it| it.get_id() == option.get_id());
        let is_rare = !is_own && place(&option).is_none();
        option.hide_short_help(is_rare)
    })
}

/// Prepares the help pages: `--help` shows all options, and `-h` those of [`FIRST`] and the program's own. Both use
/// clap's short kind of page, which is a table, so `--help` has to show the options that `-h` hides.
pub(crate) fn pages(command: Command, words: &[OsString]) -> Command {
    let page = if words.iter().any(|word| word == "--help") { whole } else { short };
    page(command.mut_subcommands(page))
}

fn whole(command: Command) -> Command {
    command.mut_args(|option| option.hide_short_help(false))
}

/// Moves the options of [`FIRST`] out of their groups and sorts them. The function does nothing if no option of the
/// command is hidden.
fn short(command: Command) -> Command {
    if !command.get_arguments().any(Arg::is_hide_short_help_set) {
        return command;
    }
    command.mut_args(|option| match place(&option) {
        Some(place) => option.help_heading(None).display_order(FIRST_PLACE + place),
        None => option,
    })
}

fn place(option: &Arg) -> Option<usize> {
    FIRST.iter().position(|id| option.get_id() == id)
}
