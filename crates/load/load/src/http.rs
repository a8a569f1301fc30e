//! Implements runs and searches whose target is an HTTP server.

pub(crate) mod args;
pub(crate) mod client;
pub(crate) mod embedded;
pub(crate) mod loads;
mod replay;
mod scenario;
mod template;
pub(crate) mod time_distribution;

use crate::console::Progress;
use crate::console::Unreachable;
use crate::console::panics::locked;
use crate::load::backend::{Backend, Steps};
use crate::load::data;
use crate::load::details::SetUp;
use crate::load::kind::{self, FailureKind};
use crate::load::own_times::{OwnTimes, Part};
use crate::load::shortage::Shortage;
use crate::load::target::{Done, Failure, Slot};
use crate::net::trust::{Tls, Trust};
use crate::running::args::RunArgs;
use crate::running::files;
use crate::running::search::Job;
use crate::running::setup::Setup;
use anyhow::Context;
use args::{HttpRunArgs, HttpSearchArgs, RequestArgs};
use client::args::HAS_HTTP2;
use client::failure::{Failure as Why, GROUPS};
use client::plan::{Draft, Memory, Plan};
use client::request::targets;
use client::response::item_times::StreamTimings;
use client::session::{Answer, Session};
use client::single_request;
use client::transport::addresses::Addresses;
use client::transport::args::ConnectionArgs;
use client::transport::endpoint::Endpoint;
use client::transport::environment_proxy;
use client::transport::kernel_delays::KernelDelays;
use embedded::{Embedded, EmbeddedTarget};
use nanopace::{Nanos, Pacer, Rate, StdClock};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) fn setup<E: EmbeddedTarget>(args: HttpRunArgs<E>) -> anyhow::Result<Setup> {
    let HttpRunArgs { requests, load, .. } = args;
    Setup::new(load, &requests.inputs(), |load| Http::new(&requests, load))
}

pub(crate) fn written<E: EmbeddedTarget>(
    args: &RequestArgs<E>,
    load: &RunArgs,
) -> anyhow::Result<impl FnMut(u64) -> usize + use<E>> {
    let (_, draft) = what(args, load)?;
    let plan =
        draft.complete(trust(&args.client.connection, None), load.timeout, load.schedule.seed)?;
    let mut memory = Memory::new();
    Ok(move |number| {
        plan.text(plan.of_slot(number), &mut memory).parts.map(<[u8]>::len).iter().sum()
    })
}

pub(crate) fn job<E: EmbeddedTarget>(args: HttpSearchArgs<E>) -> anyhow::Result<Job> {
    let HttpSearchArgs { requests, search } = args;
    Job::new(search, &requests.inputs(), |load| Http::new(&requests, load))
}

pub(crate) struct Http {
    url: String,
    scenarios: Option<String>,
    scenario_hash: Option<String>,
    /// The part of messages that names the Unix socket or the proxy. It is empty if requests go directly to the
    /// servers.
    by: String,
    has_proxy: bool,
    plan: Arc<Plan>,
    streams: Option<StreamTimings>,
    embedded: Option<Embedded>,
    clock: Mutex<Pacer>,
    /// Records the steps of scenarios, and the items that arrived in responses before their calls were given up.
    counted_by: Mutex<Option<Arc<dyn Steps>>>,
}

impl Http {
    fn new<E: EmbeddedTarget>(args: &RequestArgs<E>, load: &RunArgs) -> anyhow::Result<Http> {
        kind::expect(&GROUPS);
        let (embedded, draft) = what(args, load)?;
        let url = draft.url.clone();
        let scenario_hash = draft.scenario_hash.map(|hash| format!("{hash:016x}"));
        let seed = load.schedule.seed;
        let plan = draft.complete(
            trust(&args.client.connection, embedded.as_ref()),
            load.timeout,
            seed,
        )?;
        let plan = Arc::new(plan);
        let has_proxy = args.client.connection.proxy.is_some();
        if let Some(told) = environment_proxy::unused_proxy(&plan.endpoints).filter(|_| !has_proxy)
        {
            Progress::of_a_job().add_line(&told);
        }
        let by = by(&args.client.connection);
        // The pacer is used only as a clock, so its rate does not matter.
        let clock = Pacer::builder(Rate::per_second(1)?).clock(StdClock::new()).build();
        let clock = Mutex::new(clock);
        let streams = plan.items.as_ref().map(|_| StreamTimings::new());
        let counted_by = Mutex::new(None);
        let scenarios =
            args.scenario.as_ref().map(|path| format!("scenarios of {}", path.display()));
        Ok(Http {
            url,
            scenarios,
            scenario_hash,
            by,
            has_proxy,
            plan,
            streams,
            embedded,
            clock,
            counted_by,
        })
    }

    fn session(&self, index: usize) -> Session {
        let clock = locked(&self.clock);
        Session::new(&self.plan, &clock, index)
    }

    async fn call_for_items(
        &self,
        streams: &StreamTimings,
        session: &mut Session,
        slot: Slot,
    ) -> Result<Done, Failure> {
        let streams = Some(streams).filter(|_| slot.is_recorded);
        let due = slot.intended_start();
        let mut watched = Watched { streams, session, due, is_given_up: true };
        let (answer, label) = watched.session.send(slot.number(), slot.start).await;
        watched.is_given_up = false;
        let mut done = answer.done().label(label);
        if let Some(seen) = watched.session.seen() {
            done = done.items(seen.items.len() as u64);
        }
        result(&answer, done)
    }
}

fn result(answer: &Answer, done: Done) -> Result<Done, Failure> {
    answer.outcome().map(|()| done).map_err(|why| answer.failure(why.kind()).with(done))
}

impl Backend for Http {
    type Session = Session;

    async fn connect(&self, index: usize) -> Result<Session, Failure> {
        let mut session = self.session(index);
        if self.plan.has_scenarios() || self.streams.is_some() {
            let counted_by = locked(&self.counted_by);
            session.counted_by.clone_from(&counted_by);
        }
        session.open_all().await;
        Ok(session)
    }

    async fn call(&self, session: &mut Session, slot: Slot) -> Result<Done, Failure> {
        session.is_recorded = slot.is_recorded;
        if let Some(scenario) = self.plan.scenario(slot.number()) {
            // The future is boxed, so that the future of a single request stays small.
            return Box::pin(scenario::run::run(scenario, session, slot)).await;
        }
        if let Some(streams) = &self.streams {
            return self.call_for_items(streams, session, slot).await;
        }
        let (answer, label) = session.send(slot.number(), slot.start).await;
        result(&answer, answer.done().label(label))
    }

    /// Checks that the server is reachable. An error status counts as a success, because the server has responded.
    async fn probe(&self) -> Result<(), Failure> {
        match self.session(0).probe().await.outcome() {
            Ok(()) | Err(Why::Status(_)) => Ok(()),
            Err(why) => Err(Failure::of(why.kind())),
        }
    }

    fn name(&self) -> String {
        self.scenarios.clone().unwrap_or_else(|| self.url.clone())
    }

    fn remark(&self) -> &'static str {
        match (self.has_proxy, &self.embedded) {
            (true, _) => " (through a proxy)",
            (false, Some(_)) => " (embedded target)",
            (false, None) => "",
        }
    }

    fn warnings(&self) -> Vec<String> {
        let proxy = self
            .has_proxy
            .then(|| "requests went through a proxy: times include its delays".to_owned());
        let addresses = self.plan.endpoints.iter().filter_map(Endpoint::addresses);
        proxy.into_iter().chain(addresses.filter_map(Addresses::warning)).collect()
    }

    fn absence(&self, failure: &Failure) -> String {
        let kind = failure.kind;
        let addresses = self.plan.endpoints[self.plan.probe().endpoint].addresses();
        let refusals = addresses.and_then(Addresses::refusals);
        let refusals = refusals.map_or_else(String::new, |refusals| format!(" ({refusals})"));
        format!("no response from {}{}: {kind}{refusals}{}", self.url, self.by, advice(kind))
    }

    fn paced_by(&self, pacer: &Pacer) {
        *locked(&self.clock) = pacer.clone();
    }

    fn counted_by(&self, steps: Arc<dyn Steps>) {
        if self.plan.has_scenarios() || self.streams.is_some() {
            *locked(&self.counted_by) = Some(steps);
        }
    }

    fn schedule_starts(&self) {
        self.embedded.iter().for_each(|embedded| (embedded.schedule_starts)());
    }

    fn keeps_to_timeout(&self) -> bool {
        true
    }

    fn is_local(&self) -> bool {
        self.plan.endpoints.iter().all(Endpoint::is_local)
    }

    /// Returns how many requests per second one thread can make with capacity to spare. At low rates, a request takes
    /// up to 70 us of CPU time on a virtual machine, mostly to wake up the thread, so 10 000 requests per second take
    /// at most 70 % of a core. Scenarios may take longer.
    fn calls_per_thread(&self) -> Option<f64> {
        (!self.plan.has_scenarios()).then_some(10_000.0)
    }

    fn set_ups(&self, session: &mut Session) -> Option<Vec<SetUp>> {
        Some(session.take_set_ups())
    }

    fn open_files(&self, sessions: &[usize]) -> u64 {
        // If the embedded target runs in this process, both ends of each connection are open files of this process.
        let ends = if self.embedded.is_some() { 2 } else { 1 };
        ends * self.plan.open_files(sessions)
    }

    fn has_labels(&self) -> bool {
        self.plan.labels.count() > 1 || self.plan.has_scenarios()
    }

    fn scenario_hash(&self) -> Option<String> {
        self.scenario_hash.clone()
    }

    fn labels(&self) -> Vec<&'static str> {
        self.plan.scenario_labels()
    }

    fn may_have(&self, label: &str) -> bool {
        self.plan.may_have(label)
    }

    fn most_slots(&self) -> Option<u64> {
        self.plan.most_slots
    }

    fn request(&self, slot: u64) -> Result<Option<Value>, &'static str> {
        match () {
            () if self.plan.has_scenarios() => Err(
                "requests of a scenario depend on earlier responses: leave --scenario or --again out",
            ),
            () if self.plan.cookies => Err(
                "requests with cookies depend on earlier responses: leave --cookies or --again out",
            ),
            () => Ok(Some(self.plan.sent_request(slot))),
        }
    }

    fn take_own_times(&self) -> Vec<OwnTimes> {
        let streams = self.streams.iter().flat_map(StreamTimings::take);
        streams.chain(self.plan.kernel.iter().flat_map(KernelDelays::take)).collect()
    }

    fn has_timed(&self, part: Part) -> &'static str {
        part.option()
    }

    fn resolved_in(&self) -> Duration {
        self.plan.endpoints.iter().map(|endpoint| endpoint.resolved_in).sum()
    }
}

/// A session during a call. When this value is dropped, the arrival times of the items that have arrived are recorded.
/// If the call was given up, these items are also counted.
struct Watched<'run> {
    streams: Option<&'run StreamTimings>,
    session: &'run mut Session,
    due: Nanos,
    is_given_up: bool,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let (Some(streams), Some(seen)) = (self.streams, self.session.seen()) else { return };
        streams.record(seen, self.due);
        // The items of a call that ends normally are counted with the `Done` that it returns, so only the items of
        // calls that were given up are counted here.
        if let Some(counted_by) = self.session.counted_by.as_ref().filter(|_| self.is_given_up) {
            let done = Done::new().items(seen.items.len() as u64);
            let given_up = Failure::of(Why::Timeout.kind()).with(done);
            counted_by.end(self.session.index, self.due, self.session.now(), Err(given_up));
        }
    }
}

fn what<'a, E: EmbeddedTarget>(
    args: &'a RequestArgs<E>,
    load: &RunArgs,
) -> anyhow::Result<(Option<Embedded>, Draft<'a>)> {
    anyhow::ensure!(
        HAS_HTTP2 || !args.client.http2,
        "--http2 is not in this build: build nanopace-cli with its feature http2"
    );
    anyhow::ensure!(
        !args.client.connection.kernel_timestamps || !args.client.http2,
        "--kernel-timestamps works only with HTTP/1.1: leave --http2 out"
    );
    anyhow::ensure!(
        !args.client.connection.kernel_timestamps || args.client.connection.unix_socket.is_none(),
        "--kernel-timestamps works only with TCP: leave --unix-socket out"
    );
    args.client.check()?;
    let mut draft = Draft::new(&args.client);
    let slots_per_row = if load.is_versus { 2 } else { 1 };
    draft.fill_with(data::read(&args.data, load.schedule.seed, slots_per_row)?);
    match fill(args, load, &mut draft) {
        Ok(embedded) => Ok((embedded, draft)),
        Err(error) if draft.is_unreachable => Err(Unreachable(format!("{error:#}")).into()),
        Err(error) => Err(error),
    }
}

fn fill<E: EmbeddedTarget>(
    args: &RequestArgs<E>,
    load: &RunArgs,
    draft: &mut Draft<'_>,
) -> anyhow::Result<Option<Embedded>> {
    if let Some(recording) = load.schedule.arrivals.recording()
        && let Some(bodies) = replay::read(recording, args, draft)?
    {
        let bodies = bodies.iter().map(|body| ("a request of --arrivals", body.as_path()));
        files::check_bodies(load, &args.inputs(), bodies)?;
        return Ok(None);
    }
    if let Some(path) = &args.targets {
        let add = |target| draft.add(&target).map_err(|error| format!("{error:#}"));
        let bodies = targets::read(path, add)?;
        let bodies = bodies.iter().map(|body| ("a request of --targets", body.as_path()));
        files::check_bodies(load, &args.inputs(), bodies)?;
        return Ok(None);
    }
    if let Some(path) = &args.scenario {
        kind::expect(&scenario::GROUPS);
        scenario::read(path, draft)?;
        return Ok(None);
    }
    if let Some(url) = &args.url {
        draft.add(&single_request::target(url, &args.client)?)?;
        return Ok(None);
    }
    let embedded = args.target.start().map_err(anyhow::Error::from_boxed);
    let embedded = embedded.context("cannot start the embedded target")?;
    draft.add(&single_request::target(&embedded.url, &args.client)?)?;
    Ok(Some(embedded))
}

fn trust<'a>(args: &'a ConnectionArgs, embedded: Option<&'a Embedded>) -> Trust<'a> {
    let certificate = embedded.and_then(|embedded| embedded.certificate_pem.as_deref());
    match (&args.cacert, certificate) {
        _ if args.insecure => Trust::Anyone,
        (Some(path), _) => Trust::File(path),
        (None, Some(certificate)) => Trust::Only(certificate),
        (None, None) => Trust::System,
    }
}

fn by(args: &ConnectionArgs) -> String {
    match (&args.unix_socket, &args.proxy) {
        (Some(path), _) => format!(" through {}", path.display()),
        (_, Some(proxy)) => format!(" through the proxy {}:{}", proxy.host, proxy.port),
        _ => String::new(),
    }
}

fn advice(kind: FailureKind) -> String {
    if let Some(shortage) = Shortage::of_kind(kind) {
        return format!("; {}", shortage.advice());
    }
    let known = [
        (
            Why::Tls(Tls::Untrusted),
            "; trust it with --cacert FILE, or trust any certificate with --insecure",
        ),
        (
            Why::Tls(Tls::OtherName),
            "; write a name that the certificate contains in the URL, and give its address with --resolve",
        ),
        (Why::Tls(Tls::Expired), "; trust any certificate with --insecure"),
        (Why::Tls(Tls::NotKnown), "; give a client certificate and key with --cert and --key"),
        (Why::Tls(Tls::NoHttp2), "; leave --http2 out"),
        (
            Why::Tls(Tls::BrokenOff),
            "; the server may need another TLS version or cipher, or a client certificate (--cert and --key)",
        ),
        (
            Why::Tls(Tls::NotAgreed),
            "; does the server speak TLS? If it does not, write http:// in the URL",
        ),
        (
            Why::Protocol,
            "; does the server speak this version of HTTP? If it needs TLS, write https:// in the URL",
        ),
    ];
    let known = known.iter().find(|(why, _)| why.kind() == kind);
    known.map_or_else(String::new, |(_, advice)| (*advice).to_owned())
}
