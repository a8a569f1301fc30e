//! Creates temporary files, which are moved to their final path when they are complete and on disk.

use std::fs::File;
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// Creates a temporary file in the folder of `path`. On Unix, only its owner may access the file.
pub(crate) fn aside(path: &Path) -> io::Result<NamedTempFile> {
    NamedTempFile::new_in(folder(path))
}

pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder(path))?.sync_all() } else { Ok(()) }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
