//! Recognises system errors that mean that the generator's machine ran out of a resource. The target did not report
//! these errors, so they form a separate group of failures.

use super::kind::FailureKind;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::iter;

pub(crate) const GENERATOR: &str = "generator";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortage {
    OpenFiles,
    OpenFilesOfSystem,
    Ports,
    Buffers,
    Memory,
    /// The limit of files that a user's epoll instances may watch.
    Watches,
    Queue,
}

use Shortage::{Buffers, Memory, OpenFiles, OpenFilesOfSystem, Ports, Queue, Watches};

const ALL: [Shortage; 7] = [OpenFiles, OpenFilesOfSystem, Ports, Buffers, Memory, Watches, Queue];

impl Shortage {
    #[must_use]
    pub(crate) fn of(error: &io::Error) -> Option<Shortage> {
        let code = error.raw_os_error()?;
        ALL.into_iter().find(|it| *it != Queue && it.codes().contains(&code))
    }

    /// Returns the shortage that caused an attempt to connect to fail. EAGAIN means a shortage only for such an
    /// attempt.
    #[must_use]
    pub(crate) fn of_connecting(error: &io::Error) -> Option<Shortage> {
        let is_queue = error.raw_os_error().is_some_and(|code| Queue.codes().contains(&code));
        Shortage::of(error).or_else(|| is_queue.then_some(Queue))
    }

    pub(crate) fn cause_of(error: &impl Error) -> Option<Shortage> {
        let causes = iter::successors(error.source(), |&error| error.source());
        let causes = causes.filter_map(|error| Shortage::of(error.downcast_ref()?));
        of_text(&error.to_string()).or_else(|| { causes }.next())
    }

    /// Returns the shortage that caused failures of this kind. The kind of a scenario step's failure begins with the
    /// step's label, so only the end of the kind is compared.
    #[must_use]
    pub(crate) fn of_kind(kind: FailureKind) -> Option<Shortage> {
        let text = kind.to_string();
        let is_own = kind.group() == GENERATOR;
        ALL.into_iter().find(|it| is_own && text.ends_with(&it.to_string()))
    }

    #[must_use]
    pub(crate) fn kind(self) -> FailureKind {
        FailureKind::of_group(GENERATOR, &self.to_string())
    }

    #[must_use]
    pub(crate) fn advice(self) -> &'static str {
        match self {
            OpenFiles => "raise the limit of open files (ulimit -n), or use fewer connections",
            OpenFilesOfSystem => {
                "raise the limit of open files (sysctl fs.file-max), or use fewer connections"
            }
            Ports => {
                "keep connections open, or widen the port range (sysctl net.ipv4.ip_local_port_range)"
            }
            Buffers => {
                "raise net.ipv4.tcp_mem and net.core.wmem_max (sysctl), or use fewer connections"
            }
            Memory => "give the generator more memory, or use fewer connections",
            Watches => "raise fs.epoll.max_user_watches (sysctl), or use fewer connections",
            Queue => {
                "raise the server's listen backlog and net.core.somaxconn, or use fewer connections"
            }
        }
    }

    /// Returns the name of the shortage and its message. They are the same on all systems, because failures are
    /// compared by text.
    fn words(self) -> [&'static str; 2] {
        match self {
            OpenFiles => ["EMFILE", "too many open files"],
            OpenFilesOfSystem => ["ENFILE", "too many open files in system"],
            Ports => ["EADDRNOTAVAIL", "cannot assign requested address"],
            Buffers => ["ENOBUFS", "no buffer space available"],
            Memory => ["ENOMEM", "cannot allocate memory"],
            Watches => ["ENOSPC", "no space left on device"],
            Queue => ["EAGAIN", "resource temporarily unavailable"],
        }
    }

    #[cfg(unix)]
    fn codes(self) -> [i32; 2] {
        use rustix::io::Errno;
        let codes = match self {
            OpenFiles => [Errno::MFILE; 2],
            OpenFilesOfSystem => [Errno::NFILE; 2],
            // Some systems report "in use" if no port is left.
            Ports => [Errno::ADDRNOTAVAIL, Errno::ADDRINUSE],
            Buffers => [Errno::NOBUFS; 2],
            Memory => [Errno::NOMEM; 2],
            Watches => [Errno::NOSPC; 2],
            Queue => [Errno::AGAIN; 2],
        };
        codes.map(Errno::raw_os_error)
    }

    /// Returns error codes of Winsock and, for a lack of memory, of Windows. The code 0 matches no error.
    #[cfg(not(unix))]
    fn codes(self) -> [i32; 2] {
        match self {
            OpenFiles => [10_024; 2],
            Ports => [10_049, 10_048],
            Buffers => [10_055; 2],
            Memory => [8; 2],
            OpenFilesOfSystem | Watches | Queue => [0; 2],
        }
    }
}

fn of_text(text: &str) -> Option<Shortage> {
    let code = text.rsplit_once("(os error ")?.1.strip_suffix(')')?.parse().ok()?;
    let error = io::Error::from_raw_os_error(code);
    Shortage::of(&error).filter(|_| error.to_string() == text)
}

impl Display for Shortage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [name, words] = self.words();
        write!(f, "{words} ({name})")
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use rustix::io::Errno;

    fn error(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    #[test]
    fn advice_fits_into_a_line_of_the_report() {
        for shortage in ALL {
            assert!(shortage.advice().len() <= 90, "{shortage}");
        }
    }

    #[derive(Debug)]
    struct Caused(io::Error);

    impl Display for Caused {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            f.write_str("the pool has no connection")
        }
    }

    impl Error for Caused {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_shortage_has_the_systems_name_and_message() {
        for (errno, told) in [
            (Errno::MFILE, "too many open files (EMFILE)"),
            (Errno::NFILE, "too many open files in system (ENFILE)"),
            (Errno::ADDRNOTAVAIL, "cannot assign requested address (EADDRNOTAVAIL)"),
            (Errno::ADDRINUSE, "cannot assign requested address (EADDRNOTAVAIL)"),
            (Errno::NOBUFS, "no buffer space available (ENOBUFS)"),
            (Errno::NOMEM, "cannot allocate memory (ENOMEM)"),
            (Errno::NOSPC, "no space left on device (ENOSPC)"),
        ] {
            let shortage = Shortage::of(&error(errno)).unwrap();
            assert_eq!(Shortage::of_connecting(&error(errno)), Some(shortage));
            assert_eq!((shortage.kind().group(), shortage.to_string().as_str()), (GENERATOR, told));
            assert_eq!(Shortage::of_kind(shortage.kind()), Some(shortage));
            let step = FailureKind::of_group(GENERATOR, &format!("log in: {shortage}"));
            assert_eq!(Shortage::of_kind(step), Some(shortage));
        }
        for errno in [Errno::CONNREFUSED, Errno::CONNRESET, Errno::TIMEDOUT, Errno::NETUNREACH] {
            assert_eq!(Shortage::of_connecting(&error(errno)), None);
        }
        assert_eq!(
            Shortage::of_kind(FailureKind::new("the server has too many open files (EMFILE)")),
            None
        );
    }

    #[test]
    fn only_connecting_reports_a_full_queue() {
        let again = error(Errno::AGAIN);
        assert_eq!((Shortage::of(&again), Shortage::cause_of(&again)), (None, None));
        assert_eq!(Shortage::of_connecting(&again), Some(Queue));
    }

    #[test]
    fn errors_of_any_type_are_recognised_by_their_cause() {
        let lacks = || error(Errno::MFILE);
        assert_eq!(Shortage::cause_of(&lacks()), Some(OpenFiles));
        assert_eq!(Shortage::cause_of(&Caused(lacks())), Some(OpenFiles));
        assert_eq!(Shortage::cause_of(&Caused(error(Errno::CONNREFUSED))), None);
        // A server can report its own shortage in these words, so the words alone do not mean a shortage of the
        // generator.
        let told = io::Error::other(format!("the server says: {}", lacks()));
        assert_eq!(Shortage::cause_of(&told), None);
    }
}
