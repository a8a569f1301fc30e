//! Shows a run in progress: the full-screen view, or lines.

use super::keys::Prompt;
use super::run_title::RunTitle;
use super::screen::Screen;
use super::snapshot::Snapshot;
use super::status::{self, Status};
use crate::console::Progress;
use crate::recorded::over_time::OverTime;
use std::sync::Arc;

/// Where a run is shown.
#[derive(Debug)]
pub(crate) enum Live {
    Lines(Progress),
    Nowhere,
    /// With lines to show when it has gone.
    Screen(Screen, Vec<String>),
}

impl Live {
    /// The full-screen view, if it is wanted and keys come from a terminal that can show it.
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

    /// Shows how the run is going.
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

    /// Shows a line that stays: now, or when the full-screen view has gone.
    #[cfg(feature = "otlp")]
    pub(crate) fn tell(&mut self, text: String) {
        match self {
            Live::Lines(progress) => progress.tell(&text),
            Live::Screen(_, told) => told.push(text),
            Live::Nowhere => {}
        }
    }

    /// The last line stays. The full-screen view goes, and the terminal is as it was.
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
