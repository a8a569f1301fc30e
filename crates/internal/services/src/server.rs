//! Runs a store server as a child process.

use crate::engine::Engine;
use crate::{port, ready, wire};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The time limit for the start of a server on a busy machine.
const START: Duration = Duration::from_secs(20);

/// The configuration file of a sentinel, which the sentinel rewrites.
const SENTINEL: &str = "sentinel.conf";

/// The file with the server's output.
const OUTPUT: &str = "output.txt";

/// The number of ports to try.
const ATTEMPTS: u32 = 20;

/// The options of a server. By default it keeps no data, has no password and uses any free port.
#[derive(Clone, Debug)]
pub struct Options {
    engine: Engine,
    port: Option<u16>,
    folder: Option<PathBuf>,
    append_only: bool,
    password: Option<String>,
    settings: Vec<(String, String)>,
    sentinel: Option<String>,
}

impl Options {
    /// Uses this port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Uses this folder for its files, not a temporary one.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Keeps an append-only file, flushed with each command, so that [`Server::restart`] finds all data.
    #[must_use]
    pub fn append_only(mut self) -> Self {
        self.append_only = true;
        self
    }

    /// Requires a password of letters and digits.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Adds a setting of the server's configuration, such as `("cluster-enabled", "yes")`.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Runs a sentinel, which watches over the store with this name whose master is at this address. It
    /// decides alone that a master is dead, after half a second.
    #[must_use]
    pub fn sentinel(mut self, name: &str, master: SocketAddr) -> Self {
        let (ip, port) = (master.ip(), master.port());
        self.sentinel = Some(format!(
            "sentinel monitor {name} {ip} {port} 1\nsentinel down-after-milliseconds {name} 500\n\
             sentinel failover-timeout {name} 5000\n"
        ));
        self
    }

    /// Starts the server, and waits until it responds.
    ///
    /// # Errors
    ///
    /// If its program cannot be run, the port is taken, or it does not respond in 20 s.
    pub fn start(mut self) -> io::Result<Server> {
        let temporary = if self.folder.is_none() { Some(TempDir::new()?) } else { None };
        let folder = self.folder.take();
        let folder = folder.or_else(|| temporary.as_ref().map(|folder| folder.path().to_owned()));
        let folder = folder.unwrap_or_default();
        let (child, port) = match self.port {
            Some(port) => (self.run(port, &folder)?, port),
            None => self.run_anywhere(&folder)?,
        };
        Ok(Server { child, port, options: self, folder, _temporary: temporary })
    }

    /// Another process may take the port before the server does; then the next port is tried.
    fn run_anywhere(&self, folder: &Path) -> io::Result<(Child, u16)> {
        let attempt = || -> io::Result<(Child, u16)> {
            let port = port::free()?;
            Ok((self.run(port, folder)?, port))
        };
        for _ in 1..ATTEMPTS {
            match attempt() {
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                done => return done,
            }
        }
        attempt()
    }

    fn run(&self, port: u16, folder: &Path) -> io::Result<Child> {
        if let Some(text) = &self.sentinel {
            fs::write(folder.join(SENTINEL), text)?;
        }
        let mut command = self.command(port, folder);
        command.stdout(File::create(folder.join(OUTPUT))?);
        let mut child = command.spawn().map_err(|error| self.told(error))?;
        let (address, deadline) = (port::address(port), Instant::now() + START);
        while !ready::answers(address, child.id(), self.password.as_deref()) {
            let (kind, problem) = match child.try_wait()? {
                Some(status) => (ErrorKind::AddrInUse, format!("ended at once, {status}")),
                None if Instant::now() >= deadline => {
                    (ErrorKind::TimedOut, "doesn't answer".to_owned())
                }
                None => {
                    thread::sleep(Duration::from_millis(5));
                    continue;
                }
            };
            end(&mut child);
            let program = self.engine.program();
            let output = fs::read_to_string(folder.join(OUTPUT)).unwrap_or_default();
            let problem = format!("{program} {problem}; its output:\n{output}");
            return Err(io::Error::new(kind, problem));
        }
        Ok(child)
    }

    /// Adds how to install the program, if it is missing.
    fn told(&self, error: io::Error) -> io::Error {
        let (program, how) = (self.engine.program(), self.engine.how_to_install());
        match error.kind() {
            kind @ ErrorKind::NotFound => {
                io::Error::new(kind, format!("{program} is not on PATH; {how}"))
            }
            _ => error,
        }
    }

    fn command(&self, port: u16, folder: &Path) -> Command {
        let mut command = Command::new(self.engine.program());
        if self.sentinel.is_some() {
            command.arg(folder.join(SENTINEL)).arg("--sentinel");
        }
        let keep = if self.append_only { "yes" } else { "no" };
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--appendonly", keep, "--appendfsync", "always"]).arg("--dir").arg(folder);
        if let Some(password) = &self.password {
            command.args(["--requirepass", password]);
        }
        for (name, value) in &self.settings {
            command.arg(format!("--{name}")).arg(value);
        }
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// A server, as a child process on loopback. It is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
    options: Options,
    folder: PathBuf,
    _temporary: Option<TempDir>,
}

impl Server {
    /// Starts a server that keeps no data, on a free port; it responds when this returns.
    ///
    /// # Errors
    ///
    /// As for [`Options::start`].
    pub fn start(engine: Engine) -> io::Result<Self> {
        Self::with(engine).start()
    }

    /// Options for a server.
    #[must_use]
    pub fn with(engine: Engine) -> Options {
        Options {
            engine,
            port: None,
            folder: None,
            append_only: false,
            password: None,
            settings: Vec::new(),
            sentinel: None,
        }
    }

    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        port::address(self.port)
    }

    /// The URL for clients, with the password.
    #[must_use]
    pub fn url(&self) -> String {
        let password = self.options.password.as_ref();
        let user = password.map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{user}{}/", self.address())
    }

    /// The response of a server without a password to a command of words without spaces, as the server
    /// writes it.
    ///
    /// # Errors
    ///
    /// If the server responds with an error or not at all.
    pub fn ask(&self, command: &str) -> io::Result<String> {
        wire::ask(self.address(), command)
    }

    /// The folder with its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stops the process with SIGSTOP: connections stay open, and nothing is answered.
    ///
    /// # Errors
    ///
    /// If the process has ended.
    pub fn stop(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Resumes a stopped process with SIGCONT.
    ///
    /// # Errors
    ///
    /// If the process has ended.
    pub fn go_on(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Kills the process with SIGKILL, and waits for its end.
    pub fn kill(&mut self) {
        end(&mut self.child);
    }

    /// Kills the process if it runs, and starts it again with the same options, port and folder. It is empty
    /// or has the data of its append-only file.
    ///
    /// # Errors
    ///
    /// As for [`Options::start`].
    pub fn restart(&mut self) -> io::Result<()> {
        self.kill();
        self.child = self.options.run(self.port, &self.folder)?;
        Ok(())
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A process that has ended needs no signal. Its number stays reserved until it is waited for.
fn end(child: &mut Child) {
    child.kill().ok();
    child.wait().ok();
}
