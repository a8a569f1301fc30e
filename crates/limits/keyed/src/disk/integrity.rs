//! Checks that a file is an intact store before the database opens it.

use super::locked_file::LockedFile;
use super::tables::{Stored, read};
use redb::backends::InMemoryBackend;
use redb::{Database, Error, StorageBackend};
use std::io::{self, ErrorKind};
use std::ops::Range;

const MAGIC: [u8; 9] = *b"redb\x1A\n\xA9\r\n";
/// The byte offsets of the layout in the header: five 32-bit numbers.
const LAYOUT: Range<usize> = 12..32;
/// The expected sizes: bytes per page, header pages per region, and data pages per region.
const SIZES: [u32; 3] = [4096, 0, 1 << 20];

/// The byte offset of the flags: which of the last two states is current (bit 0), and how that state was committed.
const FLAGS: usize = 9;
const TWO_PHASES: u8 = 4;
/// The byte offsets of the transaction numbers of both states.
const TRANSACTIONS: [usize; 2] = [168, 296];

fn content(file: &LockedFile) -> Result<Vec<u8>, Error> {
    let length =
        usize::try_from(file.len()?).map_err(|_| io::Error::from(ErrorKind::FileTooLarge))?;
    let mut header = vec![0; length.min(LAYOUT.end)];
    file.read(0, &mut header)?;
    check_header(&header, length)?;
    let mut bytes = vec![0; length];
    file.read(0, &mut bytes)?;
    Ok(bytes)
}

/// Checks the sizes in the header, because with wrong sizes the database panics or takes minutes to open.
fn check_header(header: &[u8], length: usize) -> Result<(), Error> {
    let layout = header.get(LAYOUT).filter(|_| header.starts_with(&MAGIC)).unwrap_or_default();
    let (numbers, _) = layout.as_chunks();
    let numbers: Vec<u32> = numbers.iter().map(|number| u32::from_le_bytes(*number)).collect();
    match numbers[..] {
        [page, header, data, regions, rest] if [page, header, data] == SIZES => {
            let [page, data] = [page, data].map(u128::from);
            let whole = (1 + u128::from(regions) * data + u128::from(rest)) * page;
            let is_whole = whole <= length as u128;
            is_whole.then_some(()).ok_or_else(|| {
                Error::Corrupted(format!("the file has only {length} of {whole} bytes"))
            })
        }
        _ => Err(Error::Corrupted(
            "the header of the file was not written by this database".to_owned(),
        )),
    }
}

/// Rewrites the whole file: after a failed flush, the system may count pages as written although they are not on disk.
pub(super) fn restored(file: &LockedFile) -> Result<(), Error> {
    file.write(0, &content(file)?)?;
    Ok(file.sync_data()?)
}

pub(super) fn examined(file: &LockedFile) -> Result<(Database, Vec<Stored>), Error> {
    let mut bytes = content(file)?;
    let entries = current(&mut bytes).map_err(of_a_copy)?;
    file.write(FLAGS as u64, &bytes[FLAGS..=FLAGS])?;
    Ok((checked(file.clone())?, entries))
}

fn current(bytes: &mut [u8]) -> Result<Vec<Stored>, Error> {
    let current = loaded(bytes)?;
    if !is_other_newer(bytes) {
        return Ok(current);
    }
    // The process may have died before it switched to the other state, which may be incomplete. Without the two-phase
    // flag, the database uses the newest complete state.
    bytes[FLAGS] &= !TWO_PHASES;
    loaded(bytes)
}

fn is_other_newer(bytes: &[u8]) -> bool {
    let transactions = |state: u8| {
        let start = TRANSACTIONS[usize::from(state & 1)];
        bytes[start..start + 8].iter().rev()
    };
    transactions(bytes[FLAGS] ^ 1).gt(transactions(bytes[FLAGS]))
}

fn loaded(bytes: &[u8]) -> Result<Vec<Stored>, Error> {
    let copy = InMemoryBackend::new();
    copy.set_len(bytes.len() as u64)?;
    copy.write(0, bytes)?;
    read(&checked(copy)?)
}

/// Opens a database and compares the checksums of all pages, because the database would panic on damaged pages.
fn checked(file: impl StorageBackend) -> Result<Database, Error> {
    Ok(Database::builder().set_check_integrity_on_open(true).create_with_backend(file)?)
}

/// Treats an I/O error of a copy in memory as damage, because the operating system is not involved.
fn of_a_copy(error: Error) -> Error {
    match error {
        Error::Io(error) => Error::Corrupted(error.to_string()),
        error => error,
    }
}
