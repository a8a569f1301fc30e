//! Whether a server answers.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take before it is asked for again.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether the process with this number answers PING at this address. Another process that
/// listens there doesn't count.
pub(crate) fn answers(address: SocketAddr, process: u32, password: Option<&str>) -> bool {
    let number = format!("process_id:{process}\r\n");
    ask(address, password)
        .is_ok_and(|answer| answer.contains("+PONG\r\n") && answer.contains(&number))
}

/// What the server answers to PING and INFO, and then hangs up.
fn ask(address: SocketAddr, password: Option<&str>) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    if let Some(password) = password {
        write!(stream, "AUTH {password}\r\n")?;
    }
    stream.write_all(b"PING\r\nINFO server\r\nQUIT\r\n")?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // It may hang up before it has read all.
        Err(error) if error.kind() != ErrorKind::ConnectionReset => Err(error),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}
