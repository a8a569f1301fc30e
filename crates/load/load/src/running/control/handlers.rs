//! Handles requests to the control server. The state comes from the last snapshot, and commands go to the controller.

use super::guard::Guard;
use super::responses::{Refused, json, text_of};
use super::state::{LoadsState, State};
use crate::load::action::Action;
use crate::running::message::Message;
use crate::running::observed::{Observed, families};
use crate::shown::metrics::text::{Format, exposition};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{ACCEPT, ALLOW, CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::{Method, Request, Response, StatusCode};
use nanopace::Shape;
use percent_encoding::percent_decode_str;
use std::error::Error;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The maximum length of a body, in bytes.
const LONGEST: usize = 64 * 1024;

const PATIENCE: Duration = Duration::from_secs(5);

/// The time in which the controller must respond. It usually responds within milliseconds.
const DEADLINE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Handlers {
    pub(super) loads: Vec<Observed>,
    pub(super) is_versus: bool,
    pub(super) control: String,
    pub(super) guard: Guard,
    pub(super) messages: Sender<Message>,
}

#[derive(Debug)]
pub(super) enum ControlRequest {
    Status,
    Metrics(Format),
    /// A command for the load with this index, or for all loads.
    Order(Option<usize>, Action),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Status,
    Metrics,
    Rate,
    Shape,
    Pause,
    Resume,
    Stop,
}

const ROUTES: [(&str, &str, Route); 7] = [
    ("/status", GET_OR_HEAD, Route::Status),
    ("/metrics", GET_OR_HEAD, Route::Metrics),
    ("/rate", "PUT", Route::Rate),
    ("/shape", "PUT", Route::Shape),
    ("/pause", "POST", Route::Pause),
    ("/resume", "POST", Route::Resume),
    ("/stop", "POST", Route::Stop),
];

const GET_OR_HEAD: &str = "GET, HEAD";

impl Route {
    fn of(method: &Method, path: &str) -> Result<Route, Refused> {
        let known = ROUTES.into_iter().find(|(known, ..)| *known == path);
        let (path, allowed, route) = known.ok_or_else(|| {
            let all = ROUTES.map(|(path, ..)| path).join(" ");
            Refused::new(StatusCode::NOT_FOUND, format!("unknown path: write one of {all}"))
        })?;
        if allowed.split(", ").any(|name| name == method.as_str()) {
            return Ok(route);
        }
        let reason = format!("{path} accepts {}", allowed.replace(", ", " or "));
        Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, reason)
            .with(ALLOW, HeaderValue::from_static(allowed)))
    }
}

impl Handlers {
    pub(super) async fn hear<B>(&self, request: Request<B>) -> Result<ControlRequest, Refused>
    where
        B: Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        self.guard.admit(request.uri(), request.headers())?;
        let route = Route::of(request.method(), request.uri().path())?;
        let load = self.load(route, request.uri().query())?;
        Ok(match route {
            Route::Status => ControlRequest::Status,
            Route::Metrics => ControlRequest::Metrics(format(request.headers())),
            Route::Rate => {
                let rate = text(request).await?.parse().map_err(malformed)?;
                ControlRequest::Order(load, Action::SetRate(rate))
            }
            Route::Shape => {
                ControlRequest::Order(load, Action::SetShape(shape(&text(request).await?)?))
            }
            Route::Pause => ControlRequest::Order(load, Action::Pause),
            Route::Resume => ControlRequest::Order(load, Action::Resume),
            Route::Stop => ControlRequest::Order(load, Action::Stop),
        })
    }

    pub(super) async fn answer(
        &self,
        asked: Result<ControlRequest, Refused>,
    ) -> Response<Full<Bytes>> {
        let answer = match asked {
            Ok(ControlRequest::Status) => Ok(self.status()),
            Ok(ControlRequest::Metrics(format)) => Ok(self.metrics(format)),
            Ok(ControlRequest::Order(load, action)) => self.order(load, action).await,
            Err(refused) => Err(refused),
        };
        answer.unwrap_or_else(Refused::response)
    }

    fn load(&self, route: Route, query: Option<&str>) -> Result<Option<usize>, Refused> {
        let bad = |reason: String| Err(Refused::new(StatusCode::BAD_REQUEST, reason));
        let names: Vec<_> = self.loads.iter().filter_map(|load| load.name.as_deref()).collect();
        let is_change = matches!(route, Route::Rate | Route::Shape);
        let Some(query) = query else {
            if is_change && self.loads.len() > 1 && !self.is_versus {
                return bad(format!("name one of the loads with ?load=NAME: {}", names.join(", ")));
            }
            return Ok(None);
        };
        if names.is_empty() || matches!(route, Route::Status | Route::Metrics) {
            return bad(format!("leave out ?{query}: there is no load to choose here"));
        }
        if is_change && self.is_versus {
            return bad(format!("leave out ?{query}: each side gets half of the rate"));
        }
        let Some(name) = query.strip_prefix("load=").filter(|name| !name.contains('&')) else {
            return bad(format!("write only ?load=NAME, once, instead of ?{query}"));
        };
        let name = percent_decode_str(name).decode_utf8_lossy();
        let index = self.loads.iter().position(|load| load.name.as_deref() == Some(&*name));
        index.map(Some).ok_or_else(|| {
            let reason = format!("there is no load {name:?}; the loads are {}", names.join(", "));
            Refused::new(StatusCode::NOT_FOUND, reason)
        })
    }

    fn status(&self) -> Response<Full<Bytes>> {
        if let [load] = &self.loads[..]
            && load.name.is_none()
        {
            return json(&self.state(load));
        }
        let loads = self.loads.iter();
        let named = loads.filter_map(|load| Some((load.name.as_deref()?, self.state(load))));
        json(&LoadsState::new(named.collect()))
    }

    fn state<'run>(&'run self, load: &'run Observed) -> State<'run> {
        State::new(&load.url, &self.control, &load.snapshot().1)
    }

    fn metrics(&self, format: Format) -> Response<Full<Bytes>> {
        let snapshots: Vec<_> = self.loads.iter().map(Observed::snapshot).collect();
        text_of(format.content_type(), exposition(&families(&snapshots), format))
    }

    async fn order(
        &self,
        load: Option<usize>,
        action: Action,
    ) -> Result<Response<Full<Bytes>>, Refused> {
        let (sender, answer) = oneshot::channel();
        let over = || Refused::new(StatusCode::CONFLICT, "the run is over");
        self.messages.send(Message::Ask(load, action, sender)).map_err(|_| over())?;
        match timeout(DEADLINE, answer).await {
            Ok(Ok(Ok(()))) => Ok(self.status()),
            Ok(Ok(Err(refusal))) => Err(Refused::new(StatusCode::CONFLICT, refusal.text())),
            Ok(Err(_)) => Err(over()),
            Err(_) => Err(Refused::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the run did not respond in time; it may still carry out the command",
            )),
        }
    }
}

fn format(headers: &HeaderMap) -> Format {
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    Format::preferred(&accept.collect::<Vec<_>>().join(","))
}

async fn text<B>(request: Request<B>) -> Result<String, Refused>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let headers = request.headers();
    if !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING) {
        return Err(Refused::new(
            StatusCode::LENGTH_REQUIRED,
            "the request has no body: send the rate or the shape as its body",
        ));
    }
    let too_long = || {
        let reason = format!("the body is too long: it can have at most {LONGEST} bytes");
        Refused::new(StatusCode::PAYLOAD_TOO_LARGE, reason)
    };
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
        Err(_) => {
            Err(Refused::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive within 5 s"))
        }
    }
}

fn shape(text: &str) -> Result<Shape, Refused> {
    if ["table:", "steps:"].iter().any(|prefix| text.starts_with(prefix)) {
        return Err(malformed("a shape in a request can't be a file: write the shape itself"));
    }
    text.parse().map_err(malformed)
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
fn malformed(error: impl ToString) -> Refused {
    Refused::new(StatusCode::BAD_REQUEST, error.to_string())
}
