//! Any text is a rate or an error that says why not; and a rate that is shown is read back as what
//! it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nanopace::Rate;

fuzz_target!(|text: &str| {
    match text.parse::<Rate>() {
        Ok(rate) => {
            let shown = rate.to_string();
            let again: Rate = shown
                .parse()
                .unwrap_or_else(|error| panic!("{rate:?} is shown as {shown}: {error}"));
            // Shown to the precision of an `f64`.
            assert!(
                (again.as_hz() / rate.as_hz() - 1.0).abs() < 1e-15,
                "{rate:?} is shown as {shown}"
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
