//! Shows a run in progress, in the full-screen view or as lines.

use super::keys::Prompt;
use super::run_title::RunTitle;
use super::screen::Screen;
use super::snapshot::Snapshot;
use super::status::{self, Status};
use crate::console::Progress;
use crate::results::over_time::OverTime;
use std::sync::Arc;

/// The kind of display of a run in progress.
#[derive(Debug)]
pub(crate) enum Live {
    Lines(Progress),
    Nowhere,
    /// The full-screen view. The lines are printed after it has closed.
    Screen(Screen, Vec<String>),
}

impl Live {
    /// Opens the full-screen view if it is wanted, the terminal supports it, and keys can be read. Otherwise shows
    /// lines.
    pub(crate) fn new(title: &RunTitle, has_keys: bool, is_screen_wanted: bool) -> Live {
        if has_keys
            && is_screen_wanted
            && let Some(screen) = Screen::open(title.clone())
        {
            return Live::Screen(screen, Vec::new());
        }
        let progress = Progress::of_a_job();
        status::introduce(&progress, title, has_keys);
        Live::Lines(progress)
    }

    /// Shows the current state of the run.
    pub(crate) fn show(
        &self,
        snapshot: &Arc<Snapshot>,
        over_time: &OverTime,
        prompt: &Prompt,
        is_time_for_a_line: bool,
    ) {
        match self {
            Live::Screen(screen, _) => screen.show(snapshot, over_time, prompt),
            Live::Lines(progress) if is_time_for_a_line => progress.show(&Status(snapshot)),
            Live::Lines(_) | Live::Nowhere => {}
        }
    }

    /// Prints a line that stays: at once, or, with the full-screen view, after the view has closed.
    #[cfg(feature = "otlp")]
    pub(crate) fn tell(&mut self, text: String) {
        match self {
            Live::Lines(progress) => progress.tell(&text),
            Live::Screen(_, told) => told.push(text),
            Live::Nowhere => {}
        }
    }

    /// Ends the display. The last line stays on the terminal. The full-screen view closes and restores the terminal.
    pub(crate) fn end(self) {
        match self {
            Live::Lines(progress) => progress.end(),
            Live::Nowhere => {}
            Live::Screen(screen, told) => {
                drop(screen);
                for text in &told {
                    Progress::of_a_job().add_line(text);
                }
            }
        }
    }
}
