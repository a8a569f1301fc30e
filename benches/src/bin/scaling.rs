//! Fits the scaling model to measurements on this machine, checks the model against further measurements, and
//! extrapolates to more cores if the model fits those measurements.
//!
//! ```text
//! cargo run --release -p nanopace-benches --bin scaling
//! ```

use nanopace_benches::crew::Work;
use nanopace_benches::machine::{Machine, Others};
use nanopace_benches::rounds::alternate;
use nanopace_benches::scaling::{HERE, Model, Runs};
use nanopace_benches::sweep;
use std::iter;
use std::time::Duration;

const SPAN: Duration = Duration::from_millis(80);
const ROUNDS: usize = 15;

/// The factors by which the clock runs too fast on 1 and 2 cores, for runs of about 30, 100 and 1000 slots. Runs of
/// fewer slots would vary in length.
const FACTORS: [[u32; 2]; 3] = [[60, 45], [40, 32], [7, 7]];

const MOST_ERROR: f64 = 0.25;

/// The assumed duration of an operation, in nanoseconds.
const OPERATION: f64 = 100.0;

/// Throughputs are in millions per second.
struct Measured {
    bare: [f64; 2],
    shared: [f64; 2],
    lanes: [[Runs; 2]; 3],
}

struct Row {
    name: String,
    cores: u32,
    measured: f64,
    predicted: f64,
    is_fitted: bool,
}

fn main() {
    println!("{}\n", Machine::here());
    let others = Others::new();
    let measured = Measured::here();
    let [one, two] = measured.bare;
    println!("A bare fetch_add: {one:.0} M/s on 1 core, {two:.0} on 2.");
    println!("Other programs used {:.1} % of the CPU time.\n", others.share() * 100.0);
    let model = Model::fit(measured.shared, measured.lanes[0], measured.lanes[2][0]);
    println!("{model:.1?}\n");
    let worst = most_off(&measured.beside(&model));
    if worst > MOST_ERROR {
        println!(
            "\nThe model is {:.0} % off on this machine and is not extrapolated.",
            worst * 100.0
        );
    } else {
        extrapolate(&model);
    }
}

fn most_off(rows: &[Row]) -> f64 {
    println!("| M grants/s | cores | measured | model | off |");
    rows.iter().for_each(Row::print);
    rows.iter().filter(|row| !row.is_fitted).map(|row| row.off().abs()).fold(0.0, f64::max)
}

impl Measured {
    fn here() -> Measured {
        let lanes = FACTORS.map(|[one, two]| [in_runs(one, 1), in_runs(two, 2)]);
        Measured { bare: on_word(sweep::bare), shared: on_word(sweep::shared), lanes }
    }

    fn beside(&self, model: &Model) -> Vec<Row> {
        [1, 2].into_iter().flat_map(|cores| self.beside_on(cores, model)).collect()
    }

    fn beside_on(&self, cores: u32, model: &Model) -> Vec<Row> {
        let index = cores as usize - 1;
        let (name, measured) = ("shared acquire".to_owned(), self.shared[index]);
        let shared =
            Row { name, cores, measured, predicted: model.shared(cores, HERE), is_fitted: true };
        let lanes = self.lanes.iter().enumerate().map(|(length, runs)| {
            let Runs { slots, mega: measured } = runs[index];
            let (name, predicted) =
                (format!("runs of {slots:.0}"), model.lanes(cores, slots, HERE));
            Row {
                name,
                cores,
                measured,
                predicted,
                is_fitted: length == 0 || cores == 1 && length == 2,
            }
        });
        iter::once(shared).chain(lanes).collect()
    }
}

fn on_word(work: fn(usize, Duration) -> Work) -> [f64; 2] {
    [1, 2].map(|threads| {
        alternate(ROUNDS, &mut [&mut || work(threads, SPAN).per_second() / 1e6])[0].median()
    })
}

/// Returns the throughput and the length of the runs from the round with the median throughput. Both come from the same
/// round, because the throughput grows with the length of the runs.
fn in_runs(factor: u32, threads: usize) -> Runs {
    let mut rounds: Vec<Runs> =
        (0..ROUNDS).map(|_| sweep::lanes_in_runs(factor, threads, SPAN)).collect();
    rounds.sort_by(|left, right| left.mega.total_cmp(&right.mega));
    rounds[ROUNDS / 2]
}

impl Row {
    fn off(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    fn print(&self) {
        let Row { name, cores, measured, predicted, is_fitted } = self;
        let note =
            if *is_fitted { "fitted".to_owned() } else { format!("{:+.0} %", self.off() * 100.0) };
        println!("| {name:>15} | {cores} | {measured:>7.1} | {predicted:>7.1} | {note} |");
    }
}

/// Assumed distances between cores, as multiples of the distance between this machine's cores.
const NEAR_AND_FAR: [f64; 2] = [1.0, 3.0];

fn extrapolate(model: &Model) {
    println!(
        "\nM grants/s, and slots in a run. Near: cores are as far apart as here; far: three times as far\n"
    );
    println!(
        "| cores | shared, near | far | lanes, near | far | with operations of {OPERATION} ns, near | far |"
    );
    let working = model.with_operations(OPERATION);
    for cores in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
        let [near, far] = NEAR_AND_FAR.map(|distance| model.shared(cores, distance));
        let [idle, idle_far] = NEAR_AND_FAR.map(|distance| settled(model, cores, distance));
        let [busy, busy_far] = NEAR_AND_FAR.map(|distance| settled(&working, cores, distance));
        println!(
            "| {cores:>3} | {near:.0} | {far:.0} | {idle} | {idle_far} | {busy} | {busy_far} |"
        );
    }
    let knees = NEAR_AND_FAR.map(|distance| model.knee(2048.0, distance));
    println!(
        "\nMore lanes do not raise the throughput beyond {:.0} cores (near), {:.0} (far).",
        knees[0], knees[1]
    );
    let crowds = NEAR_AND_FAR.map(|distance| model.crowd(distance));
    println!(
        "Runs shrink to single slots beyond {:.0} cores (near), {:.0} (far).",
        crowds[0], crowds[1]
    );
}

fn settled(model: &Model, cores: u32, distance: f64) -> String {
    let slots = model.slots(cores, distance);
    format!("{:.0} ({slots:.0})", model.lanes(cores, slots, distance))
}
