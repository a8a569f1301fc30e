//! Sets up several loads over HTTP: the files of `--load`, or the two sides of `--versus`.

use super::Http;
use super::args::{HttpRunArgs, RequestArgs};
use super::embedded::EmbeddedTarget;
use crate::console::{config, refusal};
use crate::load::unsupported::RunKind::{LoadFile, SeveralLoads};
use crate::running::args::RunArgs;
use crate::running::loads::{GivenLoad, LoadsSetup};
use crate::running::setup::boxed;
use crate::running::versus;
use anyhow::ensure;
use clap::{Arg, Command, FromArgMatches};
use std::path::Path;

pub(crate) fn setup<E: EmbeddedTarget>(
    definition: &Command,
    args: HttpRunArgs<E>,
) -> anyhow::Result<LoadsSetup> {
    let HttpRunArgs { load_files, load: args, requests, other, .. } = args;
    if let Some(other) = other {
        return versus(&requests, &other, args);
    }
    for name in &args.given {
        check(name, "with --load")?;
        ensure!(
            !LoadFile.supports(name),
            "--{name} is an option of one load: write it into the file of the load, as {name} = ..."
        );
    }
    let loads = load_files.iter().map(|file| read::<E>(definition, file));
    let loads = loads.collect::<anyhow::Result<Vec<_>>>()?;
    let (loads, requests): (Vec<_>, Vec<_>) = loads.into_iter().unzip();
    let given = load_files.iter().zip(loads).zip(&requests).map(|((file, args), requests)| {
        let mut inputs = requests.inputs();
        inputs.push(("--load", file));
        GivenLoad { args, inputs, make: boxed(move |load| Http::new(requests, load)) }
    });
    LoadsSetup::new(args, given.collect())
}

fn versus<E: EmbeddedTarget>(
    url: &RequestArgs<E>,
    other: &RequestArgs<E>,
    load: RunArgs,
) -> anyhow::Result<LoadsSetup> {
    let (args, sides) = versus::divided(load)?;
    let given = sides.into_iter().zip([url, other]).map(|(mut args, requests)| {
        let url = requests.url.clone().unwrap_or_default();
        args.settings.insert("url".to_owned(), url.into());
        let make = boxed(move |load: &RunArgs| Http::new(requests, load));
        GivenLoad { args, inputs: requests.inputs(), make }
    });
    LoadsSetup::new(args, given.collect())
}

/// Reads a load from its file. If the file does not contain `name`, the load has the name of the file without the
/// extension.
fn read<E: EmbeddedTarget>(
    definition: &Command,
    file: &Path,
) -> anyhow::Result<(RunArgs, RequestArgs<E>)> {
    let start = Arg::new("start").long("start").value_parser(humantime::parse_duration);
    let own = [Arg::new("name").long("name"), start];
    let error = |error: clap::Error| anyhow::Error::msg(refusal::text(&error));
    let check = |name: &str| check_in_file(name, file);
    let (command, matches) = config::of_file(definition, own, file, check).map_err(error)?;
    let mut args = HttpRunArgs::<E>::from_arg_matches(&matches).map_err(error)?;
    args.settle(&command, &matches);
    let HttpRunArgs { load: mut args, requests, .. } = args;
    let stem = || file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    args.name = matches.get_one("name").cloned().unwrap_or_else(stem);
    args.start = matches.get_one("start").copied().unwrap_or_default();
    Ok((args, requests))
}

fn check_in_file(name: &str, file: &Path) -> anyhow::Result<()> {
    let file = file.display();
    check(name, &format!("in {file}"))?;
    ensure!(
        LoadFile.supports(name),
        "{file}: {name} is an option of the whole run: give it on the command line"
    );
    Ok(())
}

fn check(name: &str, place: &str) -> anyhow::Result<()> {
    ensure!(
        SeveralLoads.supports(name),
        "--{name} {place}: a run of several loads does not support this option: leave it out"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::embedded::NoTarget;
    use crate::load::unsupported::UNSUPPORTED;
    use clap::Args;

    #[test]
    fn each_unsupported_option_is_an_option_of_a_run() {
        let command = HttpRunArgs::<NoTarget>::augment_args(Command::new("run"));
        let options: Vec<_> = command.get_arguments().filter_map(Arg::get_long).collect();
        let is_pushed = |name: &str| name.starts_with("otlp");
        for (name, kinds) in UNSUPPORTED {
            let is_built = cfg!(feature = "otlp") || !is_pushed(name);
            assert_eq!(options.contains(name), is_built, "{name}");
            assert!(!kinds.is_empty(), "{name}");
        }
        assert!(UNSUPPORTED.is_sorted_by(|one, two| one.0 < two.0));
    }
}
