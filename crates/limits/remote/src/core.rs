//! The parts of a limiter that are the same for threads and tasks: everything except the calls to the store.

use crate::decide::{Answer, Decide};
use crate::error::{Concerns, RemoteRejected, StoreError, UnsupportedLimit};
use crate::key_names::KeyNames;
use crate::lease::Leases;
use crate::on_loss::{OnLoss, Share};
use crate::plan::Plan;
use crate::stats::Counters;
use nanopace_keyed::{KeyRejected, Keyed, LimitsOf};
use nanopace_limits::{Costs, Decision, Limits, Rule};
use nanopace_nanos::{Clock, Nanos};
use std::sync::{Arc, Mutex, PoisonError};

const LOCAL_KEYS: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Core<C> {
    config: Arc<C>,
    pub(crate) names: KeyNames,
    on_loss: OnLoss,
    /// This process's part of the limits, which is set for [`OnLoss::LocalShare`] only.
    share: Option<Keyed<String, Share<C>>>,
    clock: Arc<dyn Clock>,
    pub(crate) leases: Option<Leases>,
    recent: Mutex<Option<(Arc<Limits>, Arc<Plan>)>>,
    pub(crate) counters: Counters,
    store_clock: Option<Arc<dyn Clock>>,
}

impl<C: LimitsOf<str>> Core<C> {
    pub(crate) fn new(
        config: Arc<C>,
        names: KeyNames,
        on_loss: OnLoss,
        clock: Arc<dyn Clock>,
        leases: Option<Leases>,
        store_clock: Option<Arc<dyn Clock>>,
    ) -> Self {
        let share = match on_loss {
            OnLoss::LocalShare(parts) => {
                let share = Share { of: Arc::clone(&config), parts };
                // `build` fails only after an invalid step, and this builder has none.
                let share = Keyed::builder(share).max_keys(LOCAL_KEYS);
                share.clock(Arc::clone(&clock)).build().ok()
            }
            _ => None,
        };
        Self {
            config,
            names,
            on_loss,
            share,
            clock,
            leases,
            recent: Mutex::default(),
            counters: Counters::default(),
            store_clock,
        }
    }

    pub(crate) fn config(&self) -> &C {
        &self.config
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn limits_of(&self, key: &str) -> Result<Arc<Limits>, RemoteRejected> {
        self.config.limits_for(key).ok_or(RemoteRejected::Key(KeyRejected::NoLimits))
    }

    pub(crate) fn begin(&self, key: &str, costs: Costs<'_>) -> Result<Start, RemoteRejected> {
        self.counters.decision();
        // The version is read first. If the limits are newer than this version, later decisions do not use the tokens
        // that this decision takes ahead.
        let version = self.config.version_for(key);
        if let Some(decision) = self.try_leased(key, version, costs) {
            self.counters.local();
            return Ok(Start::Decided(decision));
        }
        let limits = self.limits_of(key)?;
        let costs_of_each = self::costs(&limits, costs)?;
        let same = match costs {
            Costs::Same(n) => Some(n),
            Costs::Each(_) => None,
        };
        let leases = self.leases.as_ref();
        let more = leases.filter(|_| same.is_some()).map_or(0, |leases| leases.block(&limits));
        let plan = self.plan_of(&limits)?;
        if plan.limits.each().is_empty() {
            return self.on_fresh_state(&plan, &costs_of_each).map(Start::Decided);
        }
        let (name, sent) = (self.names.subject(key), self.clock.now());
        let share = leases.map_or(1, Leases::share);
        Ok(Start::Ask(StoreRequest {
            plan,
            name,
            costs: costs_of_each,
            same,
            more,
            share,
            version,
            sent,
        }))
    }

    fn plan_of(&self, limits: &Arc<Limits>) -> Result<Arc<Plan>, UnsupportedLimit> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((same, plan)) = &*recent
            && Arc::ptr_eq(same, limits)
        {
            return Ok(Arc::clone(plan));
        }
        let asked = self.leases.as_ref().map(|leases| Arc::new(leases.reserved(limits)));
        let plan = Arc::new(Plan::new(asked.unwrap_or_else(|| Arc::clone(limits)))?);
        *recent = Some((Arc::clone(limits), Arc::clone(&plan)));
        Ok(plan)
    }

    fn try_leased(&self, key: &str, version: u64, costs: Costs<'_>) -> Option<Decision> {
        match (&self.leases, costs) {
            (Some(leases), Costs::Same(n @ 1..)) => {
                leases.take(key, version, n, || self.clock.now())
            }
            _ => None,
        }
    }

    pub(crate) fn conversation<'a>(&'a self, request: &'a StoreRequest) -> Decide<'a> {
        let StoreRequest { plan, name, costs, more, share, .. } = request;
        let mut decide = Decide::new(plan, name, costs, &self.counters);
        (decide.more, decide.share, decide.micros) = (*more, *share, self.micros());
        decide
    }

    pub(crate) fn micros(&self) -> Option<u64> {
        self.store_clock.as_ref().map(|clock| clock.now().as_nanos() / 1_000)
    }

    pub(crate) fn conclude(
        &self,
        key: &str,
        request: &StoreRequest,
        asked: Result<Answer, StoreError>,
    ) -> Result<Decision, RemoteRejected> {
        match asked {
            Ok(Answer { decision, more }) => {
                if let (Some(leases), Some(more)) = (&self.leases, more) {
                    leases.keep(key, request.version, request.sent, decision, more);
                }
                Ok(decision)
            }
            Err(error) if error.concerns() == Concerns::Key => Err(error.into()),
            Err(error) => self.without_store(key, request, error),
        }
    }

    fn without_store(
        &self,
        key: &str,
        request: &StoreRequest,
        error: StoreError,
    ) -> Result<Decision, RemoteRejected> {
        self.counters.degraded();
        match (self.on_loss, &self.share) {
            (OnLoss::Deny, _) => Err(error.into()),
            (OnLoss::LocalShare(_), Some(share)) => {
                let costs = request.same.map_or(Costs::Each(&request.costs), Costs::Same);
                Ok(share.decide_costs(key, costs)?)
            }
            _ => self.on_fresh_state(&request.plan, &request.costs),
        }
    }

    fn on_fresh_state(&self, plan: &Plan, costs: &[u64]) -> Result<Decision, RemoteRejected> {
        let decision = plan.limits.decide_costs(&mut plan.limits.fresh(), self.clock.now(), costs);
        Ok(decision.map_err(KeyRejected::from)?)
    }
}

fn costs(limits: &Limits, costs: Costs<'_>) -> Result<Vec<u64>, RemoteRejected> {
    let number = limits.each().len();
    match costs {
        Costs::Same(n) => Ok(vec![n; number]),
        Costs::Each(costs) if costs.len() == number => Ok(costs.to_vec()),
        Costs::Each(costs) => Err(KeyRejected::Costs { limits: number, costs: costs.len() }.into()),
    }
}

pub(crate) enum Start {
    Decided(Decision),
    Ask(StoreRequest),
}

pub(crate) struct StoreRequest {
    plan: Arc<Plan>,
    name: String,
    costs: Vec<u64>,
    /// The cost, if it is the same for all limits, whose number may change while the store is called.
    same: Option<u64>,
    more: u64,
    share: u64,
    version: u64,
    /// A moment before the store was called, by this process's clock.
    sent: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;
    use nanopace_keyed::Uniform;
    use nanopace_nanos::ManualClock;
    use std::io::ErrorKind;
    use std::time::Duration;

    fn concluded(on_loss: OnLoss, error: &StoreError) -> (Result<(), RemoteRejected>, u64) {
        let config = Arc::new(Uniform::new("8/s".parse().unwrap()));
        let names = KeyNames::new("users".to_owned()).unwrap();
        let core = Core::new(config, names, on_loss, Arc::new(ManualClock::new()), None, None);
        (decided(&core, error), core.counters.stats(0).degraded)
    }

    fn decided(core: &Core<Uniform>, error: &StoreError) -> Result<(), RemoteRejected> {
        let Ok(Start::Ask(request)) = core.begin("alice", Costs::Same(1)) else {
            unreachable!("only the store can decide")
        };
        let decision = core.conclude("alice", &request, Err(error.clone()));
        decision.and_then(|decision| Ok(decision.answer()?))
    }

    #[test]
    fn only_a_store_that_is_lost_or_full_lets_requests_in() {
        for error in [
            StoreError::Broken,
            StoreError::Timeout,
            StoreError::Connection(ErrorKind::BrokenPipe),
            StoreError::Refused("READONLY".to_owned()),
            StoreError::Database,
            StoreError::Permission,
            StoreError::Full,
        ] {
            for on_loss in [OnLoss::Allow, OnLoss::LocalShare(4)] {
                assert_eq!(concluded(on_loss, &error), (Ok(()), 1), "{error}");
            }
            assert_eq!(concluded(OnLoss::Deny, &error), (Err(error.clone().into()), 1));
        }
    }

    #[test]
    fn an_error_of_one_key_lets_nobody_in_and_is_no_loss() {
        for error in [StoreError::Foreign, StoreError::Contended] {
            for on_loss in [OnLoss::Deny, OnLoss::Allow, OnLoss::LocalShare(4)] {
                assert_eq!(concluded(on_loss, &error), (Err(error.clone().into()), 0), "{error}");
            }
        }
    }

    #[test]
    fn another_number_of_limits_is_no_error_of_a_request_with_one_cost() {
        for on_loss in [OnLoss::Allow, OnLoss::LocalShare(1)] {
            let config = Arc::new(Uniform::new("8/s".parse().unwrap()));
            let names = KeyNames::new("users".to_owned()).unwrap();
            let core = Core::new(config, names, on_loss, Arc::new(ManualClock::new()), None, None);
            let Ok(Start::Ask(request)) = core.begin("alice", Costs::Same(1)) else {
                unreachable!("only the store can decide")
            };
            core.config().set("8/s, 80/m".parse().unwrap());
            let decision = core.conclude("alice", &request, Err(StoreError::Timeout));
            assert!(decision.is_ok_and(|decision| decision.is_allowed()), "{on_loss:?}");
        }
    }

    #[test]
    fn a_share_of_the_limits_follows_the_clock_of_the_builder() {
        let config = Arc::new(Uniform::new("1/day".parse().unwrap()));
        let names = KeyNames::new("users".to_owned()).unwrap();
        let (clock, on_loss) = (ManualClock::new(), OnLoss::LocalShare(1));
        let core = Core::new(config, names, on_loss, Arc::new(clock.clone()), None, None);
        let admitted = [0, 23, 1].map(|hours| {
            clock.advance(Duration::from_secs(hours * 3_600));
            decided(&core, &StoreError::Broken).is_ok()
        });
        assert_eq!(admitted, [true, false, true]);
    }
}
