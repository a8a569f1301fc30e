//! Stores the requests of a run and their servers, with all properties that are known before the run.

mod sent_request;

use super::args::{ClientArgs, Header};
use super::auth;
use super::cookies::Jar;
use super::failure::Failure;
use super::labels::Labels;
use super::request::body::Flow;
use super::request::requests::{Common, Requests, authority};
use super::request::rotation::Rotation;
use super::request::targets::TargetSpec;
use super::request::templates::{Compiler, FilledRequest, Templates, Use, is_filled};
use super::response::stream_items::Items;
use super::steps::Scenario;
use super::transport::endpoint::Endpoint;
use super::transport::environment_proxy;
use super::transport::http1::request::{Lines, Outgoing, Written};
use super::transport::http2::request::request as whole;
use super::transport::kernel_delays::KernelDelays;
use super::transport::pool::Pool;
use crate::console::Unreachable;
use crate::http::client::request::request_parts::RequestParts;
use crate::http::template::values::Values;
use crate::http::template::{self, Place, Template, is_one};
use crate::load::data::Data;
use crate::net::once;
use crate::net::tls::Connector;
use crate::net::trust::Trust;
use crate::results::labels::OTHERS;
use anyhow::{Context, anyhow, ensure};
use hyper::body::Bytes;
use hyper::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue,
    PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::{Request, StatusCode, Uri};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::mem;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Plan {
    requests: Requests,
    rotation: Rotation,
    /// The scenarios, which slots take in rotation. Empty if each slot takes a single request.
    scenarios: Vec<Scenario>,
    common: Vec<Common>,
    lines: Vec<Lines>,
    /// The request as bytes, if the run has only one request and it never changes.
    only: Option<Written>,
    only_http2: Option<Request<Flow>>,
    data: Option<Data>,
    seed: u64,
    /// The number of slots that have a request, or `None` if every slot has one.
    pub(crate) most_slots: Option<u64>,
    pub(crate) labels: Labels,
    pub(crate) endpoints: Vec<Endpoint>,
    /// The TLS settings, or `None` if no server uses TLS and no option names a file for TLS.
    pub(crate) tls: Option<Connector>,
    pub(crate) http2: bool,
    pub(crate) requests_each: u64,
    pub(crate) connection_age: Duration,
    retries_idle: bool,
    pub(crate) cookies: bool,
    pub(crate) items: Option<Items>,
    pub(crate) kernel: Option<KernelDelays>,
    pub(crate) pool: Option<Pool>,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Prepared {
    index: usize,
    number: u64,
    step: u64,
    pub(crate) endpoint: usize,
}

#[derive(Debug)]
pub(crate) struct Memory {
    written: Written,
    filled: FilledRequest,
    pub(crate) taken: Vec<Vec<u8>>,
    /// The cookies of each server. Empty if the options do not enable cookies.
    pub(crate) jars: Vec<Jar>,
}

impl Memory {
    pub(crate) fn new() -> Memory {
        Memory {
            written: Written::new(),
            filled: FilledRequest::default(),
            taken: Vec::new(),
            jars: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Draft<'args> {
    args: &'args ClientArgs,
    requests: Requests,
    rotation: Rotation,
    scenarios: Vec<Scenario>,
    labels: Labels,
    endpoints: Vec<Endpoint>,
    common: Vec<Common>,
    known: HashMap<String, usize>,
    compiler: Compiler,
    pub(crate) is_unreachable: bool,
    pub(crate) url: String,
    pub(crate) scenario_hash: Option<u64>,
}

impl Draft<'_> {
    pub(crate) fn new(args: &ClientArgs) -> Draft<'_> {
        let (requests, labels, known) = (Requests::default(), Labels::default(), HashMap::new());
        let (endpoints, common, url) = (Vec::new(), Vec::new(), String::new());
        let (compiler, rotation, scenarios) =
            (Compiler::default(), Rotation::default(), Vec::new());
        Draft {
            args,
            requests,
            rotation,
            scenarios,
            labels,
            endpoints,
            common,
            known,
            compiler,
            is_unreachable: false,
            url,
            scenario_hash: None,
        }
    }

    pub(crate) fn fill_with(&mut self, data: Option<Data>) {
        self.compiler = Compiler::new(data);
    }

    pub(crate) fn add(&mut self, target: &TargetSpec) -> anyhow::Result<()> {
        let label = self.labels.number(target);
        self.request(target, label)?;
        self.rotation.add(target.weight);
        Ok(())
    }

    pub(crate) fn add_recorded(&mut self, target: &TargetSpec) -> anyhow::Result<()> {
        let label = self.labels.number_of_recorded(target);
        self.request(target, label)
    }

    pub(crate) fn add_slot(&mut self, request: u32) {
        self.rotation.list(request);
    }

    /// Adds the request of a step and returns its index. Earlier steps extract the values named in `taken`.
    pub(crate) fn add_step(
        &mut self,
        target: &TargetSpec,
        taken: &[String],
    ) -> anyhow::Result<usize> {
        taken.clone_into(&mut self.compiler.taken);
        self.request(target, 0)?;
        Ok(self.requests.count() - 1)
    }

    pub(crate) fn expected(&mut self, text: &str) -> anyhow::Result<Template> {
        self.compiler.template(text, Place::Body)
    }

    /// Adds a scenario. The requests of the scenario must already have been added.
    pub(crate) fn add_scenario(&mut self, scenario: Scenario, weight: u32) {
        self.scenarios.push(scenario);
        self.rotation.add(weight);
    }

    pub(crate) fn take_uses(&mut self) -> BTreeSet<Use> {
        mem::take(&mut self.compiler.uses)
    }

    pub(crate) fn has_column(&self, name: &str) -> bool {
        self.compiler.data.as_ref().is_some_and(|data| data.column(name).is_some())
    }

    fn request(&mut self, target: &TargetSpec, label: u8) -> anyhow::Result<()> {
        if self.requests.count() == 0 {
            self.url = template::shown(&target.url);
        }
        once::check(target.headers.iter().map(|(name, _)| name))?;
        let endpoint = self.endpoint_of(&target.url)?;
        let usual = &self.common[endpoint].usual;
        if self.args.http2 {
            for host in usual.get(HOST).into_iter().chain(own(target, &HOST)) {
                authority(host)
                    .with_context(|| format!("{host:?} in the header Host is not a host"))?;
            }
        }
        let is_user = self.args.basic_auth.is_some();
        self.check_twice(target, is_user.then_some(("--basic-auth", AUTHORIZATION)))?;
        self.check_twice(target, self.args.cookies.then_some(("--cookies", COOKIE)))?;
        let is_proxys =
            self.args.connection.proxy.as_ref().is_some_and(|proxy| proxy.user.is_some());
        let proxys = is_proxys.then_some(("a user of --proxy", PROXY_AUTHORIZATION));
        self.check_twice(target, proxys)?;
        let templates = self.templates(target)?;
        let body = templates.as_ref().map_or(Some(target.body.len()), Templates::body_length);
        let usual = self.common[endpoint].usual.get(CONTENT_LENGTH);
        if let Some(length) = own(target, &CONTENT_LENGTH).or(usual) {
            check_length(length, body)?;
        }
        let added = match templates {
            Some(templates) => self.requests.add_filled(&target.method, templates, endpoint, label),
            None => self.requests.add(target, endpoint, label),
        };
        added.map_err(anyhow::Error::msg)
    }

    /// Returns an error if a header must occur only once, but two sources set it. A server would use one of the two
    /// headers, or would reject the request.
    fn check_twice(
        &self,
        target: &TargetSpec,
        sent: Option<(&str, HeaderName)>,
    ) -> anyhow::Result<()> {
        let Some((option, header)) = sent else { return Ok(()) };
        let given = self.args.header.iter().map(|header| &header.name);
        let mut names = given.chain(target.headers.iter().map(|(name, _)| name));
        let is_twice = names.any(|name| *name == header);
        ensure!(!is_twice, "{option} and a header {header} are both given: leave one of them out");
        Ok(())
    }

    fn templates(&mut self, target: &TargetSpec) -> anyhow::Result<Option<Templates>> {
        let filled = self.args.header.iter().filter(|header| is_one(header.value.as_bytes()));
        let filled =
            filled.filter(|it| !once::is_once(&it.name) || own(target, &it.name).is_none());
        let filled: Vec<_> =
            filled.map(|Header { name, value }| (name.clone(), value.clone())).collect();
        if filled.is_empty() && !is_filled(target) {
            return Ok(None);
        }
        let headers = filled.into_iter().chain(target.headers.iter().cloned()).collect();
        let whole = TargetSpec { headers, ..target.clone() };
        self.compiler.compile(&whole, self.args.http2).map(Some)
    }

    fn endpoint_of(&mut self, url: &Uri) -> anyhow::Result<usize> {
        let authority = url.authority().map_or("", |authority| authority.as_str());
        let server = format!("{}://{authority}", url.scheme_str().unwrap_or_default());
        if let Some(index) = self.known.get(&server) {
            return Ok(*index);
        }
        let endpoint =
            Endpoint::new(url, &self.args.connection, self.args.http2).map_err(|error| {
                let is_unresolved = self.args.connection.proxy.is_none() && error.is::<io::Error>();
                let advice =
                    if is_unresolved { environment_proxy::advice(url) } else { String::new() };
                let told = format!("{error:#}{advice}");
                self.is_unreachable |= error.is::<Unreachable>();
                if error.is::<Unreachable>() { Unreachable(told).into() } else { anyhow!(told) }
            })?;
        self.common.push(common(url, &endpoint.authority, self.args)?);
        self.endpoints.push(endpoint);
        self.known.insert(server, self.endpoints.len() - 1);
        Ok(self.endpoints.len() - 1)
    }

    pub(crate) fn complete(
        self,
        trust: Trust<'_>,
        timeout: Duration,
        seed: u64,
    ) -> anyhow::Result<Plan> {
        let Draft { args, labels, endpoints, common, compiler, .. } = self;
        let requests = self.requests.complete();
        let is_one = requests.count() == 1 && requests.templates(0).is_none() && !args.cookies;
        let lines: Vec<_> = common.iter().map(Lines::new).collect();
        let has_tls = endpoints.iter().any(|endpoint| endpoint.tls_name.is_some());
        Ok(Plan {
            only: is_one.then(|| written(&requests.get(0), &lines[0])),
            only_http2: (is_one && args.http2)
                .then(|| whole(&requests.get(0), Flow::of(requests.body_of(0)), &common[0]))
                .and_then(Result::ok),
            most_slots: compiler.data.as_ref().and_then(Data::most_slots),
            data: compiler.data,
            seed,
            lines,
            requests,
            rotation: self.rotation.complete(),
            scenarios: self.scenarios,
            common,
            labels,
            endpoints,
            tls: connector(trust, args, has_tls)?,
            http2: args.http2,
            requests_each: if args.disable_keepalive {
                1
            } else {
                args.connection_requests.unwrap_or(u64::MAX)
            },
            connection_age: args.connection_age.unwrap_or(Duration::MAX),
            retries_idle: !args.no_retry_idle,
            cookies: args.cookies,
            items: args.items.clone(),
            kernel: args.connection.kernel_timestamps.then(KernelDelays::begin).transpose()?,
            pool: (args.streams > 1).then(|| Pool::new(args.streams as usize)),
            timeout,
            connect_timeout: args.connection.connect_timeout.min(timeout),
        })
    }
}

impl Plan {
    /// Returns the request of a slot. All processes that share the load choose the same request.
    pub(crate) fn of_slot(&self, number: u64) -> Prepared {
        let index = self.rotation.of_slot(number);
        self.of_step(index, number, 0)
    }

    pub(crate) fn of_step(&self, index: usize, number: u64, step: u64) -> Prepared {
        Prepared { index, number, step, endpoint: self.requests.server(index) }
    }

    /// Returns whether a request may be retried on a new connection. A retry is allowed in two cases:
    ///
    /// * The server has certainly not processed the request (RFC 9113, section 8.7).
    /// * The connection was closed while it was idle, the options allow a retry, and the method is safe (RFC 9110,
    ///   section 9.2.1).
    pub(crate) fn is_sent_again(
        &self,
        request: Prepared,
        status: Result<StatusCode, Failure>,
    ) -> bool {
        let is_safe = || {
            let method = self.requests.get(request.index).method;
            [&b"GET"[..], b"HEAD", b"OPTIONS", b"TRACE"].contains(&method)
        };
        match status {
            Err(Failure::NotTaken) => true,
            Err(Failure::ClosedIdle) => self.retries_idle && is_safe(),
            _ => false,
        }
    }

    pub(crate) fn open_files(&self, sessions: &[usize]) -> u64 {
        let shared_by = self.pool.as_ref().map_or(1, Pool::most);
        let to_each = sessions.iter().map(|sessions| sessions.div_ceil(shared_by)).sum::<usize>();
        (to_each * self.endpoints.len() + self.requests.files()) as u64
    }

    pub(crate) fn has_scenarios(&self) -> bool {
        !self.scenarios.is_empty()
    }

    pub(crate) fn scenario_labels(&self) -> Vec<&'static str> {
        let of = |scenario: &Scenario| {
            let steps = scenario.steps.iter().map(|step| step.label);
            scenario.label.into_iter().chain(steps).collect::<Vec<_>>()
        };
        self.scenarios.iter().flat_map(of).collect()
    }

    pub(crate) fn may_have(&self, label: &str) -> bool {
        let steps = self.scenario_labels();
        label == OTHERS || steps.contains(&label) || steps.is_empty() && self.labels.may_have(label)
    }

    pub(crate) fn scenario(&self, number: u64) -> Option<&Scenario> {
        self.has_scenarios().then(|| &self.scenarios[self.rotation.of_slot(number)])
    }

    pub(crate) fn values<'a>(&'a self, number: u64, taken: &'a [Vec<u8>]) -> Values<'a> {
        Values::of_step(0, number, self.seed, self.data.as_ref(), taken)
    }

    /// Returns the random values for a think time. They differ from the random values of all requests.
    pub(crate) fn think_values(&self, slot: u64, step: u64) -> Values<'_> {
        Values::of_step((1 << 32) + step, slot, self.seed, None, &[])
    }

    pub(crate) fn probe(&self) -> Prepared {
        match self.scenario(0) {
            Some(scenario) => self.of_step(scenario.steps[0].request, 0, 0),
            None => self.of_slot(0),
        }
    }

    pub(crate) fn label(&self, request: Prepared, status: Option<StatusCode>) -> &'static str {
        self.labels.label(self.requests.label(request.index), status)
    }

    pub(crate) fn text<'a>(&'a self, request: Prepared, memory: &'a mut Memory) -> Outgoing<'a> {
        if let Some(only) = &self.only {
            let body = self.requests.body_of(request.index);
            return only.with([body.memory(), b"", b""], body.file());
        }
        let Memory { written, filled, taken, jars } = memory;
        let parts = self.parts(request, filled, taken, jars);
        self.lines[request.endpoint].write(&parts, written);
        written.with(parts.body, parts.file)
    }

    pub(crate) fn http2(
        &self,
        request: Prepared,
        memory: &mut Memory,
    ) -> Result<Request<Flow>, Failure> {
        if let Some(only) = &self.only_http2 {
            return Ok(only.clone());
        }
        let parts = self.parts(request, &mut memory.filled, &memory.taken, &memory.jars);
        let body = match (parts.file, self.requests.templates(request.index)) {
            (Some(file), _) => Flow::of_large(file),
            (None, Some(_)) => Flow::of(&Bytes::from(parts.body.concat()).into()),
            (None, None) => Flow::of(self.requests.body_of(request.index)),
        };
        whole(&parts, body, &self.common[request.endpoint])
    }

    fn parts<'a>(
        &'a self,
        request: Prepared,
        filled: &'a mut FilledRequest,
        taken: &[Vec<u8>],
        jars: &'a [Jar],
    ) -> RequestParts<'a> {
        let parts = self.requests.get(request.index);
        let parts = match self.requests.templates(request.index) {
            Some(templates) => {
                let Prepared { step, number, .. } = request;
                let mut values =
                    Values::of_step(step, number, self.seed, self.data.as_ref(), taken);
                templates.fill(parts.method, &mut values, filled)
            }
            None => parts,
        };
        let cookie = jars.get(request.endpoint).map_or(parts.cookie, Jar::header);
        RequestParts { cookie, ..parts }
    }
}

/// Creates the TLS settings. The files that options name are read even if no server uses TLS, so that errors in them
/// are always reported.
fn connector(
    trust: Trust<'_>,
    args: &ClientArgs,
    has_tls: bool,
) -> anyhow::Result<Option<Connector>> {
    let identity = args.connection.identity();
    let trust = match trust {
        Trust::File(_) => trust,
        _ if has_tls => trust,
        _ if identity.is_none() => return Ok(None),
        _ => Trust::Anyone,
    };
    Connector::new(trust, identity, args.http2).map(Some)
}

fn own<'a>(target: &'a TargetSpec, name: &HeaderName) -> Option<&'a HeaderValue> {
    target.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value)
}

fn written(parts: &RequestParts<'_>, lines: &Lines) -> Written {
    let mut written = Written::new();
    lines.write(parts, &mut written);
    written
}

/// Returns an error if the given length is not the length of the body. The server would wait for missing bytes, or
/// would parse additional bytes as the next request.
fn check_length(given: &HeaderValue, body: Option<u64>) -> anyhow::Result<()> {
    let body = body.context("leave Content-Length out: placeholders change the body's length")?;
    let is_right = given.to_str().ok().and_then(|given| given.parse().ok()) == Some(body);
    ensure!(
        is_right,
        "the header Content-Length is {given:?}, but the body has {}",
        crate::console::human::count(body, "byte")
    );
    Ok(())
}

fn common(url: &Uri, authority: &str, args: &ClientArgs) -> anyhow::Result<Common> {
    let mut usual = HeaderMap::new();
    let agent = concat!("nanopace/", env!("CARGO_PKG_VERSION"));
    usual.insert(USER_AGENT, HeaderValue::from_static(agent));
    // HTTP/2 sends the host in the pseudo-header `:authority` instead of `Host`.
    if !args.http2 {
        usual.insert(HOST, authority.parse().context("not a host")?);
    }
    if args.disable_keepalive {
        usual.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let mut given = HeaderMap::new();
    let as_they_are = args.header.iter().filter(|header| !is_one(header.value.as_bytes()));
    for Header { name, value } in as_they_are {
        if once::is_once(name) {
            usual.insert(name, value.clone());
        } else {
            given.append(name, value.clone());
        }
    }
    // The proxy cannot read the headers of requests with TLS, because they pass through a tunnel. Only requests without
    // TLS therefore contain the proxy's credentials.
    let proxy = args.connection.proxy.as_ref().filter(|_| url.scheme_str() == Some("http"));
    let proxy_user = proxy.and_then(|proxy| proxy.user.as_ref());
    auth::add_to(&mut given, args.basic_auth.as_deref(), proxy_user);
    Ok(Common { url: url.clone(), is_to_proxy: proxy.is_some(), usual, given })
}
