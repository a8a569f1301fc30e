//! Runs a store server as a child process.

use crate::product::Product;
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

const START: Duration = Duration::from_secs(20);

/// A sentinel also writes to this file, so each start writes the file again.
const SENTINEL: &str = "sentinel.conf";

const OUTPUT: &str = "output.txt";

const ATTEMPTS: u32 = 20;

/// The options of a server. By default, a server keeps no data on disk, has no password and uses any free port.
#[derive(Clone, Debug)]
pub struct Options {
    product: Product,
    port: Option<u16>,
    folder: Option<PathBuf>,
    append_only: bool,
    password: Option<String>,
    settings: Vec<(String, String)>,
    sentinel: Option<String>,
}

impl Options {
    /// Makes the server listen on this port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Stores the server's files in this folder instead of a temporary one.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Makes the server keep an append-only file and flush it before each reply to a write, so that [`Server::restart`]
    /// loses no confirmed write.
    #[must_use]
    pub fn append_only(mut self) -> Self {
        self.append_only = true;
        self
    }

    /// Makes the server require this password, which may contain only letters and digits.
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

    /// Makes the server a sentinel that monitors the store called `name`, whose master has this address. If the master
    /// does not respond for half a second, this sentinel alone decides that it is dead.
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
    /// Fails if the program cannot be run, if the server ends at once, for example because another process uses the
    /// port or a setting is invalid, or if the server does not respond within 20 s.
    pub fn start(mut self) -> io::Result<Server> {
        let temporary = if self.folder.is_none() { Some(in_memory()?) } else { None };
        let folder = self.folder.take();
        let folder = folder.or_else(|| temporary.as_ref().map(|folder| folder.path().to_owned()));
        let folder = folder.unwrap_or_default();
        let (child, port) = match self.port {
            Some(port) => (self.run(port, &folder)?, port),
            None => self.run_anywhere(&folder)?,
        };
        Ok(Server { child, port, options: self, folder, _temporary: temporary })
    }

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
                    (ErrorKind::TimedOut, "does not respond".to_owned())
                }
                None => {
                    thread::sleep(Duration::from_millis(5));
                    continue;
                }
            };
            end(&mut child);
            let program = self.product.program();
            let output = fs::read_to_string(folder.join(OUTPUT)).unwrap_or_default();
            let problem = format!("{program} {problem}; its output:\n{output}");
            return Err(io::Error::new(kind, problem));
        }
        Ok(child)
    }

    fn told(&self, error: io::Error) -> io::Error {
        let (program, how) = (self.product.program(), self.product.how_to_install());
        match error.kind() {
            kind @ ErrorKind::NotFound => {
                io::Error::new(kind, format!("{program} is not on PATH; {how}"))
            }
            _ => error,
        }
    }

    fn command(&self, port: u16, folder: &Path) -> Command {
        let mut command = Command::new(self.product.program());
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

/// A server that runs as a child process on loopback. The process is killed when this value is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
    options: Options,
    folder: PathBuf,
    _temporary: Option<TempDir>,
}

impl Server {
    /// Starts a server that keeps no data on disk, on a free port, and waits until the server responds.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Options::start`].
    pub fn start(product: Product) -> io::Result<Self> {
        Self::with(product).start()
    }

    /// Returns the default options for a server of this product.
    #[must_use]
    pub fn with(product: Product) -> Options {
        Options {
            product,
            port: None,
            folder: None,
            append_only: false,
            password: None,
            settings: Vec::new(),
            sentinel: None,
        }
    }

    /// Returns the address on which the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        port::address(self.port)
    }

    /// Returns the URL for clients, including the password.
    #[must_use]
    pub fn url(&self) -> String {
        let password = self.options.password.as_ref();
        let user = password.map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{user}{}/", self.address())
    }

    /// Sends a command to a server without a password, and returns the raw response. The words of the command must not
    /// contain spaces.
    ///
    /// # Errors
    /// Fails if the server responds with an error or not at all.
    pub fn ask(&self, command: &str) -> io::Result<String> {
        wire::ask(self.address(), command)
    }

    /// Returns the folder with the server's files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stops the process with SIGSTOP. Connections stay open, but get no responses.
    ///
    /// # Errors
    /// Fails if [`kill`](Server::kill) has ended the process.
    pub fn stop(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Resumes a stopped process with SIGCONT.
    ///
    /// # Errors
    /// Fails if [`kill`](Server::kill) has ended the process.
    pub fn go_on(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Kills the process with SIGKILL, and waits for its end.
    pub fn kill(&mut self) {
        end(&mut self.child);
    }

    /// Kills the process if it still runs, and starts the server again with the same options, port and folder. The new
    /// process loads the append-only file. Without such a file, it has no data.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Options::start`].
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

/// Creates a temporary folder, in memory if the system keeps files there. A sentinel or a server of a cluster flushes
/// its state, which can stop it for ten seconds on a disk to which other programs write.
fn in_memory() -> io::Result<TempDir> {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new())
}

/// Kills the process and waits for its end. An error means that the process has already ended.
fn end(child: &mut Child) {
    child.kill().ok();
    child.wait().ok();
}
