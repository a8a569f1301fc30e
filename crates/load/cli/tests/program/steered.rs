//! Starts a run with a control server, and provides a client that can send any bytes to it.

use crate::command::nanopace;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(crate) struct Steered {
    child: Option<Child>,
    stderr: Option<JoinHandle<String>>,
    pub(crate) address: String,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Steered {
    pub(crate) fn start(options: &[&str]) -> Steered {
        let mut command = nanopace("run --json -");
        command.args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut told, mut line) = (String::new(), String::new());
        let address = loop {
            line.clear();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "{told}");
            told += &line;
            if let Some(url) = line.strip_prefix("control at http://") {
                break url.trim().replace("0.0.0.0", "127.0.0.1");
            }
        };
        let rest = move || {
            stderr.read_to_string(&mut told).unwrap();
            told
        };
        Steered { child: Some(child), stderr: Some(thread::spawn(rest)), address }
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let has = |name: &str| headers.iter().any(|header| header.starts_with(name));
        let mut head = vec![format!("{method} {path} HTTP/1.1"), "Connection: close".to_owned()];
        if !has("Host:") {
            head.push(format!("Host: {}", self.address));
        }
        if !body.is_empty() && !has("Content-Length:") && !has("Transfer-Encoding:") {
            head.push(format!("Content-Length: {}", body.len()));
        }
        head.extend(headers.iter().copied().map(str::to_owned));
        self.send(&[head.join("\r\n").as_bytes(), b"\r\n\r\n", body].concat())
    }

    pub(crate) fn send(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The server may respond before it has read everything.
        let _ = stream.write_all(request);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    pub(crate) fn status(&self) -> Value {
        self.ask("GET", "/status", &[], b"").json()
    }

    pub(crate) fn wait_until(&self, is_expected: impl Fn(&Value) -> bool) -> Value {
        self.wait_until_with(&[], is_expected)
    }

    pub(crate) fn wait_until_with(
        &self,
        headers: &[&str],
        is_expected: impl Fn(&Value) -> bool,
    ) -> Value {
        let begin = Instant::now();
        loop {
            let state = self.ask("GET", "/status", headers, b"").json();
            if is_expected(&state) {
                return state;
            }
            assert!(begin.elapsed() < Duration::from_secs(120), "{state}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn stop(self, headers: &[&str]) -> (Value, String) {
        assert_eq!(self.ask("POST", "/stop", headers, b"").status, 200);
        self.end()
    }

    pub(crate) fn end(mut self) -> (Value, String) {
        let output: Output = self.child.take().unwrap().wait_with_output().unwrap();
        let stderr = self.stderr.take().unwrap().join().unwrap();
        // Status 3 means that too many requests failed. Status 4 means that slots were overdue when the run was ended.
        assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{stderr}");
        (serde_json::from_slice(&output.stdout).unwrap(), stderr)
    }
}

impl Drop for Steered {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
