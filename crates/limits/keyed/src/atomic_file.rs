//! Files that are written aside, and moved to their final place when they are complete and on disk.

use std::fs::File;
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// Creates an empty file in the folder of `path`, which only its owner may access.
pub(crate) fn aside(path: &Path) -> io::Result<NamedTempFile> {
    NamedTempFile::new_in(folder(path))
}

/// Flushes the folder of `path`, with the names in it, to disk. Only Unix can do that. On other systems this does
/// nothing.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder(path))?.sync_all() } else { Ok(()) }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
