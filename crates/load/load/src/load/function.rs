//! Implements targets for functions and closures.

use super::about::About;
use super::blocking::BlockingTarget;
use super::target::{Done, Failure, Slot, short_name};

impl<F> BlockingTarget for F
where
    F: Fn(Slot) -> Result<Done, Failure> + Send + Sync + 'static,
{
    type Session = ();

    fn connect(&self, _index: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn call(&self, _session: &mut (), slot: Slot) -> Result<Done, Failure> {
        self(slot)
    }

    fn about(&self) -> About<'_> {
        About::new().name(short_name::<F>().trim_matches(['{', '}']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(slot: Slot) -> Result<Done, Failure> {
        if slot.number().is_multiple_of(2) { Ok(Done::new()) } else { Err(Failure::new("odd")) }
    }

    #[test]
    fn a_function_is_called_for_its_slot() {
        let odd = Slot { number: 1, ..Slot::ALONE };
        let calls = [Slot::ALONE, odd].map(|slot| BlockingTarget::call(&even, &mut (), slot));
        assert_eq!(calls.map(|called| called.is_ok()), [true, false]);
    }

    #[test]
    fn a_closure_has_no_name() {
        let name = |about: About<'_>| about.name.unwrap();
        assert_eq!(name(BlockingTarget::about(&even)), "even");
        assert_eq!(name(BlockingTarget::about(&|slot: Slot| even(slot))), "closure");
    }
}
