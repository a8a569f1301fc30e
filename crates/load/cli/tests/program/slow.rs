//! Tests runs that write their slowest requests, and runs that repeat them.

use crate::running::{file, output, refusal, results};
use crate::server::{Asked, answering};
use serde_json::Value;
use std::fs;
use std::sync::mpsc::Receiver;
use std::sync::{Condvar, Mutex};

/// Starts a server that responds to requests for `/1` to `/3` only after `fast` requests for other paths have arrived.
fn server(fast: u32) -> (String, Receiver<Asked>) {
    let (answered, changed) = (Mutex::new(0), Condvar::new());
    let (address, asked) = answering(move |request| {
        let is_slow = is_slow(request);
        let mut answered = answered.lock().unwrap();
        *answered += u32::from(!is_slow);
        changed.notify_all();
        drop(changed.wait_while(answered, |answered| is_slow && *answered < fast));
        "HTTP/1.1 204 No Content\r\n\r\n".to_owned()
    });
    (format!("http://{address}/{{{{row}}}}?{{{{now-ms}}}}"), asked)
}

fn is_slow(request: &Asked) -> bool {
    ["/1", "/2", "/3"].contains(&request.path().split('?').next().unwrap())
}

#[test]
fn the_slowest_requests_are_written_and_sent_again() {
    let rows: Vec<_> = (0..100).map(|row| row.to_string()).collect();
    let rows = format!("row\n{}", rows.join("\n"));
    let (data, slow) = (file("slow.csv", rows), file("slow.jsonl", ""));
    let load = format!("-n 60 --rate 1k/s -c 4 --threads 1 -t 60s --seed 1 --data {data}");
    // The check of the URL before the run also requests `/0`.
    let first = output(&format!("{} {load} --slowest {slow} --slowest-count 3", server(58).0));
    assert!(first.status.success(), "{first:?}");
    let lines = fs::read_to_string(&slow).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<_> = lines.collect();
    let mut rows: Vec<_> = lines.iter().filter_map(|line| line["row"].as_u64()).collect();
    rows.sort_unstable();
    assert_eq!((&lines[0]["requests"], rows), (&60.into(), vec![2, 3, 4]), "{lines:?}");
    let (url, asked) = server(0);
    let again = results(&format!("{url} {load} --again {slow}"));
    let groups = ["repeated", "slowest", "others"];
    let groups = groups.map(|group| again["again"][group]["requests"].as_u64());
    assert_eq!(groups, [Some(3), Some(3), Some(54)], "{again}");
    assert_eq!(asked.try_iter().filter(is_slow).count(), 6);
    for (changed, told) in [
        (load.replace("--seed 1", "--seed 2"), "write --seed 1"),
        (load.replace("--seed", "--data-order shuffled --seed"), "would send a different request"),
        (load.replace("--seed", "--cookies --seed"), "leave --cookies or --again out"),
    ] {
        let refused = refusal(output(&format!("{url} {changed} --again {slow}")));
        assert!(refused.contains(told), "{refused}");
    }
}
