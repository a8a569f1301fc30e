//! Generates shell completions and manual pages from the definition of the command line.

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

pub(crate) const COMPLETIONS: &str = "\
Examples:
  nanopace completions bash > ~/.local/share/bash-completion/completions/nanopace
  nanopace completions fish > ~/.config/fish/completions/nanopace.fish
  nanopace completions zsh > ~/.zfunc/_nanopace";

pub(crate) const MAN: &str = "\
Examples:
  nanopace man > nanopace.1
  nanopace man run > nanopace-run.1
  nanopace man search | man -l -";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Print the script for this shell
    shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Describe this command [default: the whole program]
    command: Option<String>,
}

pub(crate) fn completions(args: &CompletionsArgs, mut definition: Command) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut definition, "nanopace", &mut script);
    script
}

pub(crate) fn man(args: &ManArgs, mut whole: Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    whole.build();
    let command = match &args.command {
        Some(name) => {
            whole.find_subcommand(name).cloned().with_context(|| unknown(&whole, name))?
        }
        None => whole,
    };
    Man::new(command).render(&mut page)?;
    Ok(page)
}

fn unknown(whole: &Command, name: &str) -> String {
    let names: Vec<_> = whole.get_subcommands().map(Command::get_name).collect();
    format!("{name:?} is not a command; write one of {}", names.join(", "))
}
