//! Fits the scaling model to what is measured here, checks it on what it was not fitted to, and extrapolates.
//!
//! ```text
//! cargo run --release -p nanopace-benches --bin scaling
//! ```

use nanopace_benches::crew::Work;
use nanopace_benches::machine::Machine;
use nanopace_benches::pacers::rate;
use nanopace_benches::rounds::alternate;
use nanopace_benches::scaling::{HERE, Model};
use nanopace_benches::sweep;
use std::time::Duration;

const SPAN: Duration = Duration::from_millis(80);

/// Slots in a block, and the rate at which 10 us of schedule are so many.
const BLOCKS: [(f64, &str); 3] = [(10.0, "1M/s"), (100.0, "10M/s"), (1000.0, "100M/s")];

/// A model that is further off here says nothing about elsewhere.
const MOST_ERROR: f64 = 0.25;

fn main() {
    println!("{}\n", Machine::here());
    let ([bare, shared], lanes) = (words(), lanes());
    let model = Model::fit(bare, lanes[0], lanes[2][0]);
    println!("{model:.1?}\n\n| M grants/s | cores | measured | model | off |");
    let mut worst = 0.0_f64;
    let mut check = |name: &str, cores: u32, measured: f64, predicted: f64, fitted: bool| {
        let off = predicted / measured - 1.0;
        let note = if fitted { "fitted".to_owned() } else { format!("{:+.0} %", off * 100.0) };
        println!("| {name:>15} | {cores} | {measured:>7.1} | {predicted:>7.1} | {note} |");
        if !fitted {
            worst = worst.max(off.abs());
        }
    };
    for (cores, index) in [(1, 0), (2, 1)] {
        check("bare fetch_add", cores, bare[index], model.shared(cores, HERE), true);
        check("shared acquire", cores, shared[index], model.shared(cores, HERE), false);
        for (block, (slots, _)) in BLOCKS.into_iter().enumerate() {
            let fitted = block == 0 || cores == 1 && block == 2;
            let predicted = model.lanes(cores, slots, HERE);
            check(&format!("blocks of {slots}"), cores, lanes[block][index], predicted, fitted);
        }
    }
    if worst > MOST_ERROR {
        println!("\nThe model is {:.0} % off where it can be checked: it says nothing.", worst * 100.0);
    } else {
        extrapolate(&model);
    }
}

/// Millions per second on 1 and 2 cores: the bare word, the shared acquire.
fn words() -> [[f64; 2]; 2] {
    [sweep::bare, sweep::shared].map(|work| [1, 2].map(|threads| median(|| work(threads, SPAN))))
}

/// Millions per second on 1 and 2 cores, for each size of block.
fn lanes() -> [[f64; 2]; 3] {
    BLOCKS.map(|(_, text)| [1, 2].map(|threads| median(|| sweep::lanes_in_blocks(rate(text), threads, SPAN))))
}

fn median(work: impl Fn() -> Work) -> f64 {
    alternate(7, &mut [&mut || work().per_second() / 1e6])[0].median()
}

fn extrapolate(model: &Model) {
    println!("\nM grants/s; near: lines travel as far as here; far: three times as far\n");
    println!("| cores | shared, near | far | lanes of 2048, near | far | lanes of 100, near | far |");
    for cores in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
        let row = [1.0, 3.0].map(|distance| model.shared(cores, distance));
        let large = [1.0, 3.0].map(|distance| model.lanes(cores, 2048.0, distance));
        let small = [1.0, 3.0].map(|distance| model.lanes(cores, 100.0, distance));
        println!(
            "| {cores:>3} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} |",
            row[0], row[1], large[0], large[1], small[0], small[1]
        );
    }
    println!(
        "\nMore lanes bring nothing beyond {:.0} cores (near), {:.0} (far).",
        model.knee(2048.0, 1.0),
        model.knee(2048.0, 3.0)
    );
}
