//! The files that a run reads and writes: none of those that it writes is another one.

use super::args::RunArgs;
use anyhow::{bail, ensure};
use same_file::is_same_file;
use std::path::{Path, PathBuf, absolute};

/// The files that are written, each with its option.
#[derive(Debug)]
pub(crate) struct Files(Vec<(&'static str, PathBuf)>);

/// Whether this is not a file, but standard output.
pub(crate) fn is_stdout(file: Option<&Path>) -> bool {
    file == Some(Path::new("-"))
}

impl Files {
    /// The files that these options name.
    ///
    /// # Errors
    ///
    /// If two of them are the same, or one has to be a file and is not.
    pub(crate) fn new(args: &RunArgs) -> anyhow::Result<Files> {
        if is_stdout(args.hdr.as_deref()) {
            bail!(
                "--hdr -: the interval log needs a file; --json and --csv can go to standard output"
            );
        }
        if is_stdout(args.html.as_deref()) {
            bail!("--html -: the page needs a file; --json and --csv can go to standard output");
        }
        let named =
            [("json", &args.json), ("html", &args.html), ("csv", &args.csv), ("hdr", &args.hdr)];
        let named = named.into_iter().filter_map(|(option, file)| Some((option, file.clone()?)));
        let files: Vec<_> = named.collect();
        for (index, (option, file)) in files.iter().enumerate() {
            let same = files[index + 1..].iter().find(|(_, other)| is_same(file, other));
            if let Some((other, _)) = same {
                bail!("--{option} and --{other} have the same file: give each its own");
            }
        }
        Ok(Files(files))
    }

    /// Refuses to write to a file that is read.
    pub(crate) fn spare_inputs(&self, args: &RunArgs) -> anyhow::Result<()> {
        let client = &args.client;
        let inputs = [
            ("targets", &args.targets),
            ("body-file", &client.body_file),
            ("cacert", &client.cacert),
            ("control-token-file", &args.control.control_token_file),
        ];
        for (option, file) in &self.0 {
            args.schedule.spare(option, Some(file))?;
            for (input, read) in &inputs {
                let is_input = read.as_ref().is_some_and(|read| is_same(read, file));
                let file = file.display();
                ensure!(
                    !is_input,
                    "--{option} {file}: --{input} reads this file: write to another"
                );
            }
        }
        Ok(())
    }
}

/// Whether both are one file. One that is not there yet has only its name.
fn is_same(one: &Path, other: &Path) -> bool {
    let name = |file| absolute(file).ok();
    name(one) == name(other) || is_same_file(one, other).unwrap_or(false)
}
