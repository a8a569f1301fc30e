//! Tests the responses to rejected requests, and the header fields of all responses.

use crate::{API_KEY, behind, by_header, call, field, from};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use nanopace_nanos::ManualClock;
use nanopace_tower::{
    Answer, Fields, KeyRejected, Limiter, OnlyGrpc, Rejection, TextOrGrpc, Verdict,
};
use proptest::prelude::*;

const COSTS_TWO: fn(&Request<String>) -> u64 = |_| 2;

/// Returns rejections of each kind except `Remote`, with their HTTP status and their gRPC status.
fn rejections() -> Vec<(Rejection, u16, u16)> {
    let limiter = Limiter::new("1/h sliding-log".parse().unwrap());
    let decisions = [limiter.decide_costs(2).unwrap(), limiter.decide(), limiter.decide()];
    let by = |number: usize| Rejection::Limit(Verdict::new(decisions[number], None));
    vec![
        (by(0), 429, 8),
        (by(2), 429, 8),
        (Rejection::Key(KeyRejected::TooManyKeys { max: 7 }), 503, 14),
        (Rejection::Key(KeyRejected::NoLimits), 403, 7),
        (Rejection::Key(KeyRejected::Costs { limits: 2, costs: 1 }), 500, 13),
        (Rejection::NoKey(StatusCode::BAD_REQUEST), 400, 3),
        (Rejection::NoKey(StatusCode::INTERNAL_SERVER_ERROR), 500, 13),
        (Rejection::NoKey(StatusCode::UNAUTHORIZED), 401, 13),
    ]
}

fn of_type(content_type: &str) -> Parts {
    over(Version::HTTP_2, content_type)
}

fn over(version: Version, content_type: &str) -> Parts {
    let request = Request::post("/").version(version).header(CONTENT_TYPE, content_type);
    request.body(()).unwrap().into_parts().0
}

#[test]
fn a_rejection_has_a_text_response() {
    for (rejection, status, _) in rejections() {
        let response: Response<String> = TextOrGrpc.answer(&rejection, &of_type("text/html"));
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
        assert_eq!(response.body(), &format!("{rejection}\n"));
    }
}

#[test]
fn a_call_of_grpc_gets_a_status() {
    for (rejection, _, code) in rejections() {
        let response: Response<String> =
            TextOrGrpc.answer(&rejection, &of_type("application/grpc"));
        assert_eq!(response.status(), 200);
        assert_eq!(field(&response, "grpc-status"), code.to_string());
        assert_eq!(field(&response, "grpc-message"), rejection.to_string());
        assert_eq!(response.body(), "");
    }
}

/// A gRPC message of printable ASCII without `%` need not be encoded.
#[test]
fn texts_are_printable_ascii_without_percent_signs_and_all_different() {
    let texts: Vec<String> =
        rejections().iter().map(|(rejection, ..)| rejection.to_string()).collect();
    for text in &texts {
        assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'%'), "{text}");
    }
    let different: std::collections::HashSet<_> = texts.iter().collect();
    assert_eq!(different.len(), texts.len() - 1, "400 and 401 are the client's fault alike");
    assert!(!texts[2].contains('7'), "the number of keys is not for clients");
    assert_eq!(texts[5], "the request does not identify its sender");
    assert_eq!(texts[6], "the server cannot identify the sender of this request");
}

proptest! {
    #[test]
    fn grpc_is_recognized_by_its_content_type(
        kind in "[aA][pP][pP][lL][iI][cC][aA][tT][iI][oO][nN]/[gG][rR][pP][cC]",
        rest in "([+;][a-z+=-]{0,12})?",
    ) {
        let (rejection, ..) = &rejections()[1];
        let content_type = format!("{kind}{rest}");
        let response: Response<String> = TextOrGrpc.answer(rejection, &of_type(&content_type));
        prop_assert_eq!(field(&response, "content-type"), content_type);
        prop_assert_eq!(field(&response, "grpc-status"), "8");
    }

    #[test]
    fn other_content_types_get_no_grpc_response(
        content_type in "[a-z]{1,12}/[a-z+]{0,12}|application/grp|application/grpc[a-z0-9/ -][a-z+;]{0,9}",
    ) {
        let (rejection, ..) = &rejections()[1];
        let parts = of_type(&content_type);
        let response: Response<String> = TextOrGrpc.answer(rejection, &parts);
        prop_assert_eq!(response.status(), 429);
        prop_assert!(!response.headers().contains_key("grpc-status"));
        let response: Response<()> = OnlyGrpc.answer(rejection, &parts);
        prop_assert_eq!(field(&response, "content-type"), "application/grpc");
        prop_assert_eq!(field(&response, "grpc-status"), "8");
    }
}

#[test]
fn a_get_is_not_a_call_of_grpc() {
    let (mut parts, (rejection, ..)) = (of_type("application/grpc"), &rejections()[1]);
    parts.method = Method::GET;
    let response: Response<String> = TextOrGrpc.answer(rejection, &parts);
    assert_eq!(response.status(), 429);
}

/// gRPC needs HTTP/2. Over HTTP/1.1, a client such as curl or a probe reads only the HTTP status.
#[test]
fn a_rejection_over_http_1_has_the_status_of_http() {
    for content_type in ["application/grpc", "application/grpc+proto", "application/grpc-web"] {
        for version in [Version::HTTP_09, Version::HTTP_10, Version::HTTP_11] {
            for (rejection, status, code) in rejections() {
                let parts = over(version, content_type);
                let response: Response<String> = TextOrGrpc.answer(&rejection, &parts);
                assert_eq!(response.status(), status, "{content_type} over {version:?}");
                assert_eq!(response.body(), &format!("{rejection}\n"));
                assert!(!response.headers().contains_key("grpc-status"));
                let response: Response<()> = OnlyGrpc.answer(&rejection, &parts);
                assert_eq!(response.status(), status, "{content_type} over {version:?}");
                assert_eq!(field(&response, "grpc-status"), code.to_string());
            }
        }
    }
}

#[test]
fn grpc_over_http_3_is_like_http_2() {
    let (rejection, ..) = &rejections()[1];
    let parts = over(Version::HTTP_3, "application/grpc");
    let answers: [Response<String>; 2] =
        [TextOrGrpc.answer(rejection, &parts), OnlyGrpc.answer(rejection, &parts)];
    assert!(
        answers.iter().all(|answer| answer.status() == 200 && field(answer, "grpc-status") == "8")
    );
}

#[test]
fn the_fields_are_in_the_selected_responses() {
    let told = |fields| {
        let service = behind(&by_header("1/h", &ManualClock::new()).fields(fields));
        let responses = [call(&service, from("a")), call(&service, from("a"))];
        let told = |response: &Response<String>| {
            let headers = response.headers();
            let names = ["ratelimit", "ratelimit-policy", "retry-after"];
            names.map(|name| headers.contains_key(name))
        };
        responses.each_ref().map(told)
    };
    assert_eq!(told(Fields::Always), [[true, true, false], [true, true, true]]);
    assert_eq!(told(Fields::WhenRejected), [[false, false, false], [true, true, true]]);
    assert_eq!(told(Fields::Never), [[false, false, false], [false, false, true]]);
}

#[test]
fn layers_add_their_fields_to_a_list() {
    let clock = ManualClock::new();
    let of_each = by_header("2/h", &clock);
    let of_all =
        nanopace_tower::LimitLayer::new(Limiter::with_clock("9/h".parse().unwrap(), clock));
    let both = tower::ServiceBuilder::new().layer(of_all).layer(of_each).service_fn(crate::hello);
    let policies = |response: &_| field(response, "ratelimit-policy");
    let response = call(&both, from("a"));
    assert_eq!(policies(&response), r#""2/h";q=2;w=3600, "9/h";q=9;w=3600"#);
    assert_eq!(field(&response, "ratelimit"), r#""2/h";r=1;t=1800, "9/h";r=8;t=400"#);
    call(&both, from("a"));
    let response = call(&both, from("a"));
    assert_eq!(
        (response.status().as_u16(), field(&response, "retry-after").as_str()),
        (429, "1800")
    );
    assert_eq!(field(&response, "ratelimit"), r#""2/h";r=0;t=3600, "9/h";r=6;t=1200"#);
}

#[test]
fn a_request_that_is_never_admitted_gets_no_retry_time() {
    let service = behind(&by_header("1/h", &ManualClock::new()).cost(COSTS_TWO));
    let response = call(&service, from("a"));
    assert_eq!(response.status(), 429);
    assert!(!response.headers().contains_key(RETRY_AFTER));
    assert_eq!(
        response.body(),
        "the request costs more than is ever admitted at once: lower its cost\n"
    );
}

#[test]
fn a_function_replaces_the_default_response() {
    let teapot = |rejection: &Rejection, request: &Parts| {
        let who = request.headers[API_KEY].to_str().unwrap();
        let mut response = Response::new(format!("{who}: {rejection}"));
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        response
    };
    let service = behind(&by_header("1/h", &ManualClock::new()).answer(teapot));
    assert_eq!(call(&service, from("a")).status(), 200);
    let response = call(&service, from("a"));
    assert_eq!(response.status(), StatusCode::IM_A_TEAPOT);
    assert_eq!(response.body(), "a: too many requests: retry in 3600 s");
    assert_eq!(field(&response, "ratelimit"), r#""1/h";r=0;t=3600"#);
    assert_eq!(field(&response, "retry-after"), "3600");
}

#[test]
fn a_response_may_set_its_own_retry_time() {
    let later = |_: &Rejection, _: &Parts| {
        let mut response = Response::new(String::new());
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("9999"));
        response
    };
    let service = behind(&by_header("1/h", &ManualClock::new()).answer(later));
    call(&service, from("a"));
    assert_eq!(field(&call(&service, from("a")), "retry-after"), "9999");
}
