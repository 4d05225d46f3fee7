//! The thread that writes: what waits is one batch, and whoever waits for it hears when it is written.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::file::Target;
use super::handle::Health;
use super::metrics::Metrics;
use super::{Line, What};
use crate::clock;

/// Lines that one write takes together at most.
const BATCH_LINES_MAX: usize = 256;

/// What the thread is given.
pub(super) enum Work {
    /// A line, and who waits until it is written.
    Write { line: Line, waiter: Option<oneshot::Sender<bool>> },
    /// Everything before it is to be written, and nothing comes after.
    Stop { waiter: oneshot::Sender<()> },
}

/// Writes until it is told to stop or nobody is left who could ask.
pub(super) fn run(mut target: Target, mut inbox: mpsc::Receiver<Work>, health: &Arc<Health>) {
    while let Some(first) = inbox.blocking_recv() {
        let (mut batch, mut stop) = (Vec::new(), None);
        let mut next = Some(first);
        while let Some(work) = next {
            match work {
                Work::Write { line, waiter } => batch.push((line, waiter)),
                Work::Stop { waiter } => {
                    stop = Some(waiter);
                    break;
                }
            }
            next = if batch.len() < BATCH_LINES_MAX { inbox.try_recv().ok() } else { None };
        }
        if !batch.is_empty() || health.lost() > 0 {
            write(&mut target, batch, health);
        }
        if let Some(waiter) = stop {
            let _ = waiter.send(());
            return;
        }
    }
}

fn write(target: &mut Target, batch: Vec<(Line, Option<oneshot::Sender<bool>>)>, health: &Health) {
    let lost = health.lost();
    let gap = (lost > 0).then(|| Line::new(What::Gap, clock::now()).with("lines_lost", lost.into()));
    let lines: Vec<&Line> = gap.iter().chain(batch.iter().map(|(line, _)| line)).collect();
    let text: String = lines.iter().map(|line| line.text()).collect();
    let written = target.write(text.as_bytes());
    match &written {
        Ok(()) => {
            health.found(lost);
            let metrics = Metrics::get();
            metrics.bytes.increment(text.len() as u64);
            lines.iter().for_each(|line| metrics.written(line.what()));
        }
        Err(error) => {
            // An intent that is not written stops its command, so nothing of it is lost.
            let lost = batch.iter().filter(|(_, waiter)| waiter.is_none()).count();
            health.fail(error.to_string(), lost as u64);
        }
    }
    for waiter in batch.into_iter().filter_map(|(_, waiter)| waiter) {
        let _ = waiter.send(written.is_ok());
    }
}
