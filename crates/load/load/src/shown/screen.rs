//! Presents a run in a full-screen view.
//!
//! The controller sends pictures to a separate thread, which draws them, so that a slow terminal does not block the
//! controller. If a picture is still waiting to be drawn, the next one is dropped. The controller sends another one
//! within a quarter of a second.

mod breakdown;
mod figures;
mod footer;
mod grid;
mod layout;
mod outcomes;
mod picture;
mod rate_chart;
mod spread;
#[cfg(test)]
mod tests;
mod times;
mod view;

use super::keys::Prompt;
use super::run_title::RunTitle;
use super::snapshot::Snapshot;
use crate::console::{alternate, panics};
use crate::results::over_time::OverTime;
use crossterm::terminal;
use grid::Grid;
use picture::{Picture, Span};
use std::env;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// If no new picture arrives for this time, the last one is drawn again, because the terminal may have been resized.
const IDLE: Duration = Duration::from_millis(500);

/// Each `ROUND`th picture is drawn completely, which overwrites the output of other programs.
const ROUND: u32 = 20;

/// The full-screen view. When it is dropped, it restores the terminal.
#[derive(Debug)]
pub(crate) struct Screen {
    title: Arc<RunTitle>,
    /// The channel to the drawing thread. It is set to `None` to end the thread.
    pictures: Option<SyncSender<Picture>>,
    drawing: Option<JoinHandle<()>>,
}

impl Screen {
    /// Opens the view. Returns `None` if the terminal has no size or cannot move its cursor, or if the thread cannot be
    /// started.
    pub(crate) fn open(title: RunTitle) -> Option<Screen> {
        if env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb") {
            return None;
        }
        let canvas = Canvas::new()?;
        let title = Arc::new(title);
        let (pictures, drawn) = mpsc::sync_channel(1);
        let first = Picture::opening(&title);
        panics::hook();
        alternate::enter();
        let drawing = thread::Builder::new().name("screen".to_owned());
        let drawing = drawing.spawn(move || canvas.draw_all(&drawn, first)).ok();
        let screen = Screen { title, pictures: Some(pictures), drawing };
        screen.drawing.is_some().then_some(screen)
    }

    pub(crate) fn show(&self, snapshot: &Arc<Snapshot>, over_time: &OverTime, prompt: &Prompt) {
        if let Some(pictures) = &self.pictures {
            // Sending fails if the channel is full, because the terminal is slow, or closed, because drawing has
            // failed.
            let _ = pictures.try_send(Picture {
                title: Arc::clone(&self.title),
                snapshot: Some(Arc::clone(snapshot)),
                course: Span::all(over_time),
                prompt: prompt.clone(),
            });
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.pictures = None;
        let _ = self.drawing.take().map(JoinHandle::join);
        alternate::leave();
    }
}

/// The drawing on the alternate screen. Each picture is drawn with a single write.
struct Canvas {
    drawn: Option<Grid>,
    /// The turn of the alternate screen at the last picture, and the number of pictures modulo [`ROUND`].
    turn: (u32, u32),
}

impl Canvas {
    fn new() -> Option<Canvas> {
        let is_visible = terminal::size().is_ok_and(|(width, height)| width > 0 && height > 0);
        is_visible.then_some(Canvas { drawn: None, turn: (0, 0) })
    }

    fn draw_all(mut self, pictures: &Receiver<Picture>, first: Picture) {
        give_way();
        let mut picture = first;
        loop {
            if let Some(turn) = alternate::turn() {
                let _ = self.draw(&picture, turn);
            }
            picture = match pictures.recv_timeout(IDLE) {
                Ok(next) => next,
                Err(RecvTimeoutError::Timeout) => picture,
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
    }

    fn draw(&mut self, picture: &Picture, turn: u32) -> io::Result<()> {
        let next = (self.turn.1 + 1) % ROUND;
        if self.turn.0 != turn || next == 0 {
            self.drawn = None;
        }
        self.turn = (turn, next);
        let mut grid = Grid::new(terminal::size()?);
        view::draw(&mut grid, picture);
        let mut bytes = Vec::new();
        grid.write(self.drawn.as_ref(), &mut bytes)?;
        self.drawn = Some(grid);
        alternate::write(turn, &bytes);
        Ok(())
    }
}

/// Lowers the priority of this thread, so that the load threads run before it. On Linux, each thread has its own
/// priority.
fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 19);
}
