//! Responds to `CL.THROTTLE key max_burst count period [quantity]`, like the module redis-cell, from a store that needs
//! no module.
//!
//! ```text
//! cargo run -p nanopace-remote --example cl_throttle -- redis://127.0.0.1/ 127.0.0.1:6380
//! redis-cli -p 6380 CL.THROTTLE alice 15 30 60 1
//! ```
//!
//! The reply is five integers: 0 if the request was admitted and 1 if not; the limit, which is `max_burst` + 1; the
//! number of requests that are left; the retry time in seconds, or -1; and the time until the whole limit is available,
//! in seconds. Seconds are rounded up, so a request after the retry time is admitted.

use nanopace_limits::{Limit, Limits, Quota};
use nanopace_remote::{Decision, Remote};
use redis::{Parser, Value};
use std::error::Error;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use std::{env, thread};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "redis://127.0.0.1/".to_owned());
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:6380".to_owned());
    let store = Remote::connect(&url)?;
    serve(&TcpListener::bind(address)?, &store);
    Ok(())
}

fn serve(listener: &TcpListener, store: &Remote) {
    for stream in listener.incoming().flatten() {
        let store = store.clone();
        thread::spawn(move || converse(&stream, &store));
    }
}

fn converse(mut stream: &TcpStream, store: &Remote) {
    let mut reader = BufReader::new(stream);
    let mut parser = Parser::new();
    while let Ok(command) = parser.parse_value(&mut reader) {
        let reply = match answer(&command, store) {
            Ok(reply) => reply,
            Err(error) => format!("-ERR {}\r\n", error.to_string().replace(['\r', '\n'], " ")),
        };
        if stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn answer(command: &Value, store: &Remote) -> Result<String> {
    let words: Vec<String> = redis::from_redis_value_ref(command)?;
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [name, key, burst, count, period, n @ ..]
            if name.eq_ignore_ascii_case("CL.THROTTLE") && n.len() < 2 =>
        {
            let limits = limits(burst.parse()?, count.parse()?, period.parse()?)?;
            let n = n.first().map_or(Ok(1), |n| n.parse())?;
            throttle(store, key, &limits, n)
        }
        [name, ..] if name.eq_ignore_ascii_case("PING") => Ok("+PONG\r\n".to_owned()),
        _ => Err("write CL.THROTTLE key max_burst count period [quantity]".into()),
    }
}

fn limits(max_burst: u64, count: u64, seconds: u64) -> Result<Limits> {
    let quota = Quota::new(count, Duration::from_secs(seconds))?;
    Ok(Limits::new([Limit::gcra_with_burst(quota, max_burst.saturating_add(1))?]))
}

fn throttle(store: &Remote, key: &str, limits: &Limits, n: u64) -> Result<String> {
    let limiter = store.limits(&limits.to_string()).prefix("throttle").build()?;
    Ok(reply(&limiter.decide_costs(key, n)?))
}

fn reply(decision: &Decision) -> String {
    let rounded_up = |span: Duration| span.as_secs() + u64::from(span.subsec_nanos() > 0);
    let retry = decision.retry().map_or(-1, |retry| rounded_up(retry).cast_signed());
    format!(
        "*5\r\n:{}\r\n:{}\r\n:{}\r\n:{retry}\r\n:{}\r\n",
        u8::from(!decision.is_allowed()),
        decision.limit(),
        decision.remaining(),
        rounded_up(decision.reset())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace_remote::Settings;
    use nanopace_services::{Product, Server};
    use redis::{Client, cmd};

    fn client(store: Remote) -> redis::Connection {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || serve(&listener, &store));
        Client::open(format!("redis://{address}")).unwrap().get_connection().unwrap()
    }

    #[test]
    #[ignore = "needs Redis and Valkey"]
    fn the_reply_is_five_integers() {
        for product in Product::ALL {
            let server = Server::start(product).unwrap();
            let settings = Settings::default().timeout(Duration::from_secs(20));
            let mut client = client(Remote::lazy_with(&server.url(), settings).unwrap());
            let mut throttle =
                |words: &[&str]| cmd("CL.THROTTLE").arg(words).query::<Vec<i64>>(&mut client);
            assert_eq!(throttle(&["alice", "1", "1", "60"]).unwrap(), [0, 2, 1, -1, 60]);
            let [limited, limit, left, retry, reset] =
                throttle(&["alice", "1", "1", "60", "2"]).unwrap()[..]
            else {
                panic!("five integers")
            };
            assert_eq!([limited, limit, left], [1, 2, 1]);
            assert!((59..=60).contains(&retry) && (59..=60).contains(&reset));
            assert_eq!(throttle(&["bob", "4", "2000", "1", "5"]).unwrap(), [0, 5, 0, -1, 1]);
            assert!(throttle(&["alice", "1", "0", "60"]).is_err());
            assert!(throttle(&["alice", "many", "1", "60"]).is_err());
        }
    }
}
