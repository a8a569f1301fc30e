//! Runs the thread of a limiter that takes tokens ahead of requests: the thread gives expired tokens back, and
//! registers the limiter in the store.

use crate::core::Core;
use crate::decide::{Reply, look, replace};
use crate::error::{RemoteError, StoreError};
use crate::lease::{Block, Leases};
use crate::plan::{Plan, read_state};
use crate::remote::Remote;
use crate::script::{Call, ROLL_CALL};
use nanopace_keyed::LimitsOf;
use nanopace_nanos::Nanos;
use redis::Value;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// The number of sweeps for which this limiter stays registered after it has registered itself in the store.
const REGISTERED_SWEEPS: u32 = 4;

/// An attempt to give a block back fails if another process changes the state between the attempt's read and its write.
const ATTEMPTS: usize = 8;

#[derive(Debug)]
pub(crate) struct LeaseKeeper<C: LimitsOf<str> + 'static> {
    store: Remote,
    core: Core<C>,
    /// The random name of this limiter among those that lease with the same prefix.
    name: String,
    /// The thread ends when this sender is dropped.
    _stop: Sender<()>,
}

impl<C: LimitsOf<str>> LeaseKeeper<C> {
    pub(crate) fn start(store: Remote, core: Core<C>) -> Result<Arc<Self>, RemoteError> {
        let (stop, stopped) = mpsc::channel();
        let name = format!("{:016x}", fastrand::u64(..));
        let keeper = Arc::new(Self { store, core, name, _stop: stop });
        if let Some(leases) = &keeper.core.leases {
            let (ahead, own) = (leases.ahead, Arc::downgrade(&keeper));
            thread::Builder::new()
                .name("nanopace-leases".to_owned())
                .spawn(move || go_on(&own, &stopped, ahead))
                .map_err(|error| RemoteError::Thread(Arc::new(error)))?;
        }
        Ok(keeper)
    }

    pub(crate) fn store(&self) -> &Remote {
        &self.store
    }

    pub(crate) fn core(&self) -> &Core<C> {
        &self.core
    }

    pub(crate) fn give_back_all(&self) {
        self.give_back(Nanos::MAX);
    }

    fn sweep(&self) {
        if let Some(leases) = &self.core.leases {
            self.answer_roll_call(leases, leases.ahead * REGISTERED_SWEEPS);
            self.give_back(self.core.now());
        }
    }

    /// Registers this limiter as leasing for `time` (zero removes the registration), and stores the number of leasing
    /// limiters.
    fn answer_roll_call(&self, leases: &Leases, time: Duration) {
        let arguments = vec![self.name.clone(), time.as_millis().to_string()];
        let call = Call { source: &ROLL_CALL, key: self.core.names.processes(), arguments };
        if let Ok(Value::Int(processes)) = self.store.pool().call(&call) {
            leases.set_processes(processes.unsigned_abs());
        }
    }

    /// Gives expired tokens back. Tokens that cannot be given back stay counted in the store, and are lost.
    fn give_back(&self, now: Nanos) {
        let expired = self.core.leases.as_ref().map(|leases| leases.expired(now));
        for (key, block) in expired.into_iter().flatten() {
            if self.give_block_back(&self.core.names.subject(&key), &block).is_err() {
                self.core.counters.lost(block.tokens);
            }
        }
    }

    fn give_block_back(&self, name: &str, block: &Block) -> Result<(), StoreError> {
        for _ in 0..ATTEMPTS {
            let told = Reply::read(&self.store.pool().call(&look(name, self.core.micros()))?)?;
            if told.before.is_empty() {
                return Ok(());
            }
            let (limits, mut state) = read_state(&told.before).ok_or(StoreError::Foreign)?;
            limits.settle(&mut state, told.now, &block.receipt, &block.used()[..]);
            let plan = Plan::new(Arc::new(limits)).map_err(|_| StoreError::Foreign)?;
            let call = replace(&plan, name, &told.before, &state, (told.now, self.core.micros()))?;
            if self.store.pool().call(&call)? == Value::Int(1) {
                return Ok(());
            }
        }
        Err(StoreError::Contended)
    }
}

impl<C: LimitsOf<str>> Drop for LeaseKeeper<C> {
    fn drop(&mut self) {
        if let Some(leases) = &self.core.leases {
            self.give_back(Nanos::MAX);
            self.answer_roll_call(leases, Duration::ZERO);
        }
    }
}

fn go_on<C: LimitsOf<str>>(own: &Weak<LeaseKeeper<C>>, stopped: &Receiver<()>, ahead: Duration) {
    while let Some(keeper) = own.upgrade() {
        keeper.sweep();
        drop(keeper);
        if stopped.recv_timeout(ahead) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}
