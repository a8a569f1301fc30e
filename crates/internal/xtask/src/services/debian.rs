//! Unpacks Debian packages without installing them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) fn unpack(packages: &[&str], folder: &Path) -> Result<(), String> {
    let work = folder.join("work");
    let result = Apt::new(&work).map_err(told).and_then(|apt| {
        apt.update()?;
        // Packages that are missing in the release may be in its backports.
        apt.download(packages).or_else(|_| {
            apt.add_backports()?;
            apt.download(packages)
        })?;
        apt.archives()?
            .iter()
            .try_for_each(|archive| run(Command::new("dpkg").arg("-x").arg(archive).arg(folder)))
    });
    fs::remove_dir_all(&work).ok();
    result
}

struct Apt<'f> {
    work: &'f Path,
}

impl Apt<'_> {
    fn new(work: &Path) -> io::Result<Apt<'_>> {
        for folder in ["sources", "lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(work.join(folder))?;
        }
        if let Ok(sources) = fs::read_dir("/etc/apt/sources.list.d") {
            for source in sources {
                let source = source?;
                fs::copy(source.path(), work.join("sources").join(source.file_name()))?;
            }
        }
        Ok(Apt { work })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("apt-get");
        for (name, folder) in
            [("Etc::SourceParts", "sources"), ("State::Lists", "lists"), ("Cache", "cache")]
        {
            command.arg("-o").arg(format!("Dir::{name}={}", self.work.join(folder).display()));
        }
        // The system does not change, so `apt-get` needs neither a lock nor a different user.
        command.args(["-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User="]);
        command.args(["--quiet", "--yes", "--no-install-recommends"]).args(words);
        command
    }

    fn update(&self) -> Result<(), String> {
        run(&mut self.command(&["update"]))
    }

    fn download(&self, packages: &[&str]) -> Result<(), String> {
        run(self.command(&["install", "--download-only", "--reinstall"]).args(packages))
    }

    fn add_backports(&self) -> Result<(), String> {
        let format = "--format=$(ORIGIN) $(COMPONENT) $(REPO_URI) $(CODENAME)";
        let output = self.command(&["indextargets", format, "Created-By: Packages"]).output();
        let text = String::from_utf8(output.map_err(told)?.stdout).map_err(told)?;
        // The names of other suites, such as the updates, are the release's name with a hyphen and another word.
        let is_release =
            |line: &&str| line.rsplit(' ').next().is_some_and(|name| !name.contains('-'));
        let mut releases = text.lines().filter_map(|line| line.strip_prefix("Debian main "));
        let release = releases.find(is_release).ok_or("apt-get lists no Debian release")?;
        let line = format!("deb {release}-backports main\n");
        fs::write(self.work.join("sources/backports.list"), line).map_err(told)?;
        self.update()
    }

    fn archives(&self) -> Result<Vec<PathBuf>, String> {
        let files = fs::read_dir(self.work.join("cache/archives")).map_err(told)?;
        let paths = files.map(|file| Ok(file.map_err(told)?.path()));
        let paths = paths.filter(|path| !path.as_ref().is_ok_and(|path| path.is_dir()));
        paths.collect()
    }
}

/// On failure, returns the command's first line of standard error that begins with `E:`.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text
        .lines()
        .find(|line| line.starts_with("E:"))
        .unwrap_or("the command failed without a message");
    Err(format!("{program}: {line}"))
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
fn told(error: impl ToString) -> String {
    error.to_string()
}
