//! Writes a result file. Its old contents stay until the results are complete.

use super::place::{self, destination, is_stdout};
use anyhow::Context;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::process;

#[derive(Debug)]
pub(crate) struct ResultFile {
    /// The option that names the file. Errors contain it.
    option: &'static str,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Stdout,
    /// A pipe or a device. It can be written, but it cannot be replaced.
    Stream(File),
    /// A file that is overwritten in place. A new file cannot replace it, because the file has several hard links,
    /// because the new file would have a different owner or group, or because its directory does not allow new files.
    Old(File),
    /// A path whose file is replaced: a new file is written in the same directory and then renamed to this path.
    Replaced(PathBuf),
}

impl ResultFile {
    /// Checks that the file at `path`, the value of `option`, can be written, without changing its contents. The path
    /// `-` is standard output.
    pub(crate) fn create(option: &'static str, path: &Path) -> anyhow::Result<ResultFile> {
        let named = || format!("cannot write {option} {}", path.display());
        let place = place_of(path).with_context(named)?;
        Ok(ResultFile { option, place })
    }

    pub(crate) fn optional(
        option: &'static str,
        path: Option<&Path>,
    ) -> anyhow::Result<Option<ResultFile>> {
        path.map(|path| ResultFile::create(option, path)).transpose()
    }

    #[must_use]
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self.place, Place::Stdout)
    }

    /// Writes the results. If `write` fails, a file that is to be replaced keeps its old contents.
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let written = match &self.place {
            Place::Stdout => {
                let mut stdout = io::stdout();
                write(&mut stdout).and_then(|()| stdout.flush())
            }
            Place::Stream(file) => write(&mut &*file),
            Place::Old(file) => clear(file).and_then(|()| write(&mut &*file)),
            Place::Replaced(path) => replace(path, write),
        };
        written.map_err(|error| cannot_write(self.option, &error))
    }

    pub(crate) fn write_text(&self, text: &str) -> io::Result<()> {
        self.write(|to| to.write_all(text.as_bytes()))
    }
}

/// Returns the error with the name of the output that cannot be written.
pub(crate) fn cannot_write(output: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {output}: {error}"))
}

pub(super) fn clear(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()
}

fn place_of(path: &Path) -> io::Result<Place> {
    if is_stdout(path) {
        return Ok(Place::Stdout);
    }
    let old = match fs::metadata(path) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let path = destination(path)?;
            temporary_file(&path)?;
            return Ok(Place::Replaced(path));
        }
        // A file with this path cannot be created either, for example because its name is too long.
        Err(error) => return Err(error),
    };
    // The file is opened first, because a file without write permission must not be replaced, even if its directory
    // allows it.
    let (file, is_stream) = place::open(path)?;
    if is_stream {
        return Ok(Place::Stream(file));
    }
    let path = destination(path)?;
    let is_replaced = temporary_file(&path).is_ok_and(|new| is_like(&new.file, &old));
    Ok(if is_replaced { Place::Replaced(path) } else { Place::Old(file) })
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut new = temporary_file(path)?;
    write(&mut &new.file)?;
    if let Ok(old) = fs::metadata(path) {
        new.file.set_permissions(old.permissions())?;
    }
    fs::rename(&new.path, path)?;
    // The file has been renamed, so its old name must not be removed: another process may have created a file with that
    // name.
    new.path.clear();
    Ok(())
}

#[derive(Debug)]
struct NewFile {
    file: File,
    path: PathBuf,
}

impl Drop for NewFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The maximum number of names to try for a new file. Most names are free, because they contain the process ID.
const NAMES: u32 = 1_000;

/// Creates a new file in the directory of `path`. If a file exists at `path`, only users who can read it can read the
/// new file.
fn temporary_file(path: &Path) -> io::Result<NewFile> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode(path));
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = |number| folder.join(format!(".nanopace-{}-{number}", process::id()));
    let mut opened =
        (0..NAMES).map(name).map(|path| Ok(NewFile { file: options.open(&path)?, path }));
    let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
    let opened = opened.find(|opened| !opened.as_ref().is_err_and(is_taken));
    // The error is returned without its path, because the name of the temporary file would confuse the user.
    let opened = opened.unwrap_or(Err(io::ErrorKind::AlreadyExists.into()));
    opened.map_err(|error| error.kind().into())
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).map_or(0o666, |old| old.permissions().mode())
}

#[cfg(unix)]
fn is_like(new: &File, old: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owners = |file: &Metadata| (file.uid(), file.gid());
    old.nlink() == 1 && new.metadata().is_ok_and(|new| owners(&new) == owners(old))
}

#[cfg(not(unix))]
fn is_like(_: &File, _: &Metadata) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use tempfile::TempDir;

    fn names(folder: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_there_stays_until_all_is_written() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("results");
        let new = ResultFile::create("--json", &path).unwrap();
        assert_eq!(names(&folder), [""; 0]);
        new.write_text("first").unwrap();
        let failed = ResultFile::create("--json", &path).unwrap().write(|to| {
            to.write_all(b"second")?;
            assert_eq!(fs::read_to_string(&path)?, "first");
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), names(&folder)),
            ("first".into(), vec!["results".to_owned()])
        );
        ResultFile::create("--json", &path).unwrap().write_text("second").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
    }

    #[test]
    fn permissions_and_links_are_kept() {
        let folder = TempDir::new().unwrap();
        let [path, link, hard] = ["results", "link", "hard"].map(|name| folder.path().join(name));
        fs::write(&path, "a long text from before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("results", &link).unwrap();
        let before = fs::metadata(&path).unwrap().ino();
        ResultFile::create("--json", &link).unwrap().write_text("by the link").unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "by the link");
        assert_eq!(after.permissions().mode() & 0o777, 0o640);
        assert!(after.ino() != before && fs::symlink_metadata(&link).unwrap().is_symlink());
        fs::hard_link(&path, &hard).unwrap();
        ResultFile::create("--json", &path).unwrap().write_text("short").unwrap();
        assert_eq!(fs::read_to_string(&hard).unwrap(), "short");
    }

    #[test]
    fn a_link_to_nothing_leads_to_the_new_file() {
        let folder = TempDir::new().unwrap();
        let link = folder.path().join("link");
        symlink("results", &link).unwrap();
        ResultFile::create("--json", &link).unwrap().write_text("new").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("results")).unwrap(), "new");
        let usual = folder.path().join("usual");
        File::create(&usual).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&link), mode(&usual));
    }

    #[test]
    fn a_name_that_is_too_long_is_refused_before_the_results_are_there() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x".repeat(256));
        let told = ResultFile::create("--json", &path).unwrap_err().to_string();
        assert_eq!(told, format!("cannot write --json {}", path.display()));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_device_is_written_and_not_replaced() {
        let null = ResultFile::create("--json", Path::new("/dev/null")).unwrap();
        assert!(matches!(null.place, Place::Stream(_)));
        null.write_text("gone").unwrap();
        let full = ResultFile::create("--json", Path::new("/dev/full")).unwrap();
        let error = full.write_text("text").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("cannot write --json: "), "{error}");
        for missing in ["/nonexistent/file", "/", "/tmp/.."] {
            let told = ResultFile::create("--json", Path::new(missing)).unwrap_err().to_string();
            assert_eq!(told, format!("cannot write --json {missing}"));
        }
    }
}
