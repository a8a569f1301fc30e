//! Resolves output paths. Finds out which paths lead to the same file, and which lead to streams that cannot be
//! replaced.

use super::input::{STDIN, is_stdin};
use anyhow::{bail, ensure};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The paths of standard output. All of them count as the same file, because two outputs to standard output would be
/// mixed.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
/// The directories whose entries stand for open streams and devices.
const STREAMS: [&str; 2] = ["/dev", "/proc"];
const MOST_LINKS: u32 = 40;

#[must_use]
pub(crate) fn is_stdout(path: &Path) -> bool {
    STDOUT.into_iter().any(|name| path == Path::new(name))
}

/// Returns an error if two outputs are the same file, if an output is also an input or the file to which standard
/// output is redirected, or if two options read standard input. Each path is given with the name of its option.
pub(crate) fn keep_apart<'a>(
    outputs: impl IntoIterator<Item = (&'static str, Option<&'a Path>)>,
    inputs: impl IntoIterator<Item = (&'static str, &'a Path)>,
) -> anyhow::Result<()> {
    let given = outputs.into_iter().filter_map(|(option, path)| Some((option, path?)));
    let outputs: Vec<_> = given.map(|(option, path)| (option, path, Identity::of(path))).collect();
    for (index, (option, path, identity)) in outputs.iter().enumerate() {
        for (other, _, another) in &outputs[index + 1..] {
            ensure!(
                option != other || !identity.is(another),
                "--{option} {}: two loads write to this file: give each load its own file",
                path.display()
            );
            ensure!(
                !identity.is(another),
                "--{option} and --{other} have the same file: give each option its own file"
            );
        }
    }
    let mut of_stdin = None;
    for (input, read) in inputs {
        if is_stdin(read)
            && let Some(other) = of_stdin.replace(input)
        {
            bail!("{other} and {input} both read standard input: give one of them a file");
        }
        let read = Identity::of_file(if is_stdin(read) { Path::new(STDIN) } else { read });
        for (option, path, identity) in &outputs {
            let path = path.display();
            ensure!(
                !identity.is(&read),
                "--{option} {path}: {input} reads this file: write to another file"
            );
        }
    }
    not_beside_the_report(&outputs)
}

/// Returns an error if an output is the file to which standard output is redirected, because the report is written to
/// standard output.
fn not_beside_the_report(outputs: &[(&str, &Path, Identity)]) -> anyhow::Result<()> {
    let stdout = Path::new(STDOUT[1]);
    if fs::metadata(stdout).is_ok_and(|stdout| stdout.is_file()) {
        let report = Identity { destination: None, ..Identity::of_file(stdout) };
        for (option, path, identity) in outputs {
            ensure!(
                !identity.is(&report),
                "--{option} {}: standard output goes to this file: write to another file",
                path.display()
            );
        }
    }
    Ok(())
}

/// Identifies a file. Two paths lead to the same file if they have the same destination or the same numbers.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    /// The path at which the file is or would be written. No file has to exist at this path.
    destination: Option<PathBuf>,
    /// The number of the device, and the inode number of the file.
    file: Option<(u64, u64)>,
}

impl Identity {
    fn of(path: &Path) -> Identity {
        if is_stdout(path) {
            return Identity { destination: Some(STDOUT[0].into()), file: None };
        }
        Identity::of_file(path)
    }

    fn of_file(path: &Path) -> Identity {
        Identity { destination: destination(path).ok(), file: number(path) }
    }

    fn is(&self, other: &Identity) -> bool {
        let is_one = self.destination.is_some() && self.destination == other.destination;
        is_one || self.file.is_some() && self.file == other.file
    }
}

#[cfg(unix)]
fn number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn number(_: &Path) -> Option<(u64, u64)> {
    None
}

/// Returns the path at which a file is or would be written, after all links are resolved.
pub(super) fn destination(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")))?;
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let there = folder.join(name);
        match fs::read_link(&there) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Ok(there),
        }
    }
    Err(io::Error::other("the path has too many symbolic links"))
}

/// Opens the file for writing. Also returns whether it is a stream, which cannot be cleared: a pipe, a device, or the
/// path of an open file.
pub(super) fn open(path: &Path) -> io::Result<(File, bool)> {
    let is_named_stream = STREAMS.into_iter().any(|folder| path.starts_with(folder));
    let is_stream = is_named_stream || fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    let file = OpenOptions::new().write(true).append(is_stream).create(!is_stream).open(path)?;
    Ok((file, is_stream))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    fn folder() -> TempDir {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), "old").unwrap();
        fs::create_dir(at("folder")).unwrap();
        fs::hard_link(at("old"), at("hard")).unwrap();
        for (target, link) in
            [("old", "link"), ("new", "dangling"), (".", "inside"), ("loop", "loop")]
        {
            symlink(target, at(link)).unwrap();
        }
        folder
    }

    #[test]
    fn two_paths_of_one_file_are_told_apart_from_two_files() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        for (one, other, is_one) in [
            ("old", "old", true),
            ("old", "folder/../old", true),
            ("old", "link", true),
            ("old", "hard", true),
            ("link", "hard", true),
            ("old", "inside/old", true),
            ("new", "new", true),
            ("new", "folder/../new", true),
            ("new", "./folder/.././new", true),
            ("new", "dangling", true),
            ("new", "inside/inside/dangling", true),
            ("old", "new", false),
            ("new", "newer", false),
            ("folder/new", "new", false),
            ("loop", "new", false),
            ("missing/new", "new", false),
        ] {
            let [first, second] = [at(one), at(other)];
            let both = [("json", Some(&*first)), ("csv", Some(&*second))];
            assert_eq!(keep_apart(both, []).is_err(), is_one, "{one} {other}");
        }
    }

    #[test]
    fn what_is_read_is_not_written() {
        let folder = folder();
        let (old, hard) = (folder.path().join("old"), folder.path().join("hard"));
        let told = keep_apart([("json", Some(&*hard))], [("--config", &*old)]).unwrap_err();
        assert!(
            told.to_string().ends_with("--config reads this file: write to another file"),
            "{told}"
        );
    }

    #[test]
    fn one_option_reads_standard_input() {
        let [stdin, file] = ["-", "/dev/stdin"].map(Path::new);
        let to_stdout = || [("json", Some(stdin))];
        assert!(
            keep_apart(to_stdout(), [("--targets", stdin), ("--cacert", Path::new("x"))]).is_ok()
        );
        let told = keep_apart(to_stdout(), [("--targets", stdin), ("--data", file)]).unwrap_err();
        assert!(
            told.to_string().starts_with("--targets and --data both read standard input"),
            "{told}"
        );
    }

    #[test]
    fn standard_output_has_several_names() {
        let both = [("json", Some(Path::new("-"))), ("csv", Some(Path::new("/dev/stdout")))];
        assert!(keep_apart(both, []).is_err());
    }
}
