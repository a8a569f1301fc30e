//! Starts everything that watches and controls a run: signals, keys, the control server and pushed metrics.

use super::args::RunArgs;
use super::control::{Control, ControlListener};
use super::keyboard::Keyboard;
use super::message::Message;
use super::observed::Observed;
#[cfg(feature = "otlp")]
use super::push::{Push, collector::Collector};
use crate::console::Progress;
use crate::console::interrupt::Interrupt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

#[derive(Debug)]
pub(crate) struct Access {
    control: Option<ControlListener>,
    #[cfg(feature = "otlp")]
    collector: Option<Arc<Collector>>,
}

impl Access {
    pub(crate) fn open(args: &RunArgs) -> anyhow::Result<Access> {
        Ok(Access {
            control: ControlListener::open(&args.control)?,
            #[cfg(feature = "otlp")]
            collector: args.push.collector()?.map(Arc::new),
        })
    }
}

pub(super) struct Steering {
    keyboard: Option<Keyboard>,
    pub(super) interrupted: Arc<AtomicBool>,
    control: Option<Control>,
    #[cfg(feature = "otlp")]
    push: Option<Push>,
}

impl Steering {
    pub(super) fn start(
        args: &RunArgs,
        access: &Access,
        interrupts: usize,
        loads: &[Observed],
        sender: &Sender<Message>,
    ) -> anyhow::Result<Steering> {
        let stop = sender.clone();
        // The receiver is dropped only when the run has ended, so an error has no effect.
        let interrupt = Interrupt::on_signals(interrupts, move || drop(stop.send(Message::Stop)))?;
        let interrupted = interrupt.flag();
        let keyboard = Keyboard::listen(sender.clone(), interrupt);
        let control = access.control.as_ref().map(|listener| {
            // The line is printed before the full-screen view opens, because no other output is visible during it.
            Progress::of_a_job().add_line(&format!("control at {}", listener.url()));
            Control::start(listener, loads.to_vec(), args.is_versus, sender.clone())
        });
        #[cfg(feature = "otlp")]
        let push = access.collector.as_ref().map(|collector| {
            let every = args.push.otlp_interval;
            Push::start(Arc::clone(collector), every, loads.to_vec(), sender.clone())
        });
        Ok(Steering {
            keyboard,
            interrupted,
            control: control.transpose()?,
            #[cfg(feature = "otlp")]
            push: push.transpose()?,
        })
    }

    pub(super) fn has_keys(&self) -> bool {
        self.keyboard.is_some()
    }

    pub(super) fn end(mut self) {
        drop(self.control.take());
        #[cfg(feature = "otlp")]
        self.push.take().and_then(Push::end).iter().for_each(|told| {
            Progress::of_a_job().add_line(told);
        });
    }
}
