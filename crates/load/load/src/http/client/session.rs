//! One place for a request in flight, and its connections.

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
use std::time::SystemTime;

/// Sends one request at a time, and keeps a connection to each server open.
pub(crate) struct Session {
    plan: Arc<Plan>,
    clock: Pacer,
    /// One place for each of the plan's servers.
    connections: Vec<Option<Connection>>,
    /// How many requests each of these connections has carried.
    carried: Vec<u64>,
    /// When each was opened.
    opened: Vec<Nanos>,
    deadline: Deadline,
    /// Memory for the request in flight.
    memory: Memory,
    /// Looks at answers, if anything does.
    observer: Option<ResponseObserver>,
    /// Its number.
    pub(crate) index: usize,
    /// Whether its requests are recorded.
    pub(crate) is_recorded: bool,
    /// Counts the steps of scenarios, and items of answers that are given up.
    pub(crate) counted_by: Option<Arc<dyn Steps>>,
    /// How long it took to open connections, of those that were opened first.
    set_ups: Vec<SetUp>,
}

/// How a request went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// Its status, or why there is none.
    pub(crate) status: Result<StatusCode, Failure>,
    /// When it was sent: later than its start if a connection had to be opened.
    pub(crate) sent: Nanos,
    /// The connection that was opened for it, if one was.
    pub(crate) set_up: Option<SetUp>,
    /// Bytes that went over its connections.
    pub(crate) traffic: (u64, u64),
    /// Whether it was sent again, as its first connection was closed while idle.
    pub(crate) is_retried: bool,
    /// Whether it was sent at all.
    pub(crate) is_sent: bool,
}

impl Answer {
    /// What is counted of it, be it a success or not.
    pub(crate) fn done(&self) -> Done {
        let (read, written) = self.traffic;
        let done = Done::new().bytes(read, written).sent(self.sent, self.set_up);
        let done = if self.is_retried { done.retried() } else { done };
        self.head_status().map_or(done, |status| done.status(status.as_u16()))
    }

    /// Its status, even if its body was cut off.
    fn head_status(&self) -> Option<StatusCode> {
        match self.status {
            Err(Failure::Status(status)) => StatusCode::from_u16(status).ok(),
            status => status.ok(),
        }
    }

    /// Adds what the first attempt at the same request came to.
    fn after(self, first: &Answer) -> Answer {
        let ([read, written], before) = ([self.traffic.0, self.traffic.1], first.traffic);
        let is_retried = first.status == Err(Failure::ClosedIdle);
        Answer { traffic: (read + before.0, written + before.1), is_retried, ..self }
    }

    /// A failure of this kind. It is marked if the request was never sent.
    pub(crate) fn failure(&self, kind: FailureKind) -> Failed {
        let failed = Failed::of(kind);
        if self.is_sent { failed } else { failed.unconnected() }
    }

    /// Success, or why it is none.
    pub(crate) fn outcome(&self) -> Result<(), Failure> {
        self.status.and_then(Failure::judge)
    }
}

impl Session {
    /// The session with this number. To be made inside a runtime.
    pub(crate) fn new(plan: &Arc<Plan>, clock: &Pacer, index: usize) -> Session {
        let mut memory = Memory::new();
        memory.jars.resize_with(if plan.cookies { plan.endpoints.len() } else { 0 }, Jar::default);
        Session {
            connections: plan.endpoints.iter().map(|_| None).collect(),
            carried: vec![0; plan.endpoints.len()],
            opened: vec![Nanos::ZERO; plan.endpoints.len()],
            deadline: Deadline::new(plan.timeout),
            observer: observer(plan, clock),
            index,
            is_recorded: false,
            counted_by: None,
            clock: clock.clone(),
            plan: Arc::clone(plan),
            memory,
            set_ups: Vec::new(),
        }
    }

    /// Opens a connection to each server, so that no request has to wait for it. One that cannot be
    /// opened now is tried again by the first request that needs it.
    pub(crate) async fn open_all(&mut self) {
        for endpoint in 0..self.connections.len() {
            let opened = self.open(endpoint).await;
            self.set_ups.extend(opened.ok().flatten());
        }
    }

    /// How long it took to open connections, since the last call.
    pub(crate) fn take_set_ups(&mut self) -> Vec<SetUp> {
        mem::take(&mut self.set_ups)
    }

    /// What was seen of the last answer, if items are timed.
    pub(crate) fn seen(&self) -> Option<&SeenItems> {
        match &self.observer {
            Some(ResponseObserver::ItemTimes(timed)) => Some(timed.seen()),
            _ => None,
        }
    }

    /// The last answer to look at, if it is retained. This is its status.
    pub(crate) fn searched(&self, status: StatusCode) -> Option<SearchedResponse<'_>> {
        match &self.observer {
            Some(ResponseObserver::Retained(retained)) => {
                Some(SearchedResponse::new(status, retained))
            }
            _ => None,
        }
    }

    /// A scenario begins: it has nothing of those before.
    pub(crate) fn forget(&mut self) {
        self.memory.taken.clear();
        self.memory.jars.iter_mut().for_each(Jar::clear);
    }

    /// Keeps values that were taken from an answer, for the steps that follow.
    pub(crate) fn remember(&mut self, values: &mut Vec<Vec<u8>>) {
        self.memory.taken.append(values);
    }

    /// What the slot with this number can be compared with.
    pub(crate) fn values(&self, number: u64) -> Values<'_> {
        self.plan.values(number, &self.memory.taken)
    }

    /// Its clock.
    pub(crate) fn clock(&self) -> Pacer {
        self.clock.clone()
    }

    /// What its clock says.
    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    async fn open(&mut self, endpoint: usize) -> Result<Option<SetUp>, Failure> {
        // Boxed: a call that opens no connection, as most do, is then not moved with room for this.
        let opening = Box::pin(Connection::open(&self.plan, endpoint));
        let (connection, set_up) = opening.await?;
        self.connections[endpoint] = Some(connection);
        (self.carried[endpoint], self.opened[endpoint]) = (0, self.clock.now());
        Ok(set_up)
    }

    /// Sends the plan's request of the slot with this number, from `now` on, and reads the answer. The
    /// answer comes with its label.
    pub(crate) async fn send(&mut self, number: u64, now: Nanos) -> (Answer, &'static str) {
        let request = self.plan.of_slot(number);
        match &mut self.observer {
            Some(ResponseObserver::ItemTimes(timed)) => timed.begin(),
            Some(ResponseObserver::Retained(retained)) => {
                retained.begin(Wanted { headers: true, body: false });
            }
            None => {}
        }
        let answer = self.send_prepared(request, now).await;
        (answer, self.plan.label(request, answer.head_status()))
    }

    /// Sends this step of a slot, from `now` on, and reads the answer, of which that is kept which the step
    /// wants.
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

    /// Sends a request. If a kept connection does not take it, or was closed while idle, the request may be sent again on
    /// a new connection. A server that takes nothing on a new connection fails.
    async fn send_prepared(&mut self, request: Prepared, now: Nanos) -> Answer {
        self.deadline.set(self.plan.timeout);
        let first = self.send_on_open(request, now).await;
        if let Some(first) = first.filter(|it| !self.plan.is_sent_again(request, it.status)) {
            return first;
        }
        loop {
            let answer = self.send_on_new(request).await;
            // On a connection that others have opened, their requests may have been the last that it took.
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

    /// None if no connection is open, or none that takes the request.
    async fn send_on_open(&mut self, request: Prepared, now: Nanos) -> Option<Answer> {
        let connection = self.connections[request.endpoint].as_mut()?;
        if now - self.opened[request.endpoint] >= self.plan.connection_age {
            return None;
        }
        if !connection.is_ready(&mut self.deadline).await {
            return None;
        }
        Some(self.exchange(request, now, None).await)
    }

    /// Sends the first request of slot 0, to see whether it is answered. Of a stream the head is enough: it may
    /// never end.
    pub(crate) async fn probe(&mut self) -> Answer {
        if let Some(ResponseObserver::ItemTimes(timed)) = &mut self.observer {
            timed.is_head_enough = true;
        }
        self.send_prepared(self.plan.probe(), Nanos::ZERO).await
    }

    /// Sends the request on the connection that is open, and reads the answer.
    async fn exchange(&mut self, request: Prepared, sent: Nanos, set_up: Option<SetUp>) -> Answer {
        let Session {
            plan,
            clock,
            connections,
            carried,
            memory,
            deadline,
            observer,
            is_recorded,
            ..
        } = self;
        if let Some(ResponseObserver::ItemTimes(timed)) = observer {
            timed.sent(sent);
        }
        let Some(connection) = &mut connections[request.endpoint] else {
            return self.unsent(Failure::HungUp);
        };
        if let Some(jar) = memory.jars.get_mut(request.endpoint) {
            jar.send(SystemTime::now);
        }
        let reads = connection.reads();
        let mut status =
            connection.exchange(plan, request, memory, deadline, observer.as_mut()).await;
        if status == Err(Failure::Refused) {
            // Once more, as the server has not processed it (RFC 9113, section 8.7).
            status = connection.exchange(plan, request, memory, deadline, observer.as_mut()).await;
        }
        if let Some(kernel) = plan.kernel.as_ref().filter(|_| *is_recorded && status.is_ok())
            && let Some(delays) = connection.delays()
        {
            kernel.record(delays, clock.now() - sent);
        }
        let is_silent = connection.reads() == reads;
        if is_silent && carried[request.endpoint] > 0 && status.is_err_and(Failure::is_end) {
            status = Err(Failure::ClosedIdle);
        }
        let jar = memory.jars.get_mut(request.endpoint);
        if let (Some(jar), Some(ResponseObserver::Retained(retained))) = (jar, observer) {
            jar.set(&retained.headers, SystemTime::now);
        }
        let traffic = connection.take_traffic();
        // What others have heard on it meanwhile tells that it is not the connection that is silent.
        let is_heard = status == Err(Failure::Timeout) && connection.is_shared() && !is_silent;
        let is_spoiled = status.is_err_and(|failure| !failure.spares_connection()) && !is_heard;
        carried[request.endpoint] += 1;
        let is_enough = carried[request.endpoint] >= plan.requests_each;
        if is_spoiled || connection.is_over() || is_enough {
            connections[request.endpoint] = None;
        }
        Answer { status, sent, set_up, traffic, is_retried: false, is_sent: true }
    }

    /// The answer to a request that could not be sent.
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
