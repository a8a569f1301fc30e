//! Connects a run to its observers (the terminal and programs), and handles the keys that are pressed.

use crate::load::action::Action;
use crate::results::over_time::OverTime;
use crate::shown::keys::Prompt;
use crate::shown::live::Live;
use crate::shown::snapshot::{ObservedState, Snapshot};
use crossterm::event::KeyEvent;
use std::sync::Arc;
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Observers {
    live: Live,
    watch: watch::Sender<ObservedState>,
    prompt: Prompt,
    /// A message for the status line, or the text that is being typed.
    pub(crate) note: String,
}

impl Observers {
    pub(crate) fn new(live: Live, watch: watch::Sender<ObservedState>) -> Observers {
        Observers { live, watch, prompt: Prompt::default(), note: String::new() }
    }

    pub(crate) fn press(&mut self, key: KeyEvent) -> Option<Action> {
        self.prompt.press(key)
    }

    pub(crate) fn typed(&self) -> String {
        self.prompt.line()
    }

    pub(crate) fn show(&self, snapshot: Snapshot, over_time: &OverTime, is_time_for_a_line: bool) {
        let snapshot = Arc::new(snapshot);
        self.live.show(&snapshot, over_time, &self.prompt, is_time_for_a_line);
        self.watch.send_replace(ObservedState::Started(snapshot));
    }

    #[cfg(feature = "otlp")]
    pub(crate) fn tell(&mut self, text: String) {
        self.live.tell(text);
    }

    pub(crate) fn end(self) {
        self.live.end();
    }
}
