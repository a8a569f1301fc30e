//! Defines the paths of the control server and their methods.

use super::responses::Refused;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, StatusCode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Status,
    Metrics,
    Rate,
    Shape,
    Pause,
    Resume,
    Stop,
}

const ROUTES: [(&str, &str, Route); 7] = [
    ("/status", LOOK, Route::Status),
    ("/metrics", LOOK, Route::Metrics),
    ("/rate", "PUT", Route::Rate),
    ("/shape", "PUT", Route::Shape),
    ("/pause", "POST", Route::Pause),
    ("/resume", "POST", Route::Resume),
    ("/stop", "POST", Route::Stop),
];

const LOOK: &str = "GET, HEAD";

impl Route {
    pub(super) fn of(method: &Method, path: &str) -> Result<Route, Refused> {
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
