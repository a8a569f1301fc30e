//! Runs one thread that paces operations and receives messages. The slot is claimed in advance, and the loop waits for
//! a message or for the slot, whichever comes first.
//!
//! `cargo run --release -p nanopace --example event_loop`

use nanopace::{Pacer, Rate, Refused};
use std::error::Error;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let pacer = Pacer::new(Rate::per_second(200)?);
    let (sender, messages) = mpsc::channel();
    thread::spawn(move || {
        for number in 0.. {
            thread::sleep(Duration::from_millis(13));
            if sender.send(number).is_err() {
                return; // the loop has ended
            }
        }
    });
    let (mut starts, mut received) = (0, 0);
    let mut claim = pacer.claim()?;
    while starts < 50 {
        match messages.recv_timeout(claim.delay()?) {
            Ok(_message) => received += 1,
            Err(RecvTimeoutError::Disconnected) => return Err("no more messages".into()),
            Err(RecvTimeoutError::Timeout) => match claim.start() {
                Ok(grant) => {
                    starts += 1;
                    if starts % 10 == 0 {
                        println!("start {starts}, {:?} late", grant.wait_time());
                    }
                    claim = pacer.claim()?;
                }
                // The timer was early, or the rate has changed: wait again.
                Err(Refused::NotUntil(_)) => {}
                Err(refused) => return Err(refused.into()),
            },
        }
    }
    println!("{starts} starts, {received} messages");
    Ok(())
}
