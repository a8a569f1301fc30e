//! Provides a number for the current thread.

/// Returns a number that no other living thread has, and that is neither 0 nor the largest number.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[inline]
pub(crate) fn id() -> usize {
    let id;
    // SAFETY: the instruction reads the thread's own pointer, which the system keeps at `fs:0`, and writes nothing.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) id, options(nostack, readonly, preserves_flags));
    }
    id
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[inline]
pub(crate) fn id() -> usize {
    thread_local! {
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_thread_has_its_own() {
        let barrier = std::sync::Barrier::new(8);
        let own = || {
            let id = super::id();
            barrier.wait(); // all threads live until here
            assert_eq!(id, super::id());
            id
        };
        let mut ids: Vec<usize> = std::thread::scope(|scope| {
            let threads = [(); 8].map(|()| scope.spawn(own));
            threads.map(|thread| thread.join().expect("no panic")).into()
        });
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 8);
        assert!(!ids.contains(&0) && !ids.contains(&usize::MAX));
    }
}
