//! Tests fleets of one to four nodes in the test's own process, with real servers.

use nanopace::Grant;
use nanopace_fleet::{Control, Fleet, FleetError, Node, Waits};
use nanopace_services::{NewConnections, Product, Proxy, Server, watched};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Frames are long in these tests. A node that stalls for longer than a frame may be too late for its slots, which are
/// then lost or started twice.
const FRAME: Duration = Duration::from_millis(100);

fn fleet(url: &str, name: &str) -> Fleet {
    Fleet::new(url, name).unwrap().frame(FRAME)
}

fn drain(node: &Node) -> Vec<Grant> {
    std::iter::from_fn(|| node.pacer().acquire().ok()).collect()
}

fn starts_of(server: &Server, shape: &str, nodes: u32) -> Vec<Grant> {
    let start = || {
        let fleet = fleet(&server.url(), "test").shape(shape.parse().unwrap());
        let node = fleet.nodes(nodes).unwrap().join().unwrap();
        let starts = drain(&node);
        node.finish(vec![7]).unwrap();
        starts
    };
    thread::scope(|scope| {
        let nodes: Vec<_> = (0..nodes).map(|_| scope.spawn(start)).collect();
        nodes.into_iter().flat_map(|node| node.join().unwrap()).collect()
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn nodes_share_a_load() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let (mut starts, machine) = watched(|| starts_of(&server, "hold 10k/s 1s", 4));
        starts.sort_unstable_by_key(|start| start.intended_start());
        let control = Control::open(&server.url(), "test").unwrap();
        let account = control.account().unwrap();
        println!("{account:#?} {:?}", control.status());
        assert!(account.closes());
        assert_eq!((account.expected, account.span), (10_000, Duration::from_secs(1)));
        assert_eq!(starts.len() as u64, account.started());
        assert!(account.is_exact() || machine.stalled > FRAME, "{account:?}");
        let moments: Vec<_> = starts.iter().map(|start| start.intended_start()).collect();
        for gap in moments.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos()) {
            let slots = (gap + 2) / 100_000;
            assert!(slots == 1 || !account.is_exact(), "{gap} ns");
            assert!(gap.abs_diff(slots * 100_000) <= 2, "{gap} ns");
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_last_report_of_a_node_that_is_dropped_is_kept() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let node = fleet(&server.url(), "told").rate("1k/s".parse().unwrap()).join().unwrap();
        let control = Control::open(&server.url(), "told").unwrap();
        assert_eq!(control.results().unwrap(), []);
        let told = |is_final| {
            let results = control.results().unwrap();
            let told = results.iter().map(|of| (of.number, &of.bytes[..], of.is_final));
            told.eq([(1, &b"second"[..], is_final)])
        };
        node.tell(b"first".to_vec());
        node.tell(b"second".to_vec());
        let began = Instant::now();
        while !told(false) {
            assert!(began.elapsed() < Duration::from_secs(60), "{:?}", control.results());
            thread::sleep(Duration::from_millis(10));
        }
        drop(node);
        assert!(told(true));
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_second_run_of_the_same_name_is_independent_of_the_first() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        for (nodes, slots) in [(2, 300), (1, 500)] {
            let shape = format!("hold {slots}/s 1s");
            let (starts, machine) = watched(|| starts_of(&server, &shape, nodes));
            let account = Control::open(&server.url(), "test").unwrap().account().unwrap();
            assert!(account.closes(), "{account:?}");
            assert_eq!((starts.len() as u64, slots), (account.started(), account.expected));
            assert!(account.is_exact() || machine.stalled > FRAME, "{account:?}");
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn no_slot_is_expected_after_all_nodes_have_left() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let nodes: Vec<_> = (0..2)
            .map(|index| {
                let url = server.url();
                thread::spawn(move || {
                    let shape = "hold 1k/s 1h".parse().unwrap();
                    let fleet = fleet(&url, "test").shape(shape).nodes(2).unwrap();
                    let node = fleet.join().unwrap();
                    for _ in 0..100 * (1 + index) {
                        node.pacer().acquire().unwrap();
                    }
                    node.leave().unwrap();
                    drain(&node);
                    // Slots that are due during this time are not expected.
                    thread::sleep(Duration::from_millis(500));
                    node.not_started(3).unwrap();
                    node.finish(Vec::new()).unwrap()
                })
            })
            .collect();
        let are_last: Vec<bool> = nodes.into_iter().map(|node| node.join().unwrap()).collect();
        assert_eq!(are_last.iter().filter(|&&is_last| is_last).count(), 1, "{are_last:?}");
        let control = Control::open(&server.url(), "test").unwrap();
        let account = control.account().unwrap();
        thread::sleep(Duration::from_millis(100));
        assert_eq!(control.account().unwrap().expected, account.expected);
        let status = control.status().unwrap();
        assert!(status.has_ended);
        assert_eq!(status.repairs, 0, "the store is not repaired after nodes leave");
        assert!(account.closes() && (6..300).contains(&account.lost()), "{account:?}");
        assert!((300..30_000).contains(&account.expected), "{account:?}");
        assert_eq!(u128::from(account.expected), account.span.as_millis(), "{account:?}");
    }
}

/// The store counts the other node as dead, and the survivor settles that node's slots.
#[test]
#[ignore = "needs Redis and Valkey"]
fn the_survivor_of_a_node_that_died_late_is_the_last_node() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        let join = |url: &str| {
            let shape = "hold 100/s 1s".parse().unwrap();
            fleet(url, "test").shape(shape).nodes(2).unwrap().join().unwrap()
        };
        thread::scope(|scope| {
            let dies = scope.spawn(|| {
                let node = join(&proxy.url());
                node.pacer().acquire().unwrap();
                proxy.cut(NewConnections::Refused);
                node
            });
            let survivor = join(&server.url());
            drain(&survivor);
            assert!(survivor.finish(Vec::new()).unwrap(), "the survivor is not the last node");
            drop(dies.join().unwrap());
        });
    }
}

/// Longer frames change the number of the frame in which the load ends.
#[test]
#[ignore = "needs Redis and Valkey"]
fn a_node_without_a_load_that_needs_longer_frames_keeps_the_end_of_the_load() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        thread::scope(|scope| {
            let first = fleet(&server.url(), "test").shape("hold 1k/s 1s".parse().unwrap());
            let first = scope.spawn(|| first.nodes(2).unwrap().join().unwrap());
            let control = Control::open(&server.url(), "test").unwrap();
            while control.status().is_err() {
                thread::sleep(Duration::from_millis(10));
            }
            let second = fleet(&server.url(), "test").frame(3 * FRAME).join().unwrap();
            let ends = server.ask("HGET nanopace:{test}:run ends").unwrap();
            // 8 frames without slots, and 4 frames with slots
            assert_eq!(ends, "$2\r\n12\r\n");
            drop((first.join().unwrap(), second));
        });
    }
}

fn run_once(url: &str) -> Result<(), FleetError> {
    let node = fleet(url, "once").shape("hold 100/s 100ms".parse().unwrap()).join()?;
    drain(&node);
    node.leave()?;
    node.finish(Vec::new()).map(|_| ())
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_store_that_cannot_hold_a_run_is_a_specific_error() {
    for product in Product::ALL {
        let full = Server::with(product).setting("maxmemory", "1").start().unwrap();
        assert!(matches!(run_once(&full.url()), Err(FleetError::Full)), "{product}");
        for (policy, evicts) in
            [("allkeys-lru", true), ("volatile-ttl", true), ("noeviction", false)]
        {
            let server = Server::with(product).setting("maxmemory-policy", policy);
            assert!(run_once(&server.clone().start().unwrap().url()).is_ok(), "has no limit");
            let server = server.setting("maxmemory", "100mb").start().unwrap();
            let run = run_once(&server.url());
            assert_eq!(matches!(run, Err(FleetError::Evicts(_))), evicts, "{policy} {run:?}");
        }
        let primary = Server::start(product).unwrap();
        let (host, port) = (primary.address().ip().to_string(), primary.address().port());
        let replica =
            Server::with(product).setting("replicaof", format!("{host} {port}")).start().unwrap();
        assert!(matches!(run_once(&replica.url()), Err(FleetError::Replica)), "{product}");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_node_whose_store_hangs_ends_within_seconds() {
    let server = Server::start(Product::Redis).unwrap();
    let node = fleet(&server.url(), "hangs").rate("1/s".parse().unwrap()).join().unwrap();
    server.stop().unwrap();
    let began = Instant::now();
    assert!(node.finish(Vec::new()).is_err());
    // The calls take at most about 12 s on an idle machine.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn waiting_nodes_join_again_when_the_store_is_emptied() {
    let server = Server::start(Product::Redis).unwrap();
    let url = server.url();
    let joined = |watch: &mut dyn FnMut(Waits)| {
        let (shape, began) = ("hold 1k/s 100ms".parse().unwrap(), Instant::now());
        fleet(&url, "emptied").shape(shape).nodes(2).unwrap().join_with(|waits| {
            watch(waits);
            let is_long = began.elapsed() > Duration::from_secs(60);
            if is_long { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    };
    let (waits, is_waiting) = channel();
    thread::scope(|scope| {
        let first = scope.spawn(|| joined(&mut |all| waits.send(all).unwrap()));
        assert!(matches!(is_waiting.recv().unwrap(), Waits::ForNodes { here: 1, awaited: 2, .. }));
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(b"FLUSHALL\r\n").unwrap();
        assert_eq!(stream.read(&mut [0; 16]).unwrap(), "+OK\r\n".len());
        let second = joined(&mut |_| {}).unwrap();
        let first = first.join().unwrap().unwrap();
        assert_ne!(first.number(), second.number());
        assert_eq!(first.run_id(), second.run_id());
    });
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_waiting_node_without_a_load_joins_again_when_the_store_was_emptied() {
    let server = Server::start(Product::Redis).unwrap();
    let url = server.url();
    let with_load = || fleet(&url, "emptied").shape("hold 1k/s 100ms".parse().unwrap());
    let (waits, is_waiting) = channel();
    thread::scope(|scope| {
        let third = scope.spawn(|| {
            with_load().nodes(3).unwrap().join_with(|waits| match waits {
                Waits::ForNodes { here: 2.., .. } => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
        });
        let control = Control::open(&url, "emptied").unwrap();
        while control.status().is_err() {
            thread::sleep(Duration::from_millis(10));
        }
        let without_load = fleet(&url, "emptied");
        let first = scope.spawn(move || {
            without_load.join_with(|all| {
                let _ = waits.send(all);
                ControlFlow::Continue(())
            })
        });
        third.join().unwrap().unwrap_err();
        server.ask("FLUSHALL").unwrap();
        // The node has looked at the empty store between the last two of these calls.
        while is_waiting.try_recv().is_ok() {}
        for _ in 0..3 {
            is_waiting.recv().unwrap();
        }
        let second = with_load().nodes(2).unwrap().join().unwrap();
        assert_eq!(first.join().unwrap().unwrap().run_id(), second.run_id());
    });
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_node_that_waits_in_vain_reports_the_missing_nodes_and_leaves() {
    let server = Server::start(Product::Redis).unwrap();
    let joined = |nodes, shape: &str| {
        let fleet = fleet(&server.url(), "vain").shape(shape.parse().unwrap());
        fleet.nodes(nodes).unwrap().join_timeout(Duration::from_millis(100)).join()
    };
    let error = joined(3, "hold 1k/s 100ms").unwrap_err();
    let waits = |waits: &Waits| matches!(waits, Waits::ForNodes { here: 1, awaited: 3, .. });
    assert!(matches!(&error, FleetError::NotStarted(_, it) if waits(it)), "{error}");
    joined(1, "hold 2k/s 100ms").unwrap();
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn slot_and_time_limits_of_one_node_do_not_end_its_part() {
    let server = Server::start(Product::Redis).unwrap();
    let fleet = fleet(&server.url(), "ends").shape("hold 1k/s 200ms".parse().unwrap());
    let short = Duration::from_millis(20);
    let node = fleet.pacer(move |builder| builder.slots(3).until(short)).join().unwrap();
    let (starts, machine) = watched(|| drain(&node).len());
    assert!(starts == 200 || machine.stalled > FRAME, "{starts}");
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_node_that_waits_for_the_previous_run_reports_it() {
    let server = Server::start(Product::Redis).unwrap();
    let shape = || "hold 1k/s 100ms".parse().unwrap();
    let before = fleet(&server.url(), "before").shape(shape()).join().unwrap();
    drain(&before);
    thread::sleep(Duration::from_millis(500));
    let after = fleet(&server.url(), "before").shape(shape());
    let error = after.join_with(|_| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(error, FleetError::Waiting(Waits::ForTheEnd)), "{error}");
}
