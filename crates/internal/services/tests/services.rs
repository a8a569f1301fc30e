//! Tests that servers start, stop, die and restart, and that the proxy changes connections as documented.

use nanopace_services::{NewConnections, Product, Proxy, Server};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

fn say(stream: &mut TcpStream, line: &str) -> io::Result<String> {
    stream.write_all(format!("{line}\r\n").as_bytes())?;
    let mut answer = [0; 1024];
    match stream.read(&mut answer)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        length => Ok(String::from_utf8_lossy(&answer[..length]).into_owned()),
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn ask(address: SocketAddr, line: &str) -> String {
    say(&mut connect(address), line).unwrap()
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn servers_restart_empty_or_with_their_file() {
    for product in Product::ALL {
        for (append_only, expected) in [(false, "$-1\r\n"), (true, "$1\r\n1\r\n")] {
            let options = Server::with(product);
            let options = if append_only { options.append_only() } else { options };
            let mut server = options.start().unwrap();
            let address = server.address();
            assert_eq!(ask(address, "SET a 1"), "+OK\r\n");
            server.kill();
            assert!(TcpStream::connect(address).is_err());
            server.restart().unwrap();
            assert_eq!(server.address(), address);
            assert_eq!(ask(address, "GET a"), expected, "{product}");
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_stopped_server_responds_when_it_is_resumed() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let mut stream = connect(server.address());
        server.stop().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(say(&mut stream, "PING").is_err());
        server.go_on().unwrap();
        assert_eq!(ask(server.address(), "PING"), "+PONG\r\n");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_password_is_required_and_a_dropped_server_is_gone() {
    for product in Product::ALL {
        let server = Server::with(product).password("secret").start().unwrap();
        let address = server.address();
        assert!(ask(address, "GET a").starts_with("-NOAUTH"));
        assert_eq!(ask(address, "AUTH secret"), "+OK\r\n");
        assert!(server.url().contains(":secret@"));
        let folder = server.folder().to_owned();
        drop(server);
        assert!(TcpStream::connect(address).is_err());
        assert!(!folder.exists());
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_port_that_is_taken_is_an_error() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let error = Server::with(product).port(server.address().port()).start().unwrap_err();
        assert!(error.to_string().contains("ended at once"), "{error}");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn the_proxy_delays_both_ways() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        let mut stream = connect(proxy.address());
        assert_eq!(say(&mut stream, "PING").unwrap(), "+PONG\r\n");
        proxy.delay(Duration::from_millis(20));
        let began = Instant::now();
        assert_eq!(say(&mut stream, "PING").unwrap(), "+PONG\r\n");
        assert!(began.elapsed() >= Duration::from_millis(40));
    }
}

fn is_refused_soon(address: SocketAddr) -> bool {
    (0..1_000).any(|_| {
        thread::sleep(Duration::from_millis(1));
        TcpStream::connect(address).is_err()
    })
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_cut_proxy_refuses_or_hangs_and_is_mended() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        let mut stream = connect(proxy.address());
        assert_eq!(say(&mut stream, "PING").unwrap(), "+PONG\r\n");

        proxy.cut(NewConnections::Refused);
        assert!(say(&mut stream, "PING").is_err());
        assert!(is_refused_soon(proxy.address()));
        assert!(TcpListener::bind(proxy.address()).is_err());
        proxy.mend().unwrap();
        assert_eq!(ask(proxy.address(), "PING"), "+PONG\r\n");

        proxy.cut(NewConnections::Hang);
        let mut stream = connect(proxy.address());
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(say(&mut stream, "PING").is_err());
        proxy.mend().unwrap();
        assert_eq!(ask(proxy.address(), "PING"), "+PONG\r\n");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_dropped_reply_belongs_to_a_command_that_was_executed() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        proxy.drop_replies(1);
        assert!(say(&mut connect(proxy.address()), "INCR a").is_err());
        assert_eq!(ask(proxy.address(), "GET a"), "$1\r\n1\r\n");
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn a_held_request_arrives_after_requests_of_a_later_connection() {
    for product in Product::ALL {
        let server = Server::start(product).unwrap();
        let proxy = Proxy::start(server.address()).unwrap();
        let mut early = connect(proxy.address());
        assert_eq!(say(&mut early, "SET a early").unwrap(), "+OK\r\n");
        proxy.hold_requests();
        early.write_all(b"APPEND a ,late\r\n").unwrap();
        drop(early);
        assert_eq!(ask(proxy.address(), "APPEND a ,meanwhile"), ":15\r\n");
        proxy.release();
        let mut stream = connect(proxy.address());
        let end = Instant::now() + Duration::from_secs(20);
        while !say(&mut stream, "GET a").unwrap().contains("early,meanwhile,late") {
            assert!(Instant::now() < end, "the held request never arrived");
        }
    }
}

#[test]
#[ignore = "needs Redis and Valkey"]
fn new_connections_go_elsewhere_after_a_failover() {
    for product in Product::ALL {
        let [first, second] = [(); 2].map(|()| Server::start(product).unwrap());
        let proxy = Proxy::start(first.address()).unwrap();
        let mut stream = connect(proxy.address());
        assert_eq!(say(&mut stream, "SET a 1").unwrap(), "+OK\r\n");
        proxy.redirect(second.address());
        assert!(say(&mut stream, "GET a").is_err());
        assert_eq!(ask(proxy.address(), "GET a"), "$-1\r\n");
    }
}
