//! Simulates the nodes, the network and the store together, and injects the faults.

use super::event::{Event, Events};
use super::machine::{Machine, Phase};
use super::network::Network;
use super::outcome::Outcome;
use super::setup::{Fault, Setup};
use super::simulated_store::SimulatedStore;
use super::tally::Tally;
use crate::error::FleetError;
use crate::frames::Frames;
use crate::load::{Load, head_frames};
use crate::message::{Answer, FleetRun, Join, LoadText, Reply, Request, State, Version};
use crate::slot_account::{Account, account};
use crate::store::At;
use std::time::Duration;

const RUN: &str = "simulated";

/// The longest time between two turns of a node's thread if frames are short, and the time after which a waiting node
/// asks again whether the run has begun.
const TURN_NS: u64 = 20_000_000;

/// If frames are long, a node's thread takes at least this number of turns per frame.
const TURNS: u64 = 4;

const AFTER_NS: u64 = 1_000_000_000;

/// Within this time after a clock was set, or within twenty frames if twenty frames are longer, all nodes have set
/// their clocks to the store's clock.
const FOLLOWED_NS: u64 = 3_000_000_000;

/// The account is read this long after the end of the run, when all nodes without results count as dead.
const ABSENCE_NS: u64 = 1_000_000_000_000;

pub(super) struct World<'a> {
    setup: &'a Setup,
    frames: Frames,
    events: Events,
    network: Network,
    queue: SimulatedStore,
    machines: Vec<Machine>,
    tally: Tally,
    is_set: bool,
    away_until_ns: u64,
    begun: Option<Begun>,
}

struct Begun {
    /// The beginning of the run, as a time of the store's clock (`origin_us`) and as the true time (`origin_ns`).
    origin_us: i64,
    origin_ns: u64,
    load: Load,
}

impl<'a> World<'a> {
    pub(super) fn new(setup: &'a Setup) -> World<'a> {
        let longest = setup.round_trips.iter().max().unwrap_or(&setup.round_trip);
        let frames = Frames::sized(setup.frame, setup.round_trip.max(*longest), setup.nodes);
        let mut world = World {
            setup,
            frames,
            events: Events::default(),
            network: Network::new(setup),
            queue: SimulatedStore::new(setup),
            machines: Vec::new(),
            tally: Tally::new(frames.tracks),
            is_set: false,
            away_until_ns: 0,
            begun: None,
        };
        for _ in 0..setup.nodes {
            // The nodes start at different times, so that their threads do not take turns at the same times.
            let at_ns = (world.network.either_way(10e6) + 10e6).abs();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "up to 20 ms"
            )]
            world.join(at_ns as u64);
        }
        world
    }

    fn join(&mut self, at_ns: u64) {
        let drift = self.network.either_way(self.setup.drift_ppm * 1e-6);
        let machine = self.machines.len();
        let trip = self.setup.round_trips.get(machine).unwrap_or(&self.setup.round_trip);
        self.machines.push(Machine::new(drift, *trip));
        self.events.push(at_ns, Event::Turn { machine, number: 0 });
    }

    pub(super) fn run(mut self) -> Outcome {
        while let Some((at_ns, event)) = self.events.pop(self.ends_ns()) {
            self.happens(at_ns, event);
        }
        self.finish();
        self.outcome()
    }

    fn ends_ns(&self) -> u64 {
        self.begun.as_ref().map_or(u64::MAX, |begun| {
            let end = begun.load.end().expect("the load ends");
            let load_us = self.frames.begins(end).cast_signed() / 1_000;
            let load_ends_ns = self.queue.when_ns(begun.origin_us + load_us);
            load_ends_ns.max(self.followed_ns()) + AFTER_NS
        })
    }

    fn followed_ns(&self) -> u64 {
        if self.is_set {
            self.away_until_ns + FOLLOWED_NS.max(20 * self.frames.frame_ns)
        } else {
            0
        }
    }

    fn happens(&mut self, at_ns: u64, event: Event) {
        let machine = match &event {
            Event::Turn { machine, .. }
            | Event::Reply { machine, .. }
            | Event::TimedOut { machine, .. } => *machine,
            Event::Request { machine, .. } => {
                let machine = *machine;
                return self.arrives(at_ns, machine, event);
            }
            Event::Fault(number) => return self.fault(at_ns, *number),
        };
        let until = self.machines[machine].frozen_until;
        if at_ns < until {
            return self.events.push(until, event);
        }
        self.wake(at_ns, machine);
        let node = &self.machines[machine];
        let is_current = |ticket: u64| node.ticket == ticket && node.request.is_some();
        match event {
            Event::Turn { number, .. } if number == node.turns => self.turn(at_ns, machine),
            Event::Reply { ticket, reply, .. } if is_current(ticket) => {
                self.answered(at_ns, machine, *reply);
            }
            Event::TimedOut { ticket, .. } if is_current(ticket) => {
                self.machines[machine].request = None;
                self.machines[machine].failed();
                self.rest(at_ns, machine);
            }
            _ => {}
        }
    }

    fn wake(&mut self, at_ns: u64, machine: usize) {
        let machine = &mut self.machines[machine];
        machine.set(at_ns);
        if let Some(begun) = &mut self.begun {
            machine.advance(at_ns, begun.origin_ns, &mut begun.load, &mut self.tally);
        }
    }

    fn turn(&mut self, at_ns: u64, machine: usize) {
        let request = match &self.machines[machine].phase {
            Phase::Entering(samples) if !samples.are_enough() => Some(Request::Look { node: None }),
            Phase::Entering(_) => Some(self.entry(self.machines[machine].trip)),
            Phase::Looking { node, .. } => {
                Some(Request::Look { node: Some((RUN.to_owned(), *node)) })
            }
            Phase::Running(_) => self.machines[machine].turn(),
            Phase::Gone => return,
        };
        if let Some(request) = request {
            self.send(at_ns, machine, request);
        }
        self.rest(at_ns, machine);
    }

    fn entry(&self, trip: Duration) -> Request {
        let trip_ns = u64::try_from(trip.as_nanos()).unwrap_or(u64::MAX);
        let Setup { shape, arrivals, nodes, .. } = self.setup;
        let (shape, arrivals) = (shape.clone(), arrivals.clone());
        let load = LoadText { shape, arrivals, seed: 1 };
        Request::Join(Join {
            name: String::new(),
            id: RUN.to_owned(),
            awaited: *nodes,
            frames: self.frames,
            lead: self.frames.lead(2 * trip_ns),
            load: Some(load),
            ends: None,
        })
    }

    fn send(&mut self, at_ns: u64, machine: usize, request: Request) {
        let node = &mut self.machines[machine];
        node.sends(&request);
        let ticket = node.ticket;
        let is_running = matches!(node.phase, Phase::Running(_));
        // A new connection takes one more round trip, which is two more messages. Until the run begins, messages are
        // not lost.
        let ways = if node.is_connected { 1 } else { 3 };
        let way = if is_running {
            self.network.ways_ns(node.trip, ways).filter(|_| at_ns >= node.cut_off_until)
        } else {
            Some(self.network.way_ns(node.trip))
        };
        if let Some(way) = way {
            let way = way + node.one_way_ns;
            let event = |request| Event::Request { machine, ticket, request: Box::new(request) };
            if let Some(later) = self.network.again_ns().filter(|_| is_running) {
                self.events.push(at_ns + way + later, event(request.clone()));
            }
            self.events.push(at_ns + way, event(request));
        }
        let timeout = u64::try_from(node.patience().as_nanos()).unwrap_or(u64::MAX);
        self.events.push(at_ns + timeout, Event::TimedOut { machine, ticket });
    }

    fn arrives(&mut self, at_ns: u64, machine: usize, event: Event) {
        let Event::Request { ticket, request, .. } = event else { return };
        let (reply, leaves_ns) = self.queue.take(&request, at_ns);
        let node = &self.machines[machine];
        let way = match node.phase {
            Phase::Running(_) => {
                self.network.ways_ns(node.trip, 1).filter(|_| at_ns >= node.cut_off_until)
            }
            _ => Some(self.network.way_ns(node.trip)),
        };
        if let Some(way) = way {
            let reply = Box::new(reply);
            self.events.push(leaves_ns + way, Event::Reply { machine, ticket, reply });
        }
    }

    fn answered(&mut self, at_ns: u64, machine: usize, reply: Reply) {
        let node = &mut self.machines[machine];
        node.is_connected = true;
        match (&node.phase, reply.answer) {
            (Phase::Entering(_), Answer::Joined(id, _)) => node.joined(id, reply.now_us),
            (Phase::Entering(_), _) => node.sampled(reply.now_us),
            (Phase::Looking { .. }, Answer::Run(run)) => {
                node.observe_run(&run, reply.now_us, self.setup.blind);
                if run.state == State::Running {
                    self.begin(&run);
                }
            }
            (Phase::Running(_), answer) => node.answered(answer, reply.now_us),
            _ => {}
        }
        self.machines[machine].request = None;
        self.rest(at_ns, machine);
    }

    fn begin(&mut self, run: &FleetRun) {
        if self.begun.is_some() {
            return;
        }
        let origin_ns = self.queue.when_ns(run.origin_us);
        let load = Load::of(run).expect("the load can be read");
        self.begun = Some(Begun { origin_us: run.origin_us, origin_ns, load });
        let head_ns = self.frames.begins(head_frames());
        for (number, (at, _)) in self.setup.faults.iter().enumerate() {
            let at_ns = origin_ns + head_ns + u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
            self.events.push(at_ns, Event::Fault(number));
        }
        self.queue.count_anew();
    }

    fn rest(&mut self, at_ns: u64, machine: usize) {
        let node = &mut self.machines[machine];
        let wait = match node.phase {
            Phase::Running(_) => {
                node.tell().clamp(1_000, TURN_NS.max(self.frames.frame_ns / TURNS))
            }
            _ if node.request.is_some() => return,
            Phase::Looking { .. } => TURN_NS,
            Phase::Entering(_) => 0,
            Phase::Gone => return,
        };
        node.turns += 1;
        self.events.push(at_ns + wait, Event::Turn { machine, number: node.turns });
    }

    fn fault(&mut self, at_ns: u64, number: usize) {
        let until = |time: Duration| at_ns + u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let fault = &self.setup.faults[number].1;
        self.away_until_ns = self.away_until_ns.max(until(fault.lasts()));
        match fault {
            &Fault::Kill(machine) => {
                self.wake(at_ns, machine);
                if let Some(begun) = &mut self.begun {
                    self.machines[machine].kill(&mut begun.load, &mut self.tally);
                }
            }
            &Fault::Freeze(machine, time) => {
                self.wake(at_ns, machine);
                self.machines[machine].freeze(until(time));
            }
            &Fault::Suspend(machine, time) => {
                self.wake(at_ns, machine);
                self.machines[machine].suspend(until(time), time);
            }
            &Fault::Leave(machine) => self.machines[machine].leaves(),
            &Fault::CutOff(machine, time) => self.machines[machine].cut_off_until = until(time),
            &Fault::Link(machine, trip) => self.machines[machine].trip = trip,
            &Fault::OneWay(machine, time) => {
                self.machines[machine].one_way_ns = u64::try_from(time.as_nanos()).unwrap_or(0);
            }
            Fault::Join => self.join(at_ns),
            &Fault::FreezeStore(time) => self.queue.freeze(at_ns, time),
            &Fault::SetClock(by_us) => {
                self.is_set = true;
                self.queue.set_clock(by_us);
            }
            Fault::Lose => self.queue.store.lose(),
            Fault::Change(shape) => self.change(at_ns, shape),
        }
    }

    fn change(&mut self, at_ns: u64, shape: &str) {
        let Some(run) = self.queue.run(at_ns) else { return };
        let Some(begun) = &mut self.begun else { return };
        let elapsed_us = u64::try_from(self.queue.clock_us(at_ns) - run.origin_us).unwrap_or(0);
        let from = run.first_unopened(1_000 * elapsed_us) + 1;
        let version = Version::new(at_ns, from, &shape.parse().expect("a shape"), None);
        let known = run.versions.len() as u64;
        let load = Load::of(&run).and_then(|load| load.changed(&version)).expect("a load");
        let behind = run.change();
        let request = Request::Change { id: run.id, known, behind, version, ends: load.end() };
        let (reply, _) = self.queue.take(&request, at_ns);
        assert_eq!(reply.answer, Answer::Done, "the change was taken");
        begun.load = load;
    }

    /// Lets all nodes that take part report that they have finished. In this phase, messages are not lost.
    fn finish(&mut self) {
        let ends_ns = self.ends_ns();
        let now_us = self.queue.clock_us(ends_ns);
        for machine in 0..self.machines.len() {
            self.machines[machine].frozen_until = 0;
            self.wake(ends_ns, machine);
            let node = &mut self.machines[machine];
            if node.request.take().is_some() {
                node.failed(); // the response is no longer awaited
            }
            let mut has_heard = false;
            while let Some(request) = node.last_request(has_heard) {
                node.sends(&request);
                node.answered(self.queue.store.call(&request, now_us).answer, now_us);
                has_heard = true;
                if matches!(request, Request::Finish { .. }) {
                    break;
                }
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "nanoseconds")]
    fn outcome(mut self) -> Outcome {
        let ends_ns = self.ends_ns();
        let account = self.account(ends_ns + ABSENCE_NS).expect("there is a run");
        let counted = self.queue.run(ends_ns).map_or(0, |run| run.counted.until);
        let Begun { origin_ns, mut load, .. } = self.begun.expect("the run has begun");
        let until = load.end().expect("the load ends");
        let fates = self.tally.fates(&mut load, until);
        let begins = self.frames.begins(head_frames());
        let last_lost = fates.last_lost.map(|frame| self.frames.begins(frame + 1) - begins);
        let seconds = Duration::from_nanos(ends_ns - origin_ns).as_secs_f64();
        let worked = Duration::from_nanos(self.queue.worked_ns).as_secs_f64();
        let (error, most_error) = self.tally.errors();
        let running = self.machines.iter().filter_map(|node| match &node.phase {
            Phase::Running(core) => Some(core),
            _ => None,
        });
        Outcome {
            frame: Duration::from_nanos(self.frames.frame_ns),
            tracks: self.frames.tracks,
            expected: fates.expected,
            started: fates.started,
            lost: fates.lost,
            twice: fates.twice,
            account: { (account.started(), account.lost(), account.twice()) },
            account_at_most: (
                account.started_at_most(),
                account.lost_at_least(),
                account.twice_at_most(),
            ),
            is_told: account.is_told(),
            closes: account.closes(),
            stepped: account.nodes.iter().map(|node| node.stepped).max().unwrap_or_default(),
            blind_frames: running.clone().map(|core| core.blind_frames()).sum(),
            gave_up: running.clone().filter(|core| core.failure().is_some()).count(),
            requests_per_second: f64::from(u32::try_from(self.queue.requests).unwrap_or(u32::MAX))
                / seconds,
            utilisation: worked / seconds,
            wait: Duration::from_nanos(self.queue.waited_ns / self.queue.requests.max(1)),
            start_error: Duration::from_nanos(error as u64),
            most_start_error: Duration::from_nanos(most_error as u64),
            largest_share: self.tally.largest_part() * f64::from(self.setup.nodes),
            last_lost: last_lost.map(Duration::from_nanos),
            most_asked: self.queue.most_asked,
            rows: running.clone().map(|core| core.rows()).max().unwrap_or(0),
            counted,
            store_bytes: self.queue.store.bytes(),
            killed: self.machines.iter().filter(|node| matches!(node.phase, Phase::Gone)).count(),
            alive: running.count(),
        }
    }

    fn account(&mut self, at_ns: u64) -> Result<Account, FleetError> {
        let now_us = self.queue.clock_us(at_ns);
        let run = self.queue.run(at_ns).ok_or(FleetError::NoRun)?;
        let begun = self.begun.as_mut().ok_or(FleetError::NoRun)?;
        let until = begun.load.end().unwrap_or(0);
        let account = account(&mut At(&self.queue.store, now_us), &run, &mut begun.load, until)?;
        account.ok_or(FleetError::Contended)
    }
}
