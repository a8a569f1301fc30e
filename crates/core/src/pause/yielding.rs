//! Let others run until the moment has come.

use super::Hold;
use crate::sync::yield_now;

pub(super) fn hold<F: Fn() -> bool>(hold: &Hold<'_, F>) {
    while hold.goes_on() {
        yield_now();
        hold.clock.relax(hold.until);
    }
}
