//! The broker of production: the official `kubemq` crate behind our [`Broker`] trait.
//!
//! Each call goes out at most once. Only when it certainly never left is it tried at the next address, within the same
//! call; that is no retry, since nothing was sent.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::address::Address;
use super::config::Config;
use super::error::ConfigError;
use super::gate::{Gate, LinkState};
use super::health::Health;
use super::link::Pace;
use super::{Broker, BrokerInfo, Fault};
use crate::domain::{Reply, Request};

/// A KubeMQ broker at one or several addresses.
pub struct KubemqBroker {
    gate: Arc<Gate>,
    attempts_max: usize,
    gate_patience: Duration,
    ping_patience: Duration,
    stop: CancellationToken,
    health: Mutex<Option<JoinHandle<()>>>,
}

impl KubemqBroker {
    /// Prepares the connection to the first of these addresses that answers, and starts to look for it. The broker may
    /// be down.
    ///
    /// `config.address` is not read: the caller has resolved it, `embedded` included. `gate_patience` is how long a call
    /// may wait for a connection, and at most what its caller adds to the timeout of the call: more would be taken from
    /// the responder's time.
    ///
    /// # Errors
    /// Names the option that is wrong, or the file that cannot be used.
    pub async fn connect(
        config: &Config,
        addresses: Vec<Address>,
        gate_patience: Duration,
    ) -> Result<Arc<Self>, ConfigError> {
        config.check()?;
        if addresses.is_empty() {
            return Err(ConfigError::NoAddress);
        }
        let gate = Arc::new(Gate::new(Pace {
            ping_interval: Duration::from_secs(config.ping_seconds.into()),
            pause_max: Duration::from_secs(config.reconnect_seconds_max.into()),
        }));
        let attempts_max = addresses.len();
        let health = Health::prepare(config, addresses, Arc::clone(&gate)).await?;
        let stop = CancellationToken::new();
        let health = Mutex::new(Some(tokio::spawn(health.run(stop.clone()))));
        let ping_patience = config.connect_patience() + config.ping_patience();
        Ok(Arc::new(Self { gate, attempts_max, gate_patience, ping_patience, stop, health }))
    }

    /// Follows whether the broker is there.
    pub fn link(&self) -> watch::Receiver<LinkState> {
        self.gate.states()
    }

    /// How often the broker was found again after it had been lost.
    pub fn reconnects(&self) -> u64 {
        self.gate.reconnects()
    }

    /// Ends the health task. Calls in flight go on; later ones are told that the broker is not reachable.
    pub async fn stop(&self) {
        self.stop.cancel();
        let health = self.health.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(health) = health {
            // A task that has panicked has closed the gate as well.
            let _ = health.await;
        }
    }
}

impl Drop for KubemqBroker {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Broker for KubemqBroker {
    fn ask(&self, request: Request) -> BoxFuture<'static, Result<Reply, Fault>> {
        let patience = self.gate_patience.min(request.timeout.duration());
        Box::pin(ask(Arc::clone(&self.gate), request, self.attempts_max, patience))
    }

    fn ping(&self) -> BoxFuture<'static, Result<BrokerInfo, Fault>> {
        let (gate, patience) = (Arc::clone(&self.gate), self.ping_patience);
        Box::pin(async move {
            let ping = async { gate.pass().await?.client.ping().await };
            timeout(patience, ping).await.unwrap_or(Err(Fault::TimedOut))
        })
    }
}

async fn ask(
    gate: Arc<Gate>,
    mut request: Request,
    attempts_max: usize,
    gate_patience: Duration,
) -> Result<Reply, Fault> {
    let mut attempts_left = attempts_max;
    // The asker's own deadline is later, so that a call which ends here can say that it was not sent, and one that goes
    // on leaves its responder the whole timeout.
    let gate_closes = Instant::now() + gate_patience;
    loop {
        let route = timeout_at(gate_closes, gate.pass()).await.unwrap_or_else(|_| {
            Err(Fault::Unavailable("no address has answered in time for the call".into()))
        })?;
        attempts_left -= 1;
        // A copy only where there is another address to send it to.
        let spare = (attempts_left > 0).then(|| request.clone());
        let fault = match route.client.ask(request).await {
            Ok(reply) => {
                gate.count_reply();
                return Ok(reply);
            }
            Err(fault) => fault,
        };
        gate.report(&route, &fault);
        match (fault, spare) {
            (Fault::Unavailable(_), Some(spare)) if Instant::now() < gate_closes => request = spare,
            (fault, _) => return Err(fault),
        }
    }
}
