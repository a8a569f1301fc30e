//! Shows the figures of the whole fleet on a node.

use super::address::RunAddress;
use crate::console::panics::locked;
use crate::results::nodes::tellings::Tellings;
use crate::shown::pace::Pace;
use nanopace::Shape;
use nanopace_fleet::{Control, FleetError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The interval between two reads of the fleet's figures. Nodes report their results at the same interval.
const LOOK: Duration = Duration::from_secs(1);

/// Reads the figures of the fleet each second, if the last call of [`Overview::text`] asked for them.
#[derive(Debug)]
pub(crate) struct Overview(Arc<Mutex<View>>);

#[derive(Debug, Default)]
struct View {
    is_wanted: bool,
    text: Option<String>,
}

impl Overview {
    pub(crate) fn start(at: &RunAddress) -> Result<Overview, FleetError> {
        let control = Control::open(at.url(), &at.name)?;
        let view = Arc::new(Mutex::new(View::default()));
        let shown = Arc::downgrade(&view);
        let poll = move || {
            let mut tellings = Tellings::default();
            while let Some(view) = shown.upgrade() {
                let is_wanted = locked(&view).is_wanted;
                let text = if is_wanted { read_text(&control, &mut tellings) } else { Ok(None) };
                locked(&view).text = text.unwrap_or_default();
                drop(view);
                thread::sleep(LOOK);
            }
        };
        thread::Builder::new().name("nanopace overview".into()).spawn(poll)?;
        Ok(Overview(view))
    }

    pub(crate) fn text(&self, is_wanted: bool) -> Option<String> {
        let mut view = locked(&self.0);
        view.is_wanted = is_wanted;
        view.text.clone().filter(|_| is_wanted)
    }
}

fn read_text(control: &Control, tellings: &mut Tellings) -> Result<Option<String>, FleetError> {
    let shape = control.status()?.shape.parse::<Shape>().ok();
    tellings.update(&control.results()?);
    let last = tellings.last();
    Ok(last.zip(shape).map(|(last, shape)| Pace::of(&last, &shape).to_string()))
}
