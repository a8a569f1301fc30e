//! Checks whether a server responds.

use crate::wire;
use std::net::SocketAddr;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_millis(500);

/// Returns whether the server responds. Compares the process ID, because a different server may use the port.
pub(crate) fn answers(address: SocketAddr, process: u32, password: Option<&str>) -> bool {
    let number = format!("process_id:{process}\r\n");
    let user = password.map(|password| format!("AUTH {password}\r\n")).unwrap_or_default();
    wire::exchange(address, &format!("{user}PING\r\nINFO server"), PATIENCE)
        .is_ok_and(|answer| answer.contains("+PONG\r\n") && answer.contains(&number))
}
