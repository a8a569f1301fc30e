//! Tests attempts to connect to several addresses, in virtual time.

use super::*;
use std::future::{pending, poll_fn};
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const WITHIN: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug)]
enum Way {
    /// The attempt succeeds after this number of milliseconds.
    Opens(u64),
    /// The attempt fails after this number of milliseconds.
    Fails(u64, ErrorKind),
    Silent,
}
use Way::{Fails, Opens, Silent};

const REFUSED: Way = Fails(0, ErrorKind::ConnectionRefused);

fn address(index: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], u16::try_from(index).unwrap()))
}

fn addresses(count: usize) -> Addresses {
    Addresses::new("h:80".to_owned(), (0..count).map(address).collect()).unwrap()
}

/// Connects to one of the addresses. `ways` contains the outcome of an attempt at each address.
async fn connect(addresses: &Addresses, ways: &[Way]) -> Result<usize, Failure> {
    let way = |address: SocketAddr| async move {
        let index = usize::from(address.port());
        match ways[index] {
            Opens(ms) => sleep(Duration::from_millis(ms)).await,
            Fails(ms, kind) => {
                sleep(Duration::from_millis(ms)).await;
                return Err(Error::from(kind));
            }
            Silent => pending().await,
        }
        Ok(index)
    };
    let connecting = addresses.connect(WITHIN, way);
    timeout(WITHIN, connecting).await.unwrap_or(Err(Failure::ConnectTimeout))
}

async fn spread(addresses: &Addresses, ways: &[Way], connections: usize) -> Vec<usize> {
    let mut counts = vec![0; ways.len()];
    for _ in 0..connections {
        counts[connect(addresses, ways).await.unwrap()] += 1;
    }
    counts
}

async fn at_once<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    poll_fn(|cx| {
        for (future, output) in all.iter_mut().filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(cx) {
                *output = Some(ready);
            }
        }
        let is_done = all.iter().all(|(_, output)| output.is_some());
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    all.into_iter().filter_map(|(_, output)| output).collect()
}

#[tokio::test(start_paused = true)]
async fn addresses_that_respond_get_even_shares() {
    for (ways, shares) in [
        (&[Opens(1)][..], &[60][..]),
        (&[Opens(1), Opens(1)], &[30, 30]),
        (&[Opens(1), Opens(200), Opens(3)], &[20, 20, 20]),
        (&[Opens(1), REFUSED], &[60, 0]),
        (&[REFUSED, Opens(1), Opens(1)], &[0, 30, 30]),
        (&[Opens(1), REFUSED, Opens(1)], &[30, 0, 30]),
        (&[Opens(1), Silent, Opens(1), REFUSED], &[30, 0, 30, 0]),
    ] {
        let addresses = addresses(ways.len());
        let spread = spread(&addresses, ways, 60).await;
        let is_even = spread.iter().zip(shares).all(|(count, share)| count.abs_diff(*share) <= 1);
        assert!(is_even, "{ways:?}: {spread:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn shares_of_an_address_that_fails_are_spread_evenly() {
    let (addresses, ways) =
        (addresses(3), [Opens(1), Fails(5, ErrorKind::ConnectionReset), Opens(1)]);
    // All attempts begin before the first one fails.
    let connected = at_once((0..60).map(|_| connect(&addresses, &ways))).await;
    let to = |address| connected.iter().filter(|it| **it == Ok(address)).count();
    assert_eq!([0, 1, 2].map(to), [30, 0, 30]);
}

#[tokio::test(start_paused = true)]
async fn the_next_one_is_tried_after_a_failure_or_a_quarter_of_a_second() {
    for (ways, address, ms) in [
        (&[Fails(7, ErrorKind::ConnectionRefused), Opens(3)][..], 1, 10),
        (&[Silent, Opens(3)], 1, 253),
        (&[Silent, Silent, Opens(3)], 2, 503),
        (&[Silent, Fails(20, ErrorKind::ConnectionRefused), Opens(3)], 2, 273),
        (&[Opens(300), Opens(300)], 0, 300),
        (&[Opens(300), Opens(40)], 1, 290),
        (&[Opens(400), Fails(10, ErrorKind::ConnectionRefused)], 0, 400),
        (&[Fails(300, ErrorKind::ConnectionRefused), Opens(400)], 1, 650),
    ] {
        let (addresses, begin) = (addresses(ways.len()), Instant::now());
        let connected = connect(&addresses, ways).await;
        // Timers are rounded up to milliseconds.
        let took = u64::try_from(begin.elapsed().as_millis()).unwrap();
        assert_eq!((connected, took.abs_diff(ms) <= 3), (Ok(address), true), "{ways:?}: {took}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_address_has_its_part_of_a_short_time() {
    let addresses = addresses(3);
    let way = |address: SocketAddr| async move {
        if address.port() < 2 { pending().await } else { Ok(()) }
    };
    let within = Duration::from_millis(30);
    assert!(timeout(within, addresses.connect(within, way)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_dead_address_delays_one_connection_in_ten_seconds() {
    let (addresses, begin) = (addresses(2), Instant::now());
    let (mut delayed, mut connections) = (0, 0);
    while begin.elapsed() < 60 * SECOND {
        let before = Instant::now();
        assert_eq!(connect(&addresses, &[Opens(1), Silent]).await, Ok(0));
        delayed += usize::from(before.elapsed() > SECOND / 10);
        connections += 1;
    }
    assert!(delayed <= 6 && connections > 1_000, "{delayed} of {connections}");
    sleep(AVOIDED).await;
    assert_eq!(spread(&addresses, &[Opens(1), Opens(1)], 60).await, [30, 30]);
}

#[tokio::test(start_paused = true)]
async fn one_of_many_connections_tries_whether_an_address_is_back() {
    let (addresses, ways) = (addresses(2), [Opens(1), Silent]);
    spread(&addresses, &ways, 2).await;
    sleep(AVOIDED).await;
    let tried = AtomicUsize::new(0);
    let way = |address: SocketAddr| {
        // Relaxed: the counter is used by one thread only. No loom model: it is a single atomic.
        tried.fetch_add(usize::from(address.port()), Ordering::Relaxed);
        async move { if address.port() == 0 { Ok(()) } else { pending().await } }
    };
    let connected = at_once((0..20).map(|_| addresses.connect(WITHIN, &way))).await;
    assert!(connected.iter().all(Result::is_ok));
    assert_eq!(tried.into_inner(), 1);
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn a_shortage_of_this_machine_is_not_attributed_to_an_address() {
    let two = addresses(2);
    assert_eq!(connect(&two, &[Opens(1); 2]).await, Ok(0));
    let lacks = |_| async { Err::<(), _>(Error::from_raw_os_error(24)) };
    let failure = two.connect(WITHIN, lacks).await.unwrap_err();
    assert_eq!(failure.to_string(), "too many open files (EMFILE)");
    assert_eq!(two.warning(), None);
    assert_eq!(spread(&two, &[Opens(1); 2], 60).await, [30, 30]);
}

#[tokio::test(start_paused = true)]
async fn if_all_fail_the_most_informative_failure_is_returned() {
    let failure = Failure::Connection;
    let [refused, no_host, no_route, reset] = [
        ErrorKind::ConnectionRefused,
        ErrorKind::HostUnreachable,
        ErrorKind::NetworkUnreachable,
        ErrorKind::ConnectionReset,
    ];
    for (ways, told) in [
        (&[refused, no_host][..], refused),
        (&[no_host, refused], refused),
        (&[no_route, no_host], no_route),
        (&[no_route, reset, refused], reset),
    ] {
        let fail: Vec<_> = ways.iter().map(|kind| Fails(1, *kind)).collect();
        let addresses = addresses(ways.len());
        assert_eq!(connect(&addresses, &fail).await, Err(failure(told)), "{ways:?}");
    }
    // A server that has responded before exists, so its failure reveals more than a failure of the other address.
    let addresses = addresses(2);
    assert_eq!(connect(&addresses, &[REFUSED, Opens(1)]).await, Ok(1));
    let ways = [REFUSED, Fails(0, no_host)];
    for _ in 0..2 {
        assert_eq!(connect(&addresses, &ways).await, Err(failure(no_host)));
    }
    assert_eq!(connect(&addresses, &[Silent, REFUSED]).await, Err(Failure::ConnectTimeout));
}

#[tokio::test(start_paused = true)]
async fn addresses_that_fail_are_named_if_others_respond() {
    let three = addresses(3);
    assert_eq!((three.warning(), three.refusals().is_some()), (None, true));
    connect(&three, &[REFUSED; 3]).await.unwrap_err();
    assert_eq!(three.warning(), None);
    let refused = "connection refused";
    let each = (0..3).map(|index| format!("127.0.0.1:{index}: {refused}"));
    assert_eq!(three.refusals(), Some(each.collect::<Vec<_>>().join(", ")));
    connect(&three, &[REFUSED, Opens(1), REFUSED]).await.unwrap();
    connect(&three, &[Silent, Opens(1), Silent]).await.unwrap();
    let told = three.warning().unwrap();
    for part in [
        "h:80: 127.0.0.1:0 accepted no connection (connection refused), ",
        "127.0.0.1:1 accepted 2 of 3 attempts to connect (connection refused), ",
        "127.0.0.1:2 accepted no connection (connection refused); connections tried other addresses",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!(three.refusals(), None);
    let many = addresses(200);
    connect(&many, &[REFUSED; 200]).await.unwrap_err();
    let told = many.refusals().unwrap();
    assert!(told.ends_with(", and 192 more") && told.len() < 500, "{told}");
    // The warning does not contain an address that was never tried, and there is no warning about the only address.
    let two = addresses(2);
    connect(&two, &[Opens(1); 2]).await.unwrap();
    assert_eq!(two.warning(), None);
    let one = addresses(1);
    connect(&one, &[REFUSED]).await.unwrap_err();
    assert_eq!((one.warning(), one.refusals()), (None, None));
    connect(&one, &[Opens(1)]).await.unwrap();
    assert_eq!(one.warning(), None);
    let silent = addresses(2);
    connect(&silent, &[Silent, Opens(1)]).await.unwrap();
    assert!(
        silent
            .warning()
            .unwrap()
            .contains("127.0.0.1:0 accepted no connection (another address was faster)")
    );
}
