//! Whether a server answers.

use crate::wire;
use std::net::SocketAddr;
use std::time::Duration;

/// How long an answer may take before it is asked for again.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether the process with this number answers PING at this address. Another process that
/// listens there doesn't count.
pub(crate) fn answers(address: SocketAddr, process: u32, password: Option<&str>) -> bool {
    let number = format!("process_id:{process}\r\n");
    let user = password.map(|password| format!("AUTH {password}\r\n")).unwrap_or_default();
    wire::exchange(address, &format!("{user}PING\r\nINFO server"), PATIENCE)
        .is_ok_and(|answer| answer.contains("+PONG\r\n") && answer.contains(&number))
}
