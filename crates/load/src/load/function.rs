//! A function is a target.

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

    /// That of the function, or `closure`.
    fn name(&self) -> String {
        short_name::<F>().trim_matches(['{', '}']).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::builder::Load;

    fn odd(slot: Slot) -> Result<Done, Failure> {
        if slot.number() % 2 == 1 { Ok(Done::new()) } else { Err(Failure::new("even")) }
    }

    #[test]
    fn a_function_is_called_for_each_slot() {
        let load = Load::new("1k/s".parse().unwrap()).sessions(2).requests(100);
        let report = load.run_blocking(odd).unwrap();
        assert_eq!((report.completed(), report.failed()), (50, 50));
    }

    #[test]
    fn a_closure_has_no_name() {
        assert_eq!(BlockingTarget::name(&odd), "odd");
        assert_eq!(BlockingTarget::name(&|slot: Slot| odd(slot)), "closure");
    }
}
