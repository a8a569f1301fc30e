//! Compares intended starts with the files in `docs/vectors` of this crate, which docs/VECTORS.md of the repository
//! describes. The starts must not change between versions. If they have to, report the change in the changelog.

use super::*;
use crate::Rate;
use serde_json::Value;
use std::path::Path;
use std::{env, fs};

const FIRST: usize = 50;

struct Load {
    arrivals: Arrivals,
    shape: Shape,
    shard: Shard,
}

impl Load {
    fn of(fields: &Value) -> Load {
        let text = |name| fields[name].as_str();
        let constant = |rate: &str| Shape::constant(rate.parse::<Rate>().unwrap());
        let arrivals = text("arrivals").unwrap_or("even").parse::<Arrivals>().unwrap();
        Load {
            arrivals: arrivals.with_seed(fields["seed"].as_u64().unwrap_or_default()),
            shape: text("rate").map_or_else(|| text("shape").unwrap().parse().unwrap(), constant),
            shard: text("shard").unwrap_or("1/1").parse().unwrap(),
        }
    }

    fn row(&self, slot: u64) -> String {
        let count = self.arrivals.process().count_of(slot).unwrap();
        format!("[{slot},\"{count:x}\",{}]", self.shape.time_of_count(count))
    }
}

/// The fields `load` and `far` determine the starts of a vector.
fn renewed(vector: &Value) -> String {
    let (load, far) = (Load::of(&vector["load"]), vector["far"].as_array().unwrap());
    let far_locals = far.iter().map(|slot| load.shard.locals_before(slot.as_u64().unwrap()));
    let slots = (0..).take(FIRST).chain(far_locals).map(|local| load.shard.global(local));
    let rows: Vec<_> = slots.map(|slot| load.row(slot)).collect();
    for (row, start) in rows.iter().zip(load.arrivals.starts(load.shape, load.shard)).take(FIRST) {
        assert!(row.ends_with(&format!(",{}]", start.as_nanos())), "{row}: {start:?}");
    }
    let (load, far, rows) = (&vector["load"], &vector["far"], rows.join(",\n"));
    format!("{{\"load\":{load},\"far\":{far},\"starts\":[\n{rows}\n]}}")
}

#[test]
fn starts_are_the_same_for_ever() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/vectors");
    let mut found = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let vectors: Vec<Value> = serde_json::from_str(&text).unwrap();
        found.push(vectors.len());
        let renewed: Vec<_> = vectors.iter().map(renewed).collect();
        let renewed = format!("[\n{}\n]\n", renewed.join(",\n"));
        if env::var_os("NANOPACE_WRITE_VECTORS").is_some() {
            fs::write(&path, &renewed).unwrap();
        } else if let Some((was, is)) =
            text.lines().zip(renewed.lines()).find(|(was, is)| was != is)
        {
            panic!("{}: {was} is now {is}", path.display());
        }
    }
    assert!(found.len() >= 3 && found.iter().sum::<usize>() >= 13, "loads in the files: {found:?}");
}
