//! Spin until the moment has come.

use super::Hold;

pub(super) fn hold<F: Fn() -> bool>(hold: &Hold<'_, F>) {
    while hold.goes_on() {
        hold.clock.relax(hold.until);
    }
}
