//! Tests timestamps at both ends of a connection. Both ends are on this machine, so they have the same clock.

use super::*;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::time::sleep;

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn block_on<F: Future>(both: F) -> F::Output {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(both)
}

async fn pair() -> (Stamped, Stamped, Begun) {
    let begun = begin().unwrap();
    for _ in 0..10_000 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let [mut client, mut server] = [client, server].map(|tcp| {
            tcp.set_nodelay(true).unwrap();
            Stamped::new(tcp).unwrap()
        });
        pass(&mut client, &mut server, b"?").await;
        if server.received.is_some() {
            return (client, server, begun);
        }
        sleep(Duration::from_millis(1)).await;
    }
    panic!("this kernel stamps nothing on loopback");
}

async fn pass(from: &mut Stamped, to: &mut Stamped, bytes: &[u8]) {
    let mut read = vec![0; bytes.len()];
    let (written, got) = tokio::join!(from.write_all(bytes), to.read_exact(&mut read));
    written.unwrap();
    got.unwrap();
    assert!(read == bytes, "{} bytes", bytes.len());
    from.look_for_sent();
}

/// Returns the times at which the bytes were written, sent, received and read, in this order.
async fn moments(from: &mut Stamped, to: &mut Stamped, length: usize) -> [Duration; 4] {
    pass(from, to, &vec![b'x'; length]).await;
    [from.write, from.sent.unwrap(), to.received.unwrap(), now()]
}

#[test]
fn stamps_are_in_the_order_in_which_things_happen() {
    block_on(async {
        let (mut client, mut server, _begun) = pair().await;
        for length in [1, 100, 1_448, 20_000, 300_000].into_iter().cycle().take(300) {
            let there = moments(&mut client, &mut server, length).await;
            let back = moments(&mut server, &mut client, 300_001 - length).await;
            let all = [there, back].concat();
            assert!(all.is_sorted(), "{length}: {all:?}");
            let Delays { sending, reading } = client.delays().unwrap();
            let held = back[0].saturating_sub(there[3]);
            let parts = sending.unwrap_or_default() + held + reading.unwrap();
            assert!(there[0] + parts <= now(), "{length}: {parts:?} of {all:?}");
        }
    });
}

#[test]
fn the_count_of_bytes_wraps_around() {
    block_on(async {
        let (mut client, mut server, _begun) = pair().await;
        client.written += 1 << 32;
        for _ in 0..3 {
            let all = moments(&mut client, &mut server, 70_000).await;
            assert!(all.is_sorted(), "{all:?}");
        }
    });
}

/// The wait of a response in the kernel is part of the reader's delay. The server's time is not.
#[test]
fn the_time_in_the_kernel_until_the_read_is_the_readers_delay() {
    const HELD: Duration = Duration::from_millis(30);
    block_on(async {
        let (mut client, mut server, _begun) = pair().await;
        pass(&mut client, &mut server, b"request").await;
        sleep(HELD).await;
        let begin = now();
        server.write_all(b"answer").await.unwrap();
        client.read_exact(&mut [0; 6]).await.unwrap();
        let of_server = client.delays().unwrap().reading.unwrap();
        assert!(begin + of_server <= now(), "{of_server:?}");

        pass(&mut client, &mut server, b"request").await;
        server.write_all(b"answer").await.unwrap();
        thread::sleep(HELD);
        client.read_exact(&mut [0; 6]).await.unwrap();
        let of_client = client.delays().unwrap().reading.unwrap();
        assert!(of_client >= HELD, "{of_client:?}");
    });
}

#[test]
fn a_response_in_parts_has_the_timestamp_of_its_end() {
    block_on(async {
        let (mut client, mut server, _begun) = pair().await;
        for parts in [1, 2, 7] {
            let mut last = Duration::ZERO;
            for _ in 0..parts {
                let all = moments(&mut server, &mut client, 3).await;
                assert!(all[0] >= last, "{all:?}");
                last = all[2];
            }
            assert_eq!(client.received, Some(last));
        }
        server.write_all(&vec![b'x'; 50_000]).await.unwrap();
        for _ in 0..50 {
            client.read_exact(&mut [0; 1_000]).await.unwrap();
            assert!(client.received.is_some());
        }
    });
}

#[test]
fn the_end_of_a_stream_has_no_timestamp() {
    block_on(async {
        let (mut client, mut server, _begun) = pair().await;
        server.write_all(b"answer").await.unwrap();
        server.shutdown().await.unwrap();
        client.read_exact(&mut [0; 6]).await.unwrap();
        assert!(client.delays().unwrap().reading.is_some());
        assert_eq!(client.read(&mut [0; 6]).await.unwrap(), 0);
        assert_eq!(client.delays().unwrap().reading, None);
    });
}

/// If the other end reads slowly, send timestamps arrive late, and each of them makes epoll report `EPOLLERR`.
#[test]
fn a_task_that_waits_for_room_does_not_busy_loop() {
    const ALL: usize = 20_000_000;
    block_on(async {
        let (mut client, mut server, _begun) = pair().await;
        let (mut polls, mut writes, mut written, mut read) = (0, 0, 0, 0);
        let piece = vec![b'x'; 64 << 10];
        let write = poll_fn(|cx| {
            polls += 1;
            while written < ALL {
                let size = piece.len().min(ALL - written);
                written += ready!(Pin::new(&mut client).poll_write(cx, &piece[..size])).unwrap();
                writes += 1;
            }
            Poll::Ready(())
        });
        let read = async {
            let mut room = vec![0; 64 << 10];
            while read < ALL {
                if read < 2_000_000 {
                    sleep(Duration::from_millis(5)).await;
                }
                read += server.read(&mut room).await.unwrap();
            }
        };
        tokio::join!(write, read);
        client.look_for_sent();
        let all = [client.write, client.sent.unwrap(), server.received.unwrap(), now()];
        assert!(all.is_sorted(), "{all:?}");
        assert!(polls <= 2 * writes + 1, "polled {polls} times for {writes} writes");
    });
}

/// The other end accepts bytes slowly, so their timestamp is read only when the response has arrived.
#[test]
fn a_send_that_waited_for_room_has_a_timestamp() {
    block_on(async {
        let (mut client, mut server, _begun) = pair().await;
        let (piece, mut written) = (vec![b'x'; 64 << 10], 0);
        poll_fn(|cx| {
            while let Poll::Ready(bytes) = Pin::new(&mut client).poll_write(cx, &piece) {
                written += bytes.unwrap();
            }
            Poll::Ready(())
        })
        .await;
        assert_eq!(client.sent, None);
        server.read_exact(&mut vec![0; written]).await.unwrap();
        assert!(client.delays().unwrap().sending.is_some());
    });
}

#[test]
fn bytes_read_before_a_request_do_not_stamp_its_response() {
    block_on(async {
        let (mut client, mut server, _begun) = pair().await;
        pass(&mut server, &mut client, b"answer").await;
        assert!(client.delays().unwrap().reading.is_some());
        pass(&mut client, &mut server, b"request").await;
        assert_eq!(client.delays().unwrap().reading, None);
    });
}

#[test]
fn a_task_that_waits_for_a_response_is_woken_to_register_again() {
    block_on(async {
        let (mut client, _server, _begun) = pair().await;
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut answer = [0; 6];
        let read = Pin::new(&mut client)
            .poll_read(&mut Context::from_waker(&waker), &mut ReadBuf::new(&mut answer));
        assert!(read.is_pending());
        client.renew().unwrap();
        assert!(woken.0.load(Ordering::Relaxed));
    });
}

#[test]
fn a_negative_delay_is_unknown() {
    block_on(async {
        let (mut client, mut server, _begun) = pair().await;
        pass(&mut client, &mut server, b"request").await;
        pass(&mut server, &mut client, b"answer").await;
        let Delays { sending, reading } = client.delays().unwrap();
        assert!(sending.is_some() && reading.is_some());
        client.received = Some(now() + Duration::from_secs(3_600));
        client.write = now() + Duration::from_secs(3_600);
        assert_eq!(client.delays(), Some(Delays { sending: None, reading: None }));
    });
}
