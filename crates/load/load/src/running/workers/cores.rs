//! Pins threads to cores.

pub(crate) use system::{Core, allowed, pin};

#[cfg(target_os = "linux")]
mod system {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    pub(crate) type Core = usize;

    /// Returns the cores that the calling thread may use. The list is empty if the system does not report them.
    pub(crate) fn allowed() -> Vec<Core> {
        let allowed = sched_getaffinity(None).unwrap_or_default();
        (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect()
    }

    /// Pins the calling thread to a core. If pinning fails, starts may be less even, but the results stay valid.
    pub(crate) fn pin(core: Core) {
        let mut cores = CpuSet::new();
        cores.set(core);
        let _ = sched_setaffinity(None, &cores);
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::thread;

        #[test]
        fn a_pinned_thread_has_one_core() {
            for core in allowed() {
                let pinned = thread::spawn(move || {
                    pin(core);
                    allowed()
                });
                assert_eq!(pinned.join().unwrap(), [core]);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(crate) use core_affinity::CoreId as Core;

    pub(crate) fn allowed() -> Vec<Core> {
        core_affinity::get_core_ids().unwrap_or_default()
    }

    pub(crate) fn pin(core: Core) {
        core_affinity::set_for_current(core);
    }
}
