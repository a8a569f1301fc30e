//! Spin until the moment has come.

use super::caller_pause::CallerPause;
use crate::Nanos;

pub(super) fn run(pause: &CallerPause<'_>) -> Nanos {
    loop {
        let now = pause.clock.now();
        if !pause.goes_on(now) {
            return now;
        }
        pause.clock.relax(now, pause.until());
    }
}
