//! Sets up a target before its load, and tears it down afterwards.

use super::workers::any_backend::AnyBackend;
use super::workers::guarded::panicked;
use crate::console::Progress;
use crate::console::Unreachable;
use crate::load::target::Failure;
use std::sync::Arc;
use std::{io, thread};
use tokio::runtime::Builder;

/// A target that was set up. Dropping this value tears the target down.
pub(crate) struct Prepared(Option<Arc<dyn AnyBackend>>);

impl Prepared {
    pub(crate) fn new(target: &Arc<dyn AnyBackend>) -> anyhow::Result<Prepared> {
        let set_up = on_own_thread(|| target.set_up_boxed())?;
        let told = |failure: Failure| {
            Unreachable(format!("the setup of {} failed: {}", target.name(), failure.kind))
        };
        set_up.map_err(told)?;
        Ok(Prepared(Some(Arc::clone(target))))
    }

    pub(crate) fn tear_down(&mut self) -> Option<String> {
        let target = self.0.take()?;
        let why = match on_own_thread(|| target.tear_down_boxed()) {
            Ok(Ok(())) => return None,
            Ok(Err(failure)) => failure.kind.to_string(),
            Err(error) => error.to_string(),
        };
        Some(format!("the teardown of {} failed: {why}", target.name()))
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(warning) = self.tear_down() {
            Progress::of_a_job().add_line(&format!("warning: {warning}"));
        }
    }
}

/// Runs a call in a runtime on a new thread, which the call may block.
fn on_own_thread<'a, F>(call: impl FnOnce() -> F + Send) -> io::Result<Result<(), Failure>>
where
    F: Future<Output = Result<(), Failure>> + Send + 'a,
{
    let runtime = Builder::new_current_thread().enable_all().build()?;
    thread::scope(|scope| {
        let called = thread::Builder::new().name("setup".to_owned());
        let called = called.spawn_scoped(scope, || runtime.block_on(call()))?;
        Ok(called.join().unwrap_or_else(|payload| Err(panicked(&*payload))))
    })
}

#[cfg(test)]
mod tests {
    use crate::front::builder::{Load, LoadError};
    use crate::front::report::Report;
    use crate::load::blocking::BlockingTarget;
    use crate::load::target::{Done, Failure, Slot, Target};
    use std::sync::{Arc, Mutex};

    #[derive(Clone)]
    struct Notes {
        calls: Arc<Mutex<Vec<&'static str>>>,
        wrong: &'static str,
    }

    impl Notes {
        fn note(&self, name: &'static str) -> Result<(), Failure> {
            self.calls.lock().unwrap().push(name);
            if name == self.wrong { Err(Failure::new("on purpose").broken()) } else { Ok(()) }
        }

        fn end(&self, session: Option<()>) -> Result<(), Failure> {
            self.note(if session.is_some() { "close" } else { "teardown" })
        }
    }

    impl Target for Notes {
        type Session = ();

        async fn connect(&self, _index: usize) -> Result<(), Failure> {
            self.note("connect")
        }

        async fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
            self.note("call").map(|()| Done::new())
        }

        async fn setup(&self) -> Result<(), Failure> {
            self.note("setup")
        }

        async fn teardown(&self, session: Option<()>) -> Result<(), Failure> {
            self.end(session)
        }
    }

    struct Blocks(Notes);

    impl BlockingTarget for Blocks {
        type Session = ();

        fn connect(&self, _index: usize) -> Result<(), Failure> {
            self.0.note("connect")
        }

        fn call(&self, _session: &mut (), _slot: Slot) -> Result<Done, Failure> {
            self.0.note("call").map(|()| Done::new())
        }

        fn setup(&self) -> Result<(), Failure> {
            self.0.note("setup")
        }

        fn teardown(&self, session: Option<()>) -> Result<(), Failure> {
            self.0.end(session)
        }
    }

    fn ran(blocks: bool, wrong: &'static str) -> (Result<Report, LoadError>, Vec<&'static str>) {
        let notes = Notes { calls: Arc::default(), wrong };
        let load = Load::new("1k/s".parse().unwrap()).sessions(1).threads(1).requests(3);
        let report = if blocks {
            load.run_blocking(Blocks(notes.clone()))
        } else {
            load.run_blocking(notes.clone())
        };
        let calls = notes.calls.lock().unwrap().clone();
        (report, calls)
    }

    #[test]
    fn a_load_is_between_setup_and_teardown_and_calls_between_connect_and_close() {
        let calls = [
            ["setup", "connect", "close"].as_slice(),
            &["connect", "call", "call", "call", "close", "teardown"],
        ];
        for blocks in [false, true] {
            let (report, called) = ran(blocks, "");
            assert_eq!((report.unwrap().completed(), called), (3, calls.concat()));
        }
    }

    #[test]
    fn a_broken_session_is_not_closed() {
        for blocks in [false, true] {
            let (report, called) = ran(blocks, "call");
            assert_eq!(report.unwrap().failed(), 3);
            let count = |name| called.iter().filter(|call| **call == name).count();
            assert_eq!(["connect", "close", "teardown"].map(count), [4, 1, 1], "{called:?}");
        }
    }

    #[test]
    fn what_was_set_up_is_torn_down_and_nothing_else() {
        let (report, calls) = ran(false, "setup");
        let error = report.unwrap_err().to_string();
        assert_eq!(error, "the setup of Notes failed: on purpose");
        assert_eq!(calls, ["setup"]);
        let (report, calls) = ran(false, "connect");
        assert_eq!(report.unwrap_err().to_string(), "no response from Notes: on purpose");
        assert_eq!(calls, ["setup", "connect", "teardown"]);
    }

    #[test]
    fn a_teardown_that_fails_is_a_warning() {
        let (report, _) = ran(false, "teardown");
        let json = report.unwrap().to_json();
        assert!(json.contains("the teardown of Notes failed: on purpose"), "{json}");
    }
}
