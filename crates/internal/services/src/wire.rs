//! What servers are told, and what they answer.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The answer to a command, in the server's own form. One that is an error is one here.
pub(crate) fn ask(address: SocketAddr, command: &str) -> io::Result<String> {
    let answer = exchange(address, command, PATIENCE)?;
    if answer.starts_with('-') {
        return Err(io::Error::other(format!("{command}: {answer}")));
    }
    Ok(answer)
}

/// What the server answers to commands, a line each, until it hangs up, because nothing more can come.
pub(crate) fn exchange(
    address: SocketAddr,
    commands: &str,
    patience: Duration,
) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(format!("{commands}\r\n").as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // It may hang up before it has read all.
        Err(error) if error.kind() != ErrorKind::ConnectionReset => Err(error),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}

/// The texts of an answer, without lengths and counts.
pub(crate) fn texts(answer: &str) -> Vec<&str> {
    let lines = answer.lines().filter(|line| !line.starts_with(['*', '$']));
    lines.map(|line| line.trim_start_matches([':', '+'])).collect()
}
