//! Answers requests: looks at the last snapshot, and hands orders to the controller.

use super::body::{json, text_of};
use super::guard::Guard;
use super::refused::Refused;
use super::route::Route;
use super::state::State;
use crate::run::action::Action;
use crate::run::message::Message;
use crate::run::metrics::text::{Exposition, Format};
use crate::run::snapshot::Snapshot;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{ACCEPT, CONTENT_LENGTH, HeaderMap, TRANSFER_ENCODING};
use hyper::{Request, Response, StatusCode};
use nanopace::Shape;
use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// The longest body, in bytes.
const LONGEST: usize = 64 * 1024;

/// How long a body may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the controller may take. It answers within milliseconds.
const DEADLINE: Duration = Duration::from_secs(5);

/// What requests are answered from.
#[derive(Debug)]
pub(super) struct Desk {
    /// Where the run's requests go.
    url: String,
    /// Where this server is.
    control: String,
    guard: Guard,
    snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    messages: Sender<Message>,
    exposition: Exposition,
}

impl Desk {
    /// A desk at `control`, for a run against `url`.
    pub(super) fn new(
        url: &str,
        control: String,
        guard: Guard,
        snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
        messages: Sender<Message>,
    ) -> Desk {
        let exposition = Exposition::new(snapshots.clone());
        Desk { url: url.to_owned(), control, guard, snapshots, messages, exposition }
    }

    /// The answer to a request.
    pub(super) async fn answer<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.handle(request).await.unwrap_or_else(Refused::response)
    }

    async fn handle<B>(&self, request: Request<B>) -> Result<Response<Full<Bytes>>, Refused>
    where
        B: Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.guard.admit(request.uri(), request.headers())?;
        match Route::of(request.method(), request.uri().path())? {
            Route::Status => Ok(self.status()),
            Route::Metrics => self.metrics(request.headers()),
            Route::Rate => {
                let rate = text(request).await?.parse().map_err(malformed)?;
                self.order(Action::SetRate(rate)).await
            }
            Route::Shape => self.order(Action::SetShape(shape(&text(request).await?)?)).await,
            Route::Pause => self.order(Action::Pause).await,
            Route::Resume => self.order(Action::Resume).await,
            Route::Stop => self.order(Action::Stop).await,
        }
    }

    fn status(&self) -> Response<Full<Bytes>> {
        let snapshot = self.snapshots.borrow().clone();
        json(&State::new(&self.url, &self.control, snapshot.as_deref()))
    }

    fn metrics(&self, headers: &HeaderMap) -> Result<Response<Full<Bytes>>, Refused> {
        let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let format = Format::preferred(&accept.collect::<Vec<_>>().join(","));
        let written = self.exposition.text(format);
        let text = written.map_err(|_| {
            Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "the metrics can't be written")
        })?;
        Ok(text_of(format.content_type(), text))
    }

    /// The new state, once the controller has done what is asked.
    async fn order(&self, action: Action) -> Result<Response<Full<Bytes>>, Refused> {
        let (sender, answer) = oneshot::channel();
        let over = || Refused::new(StatusCode::CONFLICT, "the run is over");
        self.messages.send(Message::Ask(action, sender)).map_err(|_| over())?;
        match timeout(DEADLINE, answer).await {
            Ok(Ok(Ok(()))) => Ok(self.status()),
            Ok(Ok(Err(refusal))) => Err(Refused::new(StatusCode::CONFLICT, refusal.text())),
            Ok(Err(_)) => Err(over()),
            Err(_) => Err(Refused::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the run has no time to answer; it may still do this",
            )),
        }
    }
}

/// The body of a request, without spaces around it.
async fn text<B>(request: Request<B>) -> Result<String, Refused>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let headers = request.headers();
    if !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING) {
        return Err(Refused::new(StatusCode::LENGTH_REQUIRED, "there is no body"));
    }
    let too_long = || {
        let reason = format!("a body has at most {LONGEST} bytes");
        Refused::new(StatusCode::PAYLOAD_TOO_LARGE, reason)
    };
    // Then nothing of it needs to be read.
    if usize::try_from(request.body().size_hint().lower()).map_or(true, |least| least > LONGEST) {
        return Err(too_long());
    }
    let body = Limited::new(request.into_body(), LONGEST).collect();
    match timeout(PATIENCE, body).await {
        Ok(Ok(body)) => {
            let text = String::from_utf8(body.to_bytes().into()).map_err(malformed)?;
            Ok(text.trim().to_owned())
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(error)) => Err(malformed(error)),
        Err(_) => Err(Refused::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive")),
    }
}

fn shape(text: &str) -> Result<Shape, Refused> {
    if ["table:", "steps:"].iter().any(|prefix| text.starts_with(prefix)) {
        return Err(malformed("a shape that is sent can't be a file: write it out"));
    }
    text.parse().map_err(malformed)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps the error of a result")]
fn malformed(error: impl ToString) -> Refused {
    Refused::new(StatusCode::BAD_REQUEST, error.to_string())
}
