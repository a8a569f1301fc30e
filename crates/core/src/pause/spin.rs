//! Spin until the moment has come.

use super::hold::Hold;
use crate::Nanos;

pub(super) fn hold(hold: &Hold<'_>) -> Nanos {
    loop {
        let now = hold.clock.now();
        if !hold.goes_on(now) {
            return now;
        }
        hold.clock.relax(now, hold.until());
    }
}
