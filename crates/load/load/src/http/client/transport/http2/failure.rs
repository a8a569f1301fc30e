//! Converts errors of hyper and h2 to failures.

use crate::http::client::failure::Failure;
use h2::Reason;
use hyper::client::conn::TrySendError;
use std::io;

impl<T> From<&TrySendError<T>> for Failure {
    fn from(error: &TrySendError<T>) -> Failure {
        // hyper returns the request with the error if it has not handled the request. If the connection ends while the
        // request waits until the server allows another stream, hyper drops the request and reports an error that it
        // attributes to its user. The request has not been written in either case.
        let (error, request) = (error.error(), error.message());
        let is_dropped = error.is_user() && std::error::Error::source(error).is_some();
        if request.is_some() || is_dropped { Failure::NotTaken } else { error.into() }
    }
}

impl From<&hyper::Error> for Failure {
    fn from(error: &hyper::Error) -> Failure {
        let source = std::error::Error::source(error);
        let http2 = source.and_then(|source| source.downcast_ref::<h2::Error>());
        let io = source.and_then(|source| source.downcast_ref::<io::Error>());
        match io.or(http2.and_then(h2::Error::get_io)) {
            Some(error) => error.into(),
            None if error.is_incomplete_message() || error.is_canceled() => Failure::HungUp,
            None => match http2 {
                Some(error) if error.is_remote() => told_by_server(error),
                // The client resets a stream only if the body file cannot be read to its end.
                Some(error) if error.is_reset() && !error.is_library() => Failure::BodyFile,
                Some(error) => found_here(error),
                None => Failure::Protocol,
            },
        }
    }
}

fn found_here(error: &h2::Error) -> Failure {
    match (error.is_reset(), error.reason()) {
        (true, Some(Reason::PROTOCOL_ERROR)) | (false, Some(Reason::ENHANCE_YOUR_CALM)) => {
            Failure::Unreadable
        }
        _ => Failure::Protocol,
    }
}

/// Interprets the error code of an `RST_STREAM` or `GOAWAY` frame (RFC 9113, sections 6.4, 6.8 and 8.7).
fn told_by_server(error: &h2::Error) -> Failure {
    match (error.is_reset(), error.reason()) {
        (true, Some(Reason::REFUSED_STREAM)) => Failure::Refused,
        (true, Some(reason)) => Failure::Reset(code(reason)),
        // The server has announced the last request that it processes. The failed request is later, so it was not
        // processed.
        (false, Some(Reason::NO_ERROR)) => Failure::NotTaken,
        _ => Failure::HungUp,
    }
}

fn code(reason: Reason) -> u8 {
    u8::try_from(u32::from(reason)).unwrap_or(u8::MAX)
}
