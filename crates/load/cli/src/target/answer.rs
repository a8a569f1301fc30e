//! Responds to the requests that the embedded target receives, with random statuses and latencies.

use super::behaviour::Behaviour;
use super::sleep::Sleepers;
use fastrand::Rng;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::{Request, Response, StatusCode};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Answerer {
    behaviour: Behaviour,
    body: Bytes,
    sleepers: Arc<Sleepers>,
    schedule_start: OnceLock<Instant>,
    /// All connections share the random number generator, so that the responses depend only on the order of the
    /// requests.
    rng: Mutex<Rng>,
}

impl Answerer {
    pub(super) fn new(behaviour: &Behaviour, sleepers: Arc<Sleepers>) -> Answerer {
        Answerer {
            behaviour: *behaviour,
            body: b"ok\n".iter().copied().cycle().take(behaviour.body as usize).collect(),
            sleepers,
            schedule_start: OnceLock::new(),
            rng: Mutex::new(Rng::with_seed(behaviour.seed)),
        }
    }

    /// Records the start of the schedule. Only the first call has an effect, because a later start would move a stall
    /// that may have begun.
    pub(super) fn schedule_starts(&self) {
        let _ = self.schedule_start.set(Instant::now());
    }

    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> hyper::Result<Response<Full<Bytes>>> {
        read_to_end(request.into_body()).await?;
        let (status, latency) = self.draw();
        self.wait(latency).await;
        self.wait(self.held_back()).await;
        let mut response = Response::new(Full::new(self.body.clone()));
        *response.status_mut() = status;
        Ok(response)
    }

    fn draw(&self) -> (StatusCode, Duration) {
        let Behaviour { errors, latency, .. } = self.behaviour;
        let rng = &mut *self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        let status =
            if errors.draw(rng) { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
        (status, latency.sample(rng))
    }

    fn held_back(&self) -> Duration {
        match (self.behaviour.stall, self.schedule_start.get()) {
            (Some(stall), Some(start)) => stall.hold(start.elapsed()),
            _ => Duration::ZERO,
        }
    }

    async fn wait(&self, time: Duration) {
        if time > Duration::ZERO {
            self.sleepers.sleep(time).await;
        }
    }
}

/// Reads a body to its end. Until the body of a request has been read, an HTTP/1.1 connection cannot carry another
/// request.
async fn read_to_end(mut body: Incoming) -> hyper::Result<()> {
    while !body.is_end_stream() {
        match body.frame().await {
            Some(frame) => drop(frame?),
            None => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::runtime;
    use super::*;

    impl Answerer {
        pub(in super::super) fn sleepers(&self) -> Arc<Sleepers> {
            Arc::clone(&self.sleepers)
        }
    }

    fn draws(behaviour: &Behaviour) -> Vec<(StatusCode, Duration)> {
        let runtime = runtime().unwrap();
        let _inside = runtime.enter();
        let answerer = Answerer::new(behaviour, Sleepers::start().unwrap());
        (0..1_000).map(|_| answerer.draw()).collect()
    }

    #[test]
    fn the_seed_determines_each_response() {
        let behaviour = Behaviour {
            latency: "exp 1ms".parse().unwrap(),
            errors: "10%".parse().unwrap(),
            ..Behaviour::default()
        };
        let drawn = draws(&behaviour);
        assert_eq!(drawn, draws(&behaviour));
        assert_ne!(drawn, draws(&Behaviour { seed: 1, ..behaviour }));
    }
}
