//! Sleep until the moment has come.

use super::Hold;
use crate::Nanos;
use crate::sync::Parker;

/// Sleeps once, to `until` or until a change wakes it; the caller looks again.
pub(super) fn hold<F: Fn() -> bool>(hold: &Hold<'_, F>, until: Nanos) {
    let parker = Parker::new();
    if let Some(place) = hold.sleepers.enter(hold.position, parker.unparker(), &hold.is_current) {
        hold.clock.park(&parker, until);
        hold.sleepers.leave(place);
    }
}
