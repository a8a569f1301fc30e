//! Presents a run in progress, either in the full-screen view or as status lines.

use super::keys::Prompt;
use super::run_title::RunTitle;
use super::screen::Screen;
use super::snapshot::Snapshot;
use super::status::{self, Status};
use crate::console::Progress;
use crate::results::over_time::OverTime;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) enum Live {
    Lines(Progress),
    /// Lines that begin with the name of a load.
    Named(Progress, String),
    Nowhere,
    /// The full-screen view, and the lines to print after it has closed.
    Screen(Screen, Vec<String>),
}

impl Live {
    /// Opens the full-screen view. If the terminal does not support it, or keys cannot be read, status lines are
    /// printed instead.
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

    pub(crate) fn of_loads(titles: &[(&str, RunTitle)], has_keys: bool) -> Vec<Live> {
        status::introduce_all(&Progress::of_a_job(), titles, has_keys);
        let width = titles.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let names = titles.iter().map(|(name, _)| format!("{name:width$}"));
        names.map(|name| Live::Named(Progress::of_a_job(), name)).collect()
    }

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
            Live::Named(progress, name) if is_time_for_a_line => {
                progress.add_line(format!("{name} {}", Status(snapshot)).trim_end());
            }
            Live::Lines(_) | Live::Named(..) | Live::Nowhere => {}
        }
    }

    #[cfg(feature = "otlp")]
    pub(crate) fn tell(&mut self, text: String) {
        match self {
            Live::Lines(progress) | Live::Named(progress, _) => progress.tell(&text),
            Live::Screen(_, told) => told.push(text),
            Live::Nowhere => {}
        }
    }

    /// Restores the terminal. The last status line remains visible.
    pub(crate) fn end(self) {
        match self {
            Live::Lines(progress) => progress.end(),
            Live::Named(..) | Live::Nowhere => {}
            Live::Screen(screen, told) => {
                drop(screen);
                for text in &told {
                    Progress::of_a_job().add_line(text);
                }
            }
        }
    }
}
