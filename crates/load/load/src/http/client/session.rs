//! Sends one request at a time. Opens, reuses and closes connections, and retries requests where this is allowed.

use super::connection::Connection;
use super::cookies::Jar;
use super::failure::Failure;
use super::plan::{Memory, Plan, Prepared};
use super::response::extraction::SearchedResponse;
use super::response::item_times::{ItemTimer, SeenItems};
use super::response::observer::ResponseObserver;
use super::response::retained::{RetainedResponse, Wanted};
use super::steps::Step;
use crate::http::template::values::Values;
use crate::load::backend::Steps;
use crate::load::details::SetUp;
use crate::load::kind::FailureKind;
use crate::running::workers::deadline::Deadline;
use crate::{Done, Failure as Failed};
use hyper::StatusCode;
use nanopace::{Nanos, Pacer};
use std::mem;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(crate) struct Session {
    plan: Arc<Plan>,
    clock: Pacer,
    servers: Vec<Server>,
    deadline: Deadline,
    memory: Memory,
    observer: Option<ResponseObserver>,
    /// Whether the session can use [`send_flat`](Session::send_flat): HTTP/1.1 without cookies, without kernel
    /// timestamps and without an observer.
    is_flat: bool,
    pub(crate) index: usize,
    pub(crate) is_recorded: bool,
    pub(crate) counted_by: Option<Arc<dyn Steps>>,
    set_ups: Vec<SetUp>,
}

/// The connection to one server.
#[derive(Default)]
struct Server {
    open: Option<Connection>,
    carried: u64,
    opened: Nanos,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) status: Result<StatusCode, Failure>,
    pub(crate) sent: Nanos,
    pub(crate) set_up: Option<SetUp>,
    pub(crate) traffic: (u64, u64),
    /// Whether the request was retried, because the connection of the first attempt was closed while idle.
    pub(crate) is_retried: bool,
    pub(crate) is_sent: bool,
}

impl Answer {
    pub(crate) fn done(&self) -> Done {
        let (read, written) = self.traffic;
        let done = Done::new().bytes(read, written).sent(self.sent, self.set_up);
        let done = if self.is_retried { done.retried() } else { done };
        self.head_status().map_or(done, |status| done.status(status.as_u16()))
    }

    fn head_status(&self) -> Option<StatusCode> {
        match self.status {
            Err(Failure::Status(status)) => StatusCode::from_u16(status).ok(),
            status => status.ok(),
        }
    }

    fn after(self, first: &Answer) -> Answer {
        let ([read, written], before) = ([self.traffic.0, self.traffic.1], first.traffic);
        let is_retried = first.status == Err(Failure::ClosedIdle);
        Answer { traffic: (read + before.0, written + before.1), is_retried, ..self }
    }

    pub(crate) fn failure(&self, kind: FailureKind) -> Failed {
        let failed = Failed::of(kind);
        if self.is_sent { failed } else { failed.unconnected() }
    }

    pub(crate) fn outcome(&self) -> Result<(), Failure> {
        self.status.and_then(Failure::judge)
    }
}

impl Server {
    fn young(&mut self, plan: &Plan, now: Nanos) -> Option<&mut Connection> {
        self.open.as_mut().filter(|_| now - self.opened < plan.connection_age)
    }
}

impl Session {
    /// Returns the think time after a step. It depends only on the slot, the step and the seed.
    pub(crate) fn think_time(&self, step: &Step, (slot, number): (u64, u64)) -> Duration {
        step.think.sample(&mut self.plan.think_values(slot, number).random)
    }

    /// Creates a session. The call must be within a tokio runtime.
    pub(crate) fn new(plan: &Arc<Plan>, clock: &Pacer, index: usize) -> Session {
        let (mut memory, observer) = (Memory::new(), observer(plan, clock));
        memory.jars.resize_with(if plan.cookies { plan.endpoints.len() } else { 0 }, Jar::default);
        Session {
            servers: plan.endpoints.iter().map(|_| Server::default()).collect(),
            deadline: Deadline::new(plan.timeout),
            is_flat: !plan.http2 && !plan.cookies && plan.kernel.is_none() && observer.is_none(),
            observer,
            index,
            is_recorded: false,
            counted_by: None,
            clock: clock.clone(),
            plan: Arc::clone(plan),
            memory,
            set_ups: Vec::new(),
        }
    }

    /// Opens the connections to all servers. If a connection cannot be opened, the first request that needs it tries
    /// again.
    pub(crate) async fn open_all(&mut self) {
        for endpoint in 0..self.servers.len() {
            let opened = self.open(endpoint).await;
            self.set_ups.extend(opened.ok().flatten());
        }
    }

    pub(crate) fn take_set_ups(&mut self) -> Vec<SetUp> {
        mem::take(&mut self.set_ups)
    }

    pub(crate) fn seen(&self) -> Option<&SeenItems> {
        match &self.observer {
            Some(ResponseObserver::ItemTimes(timed)) => Some(timed.seen()),
            _ => None,
        }
    }

    pub(crate) fn searched(&self, status: StatusCode) -> Option<SearchedResponse<'_>> {
        match &self.observer {
            Some(ResponseObserver::Retained(retained)) => {
                Some(SearchedResponse::new(status, retained))
            }
            _ => None,
        }
    }

    pub(crate) fn forget(&mut self) {
        self.memory.taken.clear();
        self.memory.jars.iter_mut().for_each(Jar::clear);
    }

    pub(crate) fn remember(&mut self, values: &mut Vec<Vec<u8>>) {
        self.memory.taken.append(values);
    }

    pub(crate) fn values(&self, number: u64) -> Values<'_> {
        self.plan.values(number, &self.memory.taken)
    }

    pub(crate) fn clock(&self) -> Pacer {
        self.clock.clone()
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// Closes the previous connection to a server, and opens a new one. The previous connection is closed even if the
    /// new one cannot be opened: the bytes that showed that it is unusable have been read, so a later request would
    /// wrongly find it usable.
    async fn open(&mut self, endpoint: usize) -> Result<Option<SetUp>, Failure> {
        self.servers[endpoint].open = None;
        // The future is boxed, because the future of a call is moved as a whole, and most calls open no connection.
        let opening = Box::pin(Connection::open(&self.plan, endpoint));
        let (connection, set_up) = opening.await?;
        self.servers[endpoint] =
            Server { open: Some(connection), carried: 0, opened: self.clock.now() };
        Ok(set_up)
    }

    pub(crate) async fn send(&mut self, number: u64, now: Nanos) -> (Answer, &'static str) {
        let request = self.plan.of_slot(number);
        let answer = if self.is_flat {
            self.send_flat(request, now).await
        } else {
            // The future is boxed, so that the future of most calls stays small.
            Box::pin(self.send_observed(request, now)).await
        };
        (answer, self.plan.label(request, answer.head_status()))
    }

    /// Does the same as [`send_prepared`](Session::send_prepared) for flat sessions, with fewer nested futures.
    async fn send_flat(&mut self, request: Prepared, now: Nanos) -> Answer {
        self.deadline.set(self.plan.timeout);
        let Session { plan, servers, deadline, memory, .. } = self;
        let connection = servers[request.endpoint].young(plan, now);
        if let Some(Connection::Http1(connection)) = connection
            && connection.is_ready().await
        {
            let reads = connection.read();
            let status = connection.exchange(&plan.text(request, memory), deadline, None).await;
            let answer = self.settle(request, status, reads, now, None);
            if !self.plan.is_sent_again(request, answer.status) {
                return answer;
            }
            return Box::pin(self.send_again(request, Some(answer))).await;
        }
        Box::pin(self.send_again(request, None)).await
    }

    async fn send_observed(&mut self, request: Prepared, now: Nanos) -> Answer {
        match &mut self.observer {
            Some(ResponseObserver::ItemTimes(timed)) => timed.begin(),
            Some(ResponseObserver::Retained(retained)) => {
                retained.begin(Wanted { headers: true, body: false });
            }
            None => {}
        }
        self.send_prepared(request, now).await
    }

    pub(crate) async fn send_step(
        &mut self,
        step: &Step,
        (slot, number): (u64, u64),
        now: Nanos,
    ) -> Answer {
        if let Some(ResponseObserver::Retained(retained)) = &mut self.observer {
            let wanted = step.wanted();
            retained.begin(Wanted { headers: wanted.headers || self.plan.cookies, ..wanted });
        }
        self.send_prepared(self.plan.of_step(step.request, slot, number), now).await
    }

    /// Sends a request on the open connection, or on a new one if that is not possible or if a retry is allowed.
    async fn send_prepared(&mut self, request: Prepared, now: Nanos) -> Answer {
        self.deadline.set(self.plan.timeout);
        let first = self.send_on_open(request, now).await;
        match first.filter(|it| !self.plan.is_sent_again(request, it.status)) {
            Some(first) => first,
            None => self.send_again(request, first).await,
        }
    }

    async fn send_again(&mut self, request: Prepared, first: Option<Answer>) -> Answer {
        loop {
            let answer = self.send_on_new(request).await;
            // The server may have closed a shared connection after another session's request.
            let is_shared = answer.set_up.is_none();
            if answer.status != Err(Failure::NotTaken) || !is_shared {
                return first.map_or(answer, |first| answer.after(&first));
            }
        }
    }

    async fn send_on_new(&mut self, request: Prepared) -> Answer {
        match self.open(request.endpoint).await {
            Ok(set_up) => self.exchange(request, self.clock.now(), set_up).await,
            Err(failure) => self.unsent(failure),
        }
    }

    async fn send_on_open(&mut self, request: Prepared, now: Nanos) -> Option<Answer> {
        let connection = self.servers[request.endpoint].young(&self.plan, now)?;
        if !connection.is_ready(&mut self.deadline).await {
            return None;
        }
        Some(self.exchange(request, now, None).await)
    }

    /// Sends a request to check that the server is reachable. If items are timed, only the head of the response is
    /// read, because a stream may never end.
    pub(crate) async fn probe(&mut self) -> Answer {
        if let Some(ResponseObserver::ItemTimes(timed)) = &mut self.observer {
            timed.is_head_enough = true;
        }
        self.send_prepared(self.plan.probe(), Nanos::ZERO).await
    }

    async fn exchange(&mut self, request: Prepared, sent: Nanos, set_up: Option<SetUp>) -> Answer {
        let Session { plan, clock, servers, memory, deadline, observer, is_recorded, .. } = self;
        if let Some(ResponseObserver::ItemTimes(timed)) = observer {
            timed.sent(sent);
        }
        let Some(connection) = &mut servers[request.endpoint].open else {
            return self.unsent(Failure::HungUp);
        };
        if let Some(jar) = memory.jars.get_mut(request.endpoint) {
            jar.send(SystemTime::now);
        }
        let reads = connection.reads();
        let mut status =
            connection.exchange(plan, request, memory, deadline, observer.as_mut()).await;
        if status == Err(Failure::Refused) {
            // The server has not processed the request, so it can be sent again (RFC 9113, section 8.7).
            status = connection.exchange(plan, request, memory, deadline, observer.as_mut()).await;
        }
        if let Some(kernel) = plan.kernel.as_ref().filter(|_| *is_recorded && status.is_ok())
            && let Some(delays) = connection.delays()
        {
            kernel.record(delays, clock.now() - sent);
        }
        let jar = memory.jars.get_mut(request.endpoint);
        if let (Some(jar), Some(ResponseObserver::Retained(retained))) = (jar, observer) {
            jar.set(&retained.headers, SystemTime::now);
        }
        self.settle(request, status, reads, sent, set_up)
    }

    /// Builds the result of a request, and closes the connection if it cannot be used again. `reads` is the value of
    /// the connection's counter of reads before the request was sent.
    fn settle(
        &mut self,
        request: Prepared,
        mut status: Result<StatusCode, Failure>,
        reads: u64,
        sent: Nanos,
        set_up: Option<SetUp>,
    ) -> Answer {
        let Server { open, carried, .. } = &mut self.servers[request.endpoint];
        let Some(connection) = open else { return self.unsent(Failure::HungUp) };
        let is_silent = connection.reads() == reads;
        let has_carried = *carried > 0 || connection.has_carried();
        if is_silent && has_carried && status.is_err_and(Failure::is_end) {
            status = Err(Failure::ClosedIdle);
        }
        let traffic = connection.take_traffic();
        // If another session has read from the connection since the request was sent, the connection works, and the
        // timeout has another cause.
        let is_heard = status == Err(Failure::Timeout) && connection.is_shared() && !is_silent;
        let is_spoiled = status.is_err_and(|failure| !failure.spares_connection()) && !is_heard;
        *carried += 1;
        if is_spoiled || connection.is_over() || *carried >= self.plan.requests_each {
            *open = None;
        }
        Answer { status, sent, set_up, traffic, is_retried: false, is_sent: true }
    }

    fn unsent(&self, failure: Failure) -> Answer {
        let (sent, traffic) = (self.clock.now(), (0, 0));
        let (is_retried, is_sent) = (false, false);
        Answer { status: Err(failure), sent, set_up: None, traffic, is_retried, is_sent }
    }
}

fn observer(plan: &Plan, clock: &Pacer) -> Option<ResponseObserver> {
    let timed =
        plan.items.clone().map(|items| ResponseObserver::ItemTimes(ItemTimer::new(items, clock)));
    timed.or_else(|| {
        (plan.has_scenarios() || plan.cookies)
            .then(|| ResponseObserver::Retained(RetainedResponse::default()))
    })
}
