//! Tells a waiting agent that its call still runs.
//!
//! Only when the agent sent a progress token and reads a stream: the first notification turns the answer into one.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// What is told, to whom, how often.
pub struct Progress {
    /// The agent's own token.
    pub token: ProgressToken,
    /// Where the notifications go.
    pub peer: Peer<RoleServer>,
    /// Between two of them.
    pub every: Duration,
    /// What the agent waits for, as in `reply on channel 'orders'`.
    pub what: String,
    /// The time the responder has, in seconds.
    pub total_seconds: u32,
}

/// Awaits `work` and reports progress meanwhile. Nothing is sent once the work has ended.
pub async fn reported<Output>(progress: Option<Progress>, work: impl Future<Output = Output>) -> Output {
    let Some(progress) = progress else { return work.await };
    let started = Instant::now();
    let mut ticks = interval_at(started + progress.every, progress.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            output = &mut work => return output,
            _ = ticks.tick() => progress.notify(started.elapsed()).await,
        }
    }
}

impl Progress {
    async fn notify(&self, waited: Duration) {
        let seconds = waited.as_secs_f64();
        let mut notification = ProgressNotificationParam::new(self.token.clone(), seconds);
        notification.total = Some(f64::from(self.total_seconds));
        notification.message =
            Some(format!("waiting for the {}, {seconds:.0} of {} s", self.what, self.total_seconds));
        if let Err(error) = self.peer.notify_progress(notification).await {
            // The agent left; its call ends by its own rules.
            tracing::debug!(%error, "no progress told");
        }
    }
}
