//! The task that looks for the broker: pings, moves between addresses, and follows the token file.
//!
//! While a broker answers, only it is pinged. When it is lost, all addresses are tried in the configured order, from the
//! first; one that a call or a ping has just found useless comes last. There is no move back while the found one
//! answers: a flapping first address would take every call through its downtime.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::address::Address;
use super::client::Client;
use super::config::Config;
use super::credential::{Credential, Reload};
use super::error::ConfigError;
use super::fault::detail;
use super::gate::{Condition, Gate, Route};
use super::tls::Tls;
use super::{BrokerInfo, Fault};

/// The shell around [`super::link`].
pub(super) struct Health {
    config: Config,
    addresses: Vec<Address>,
    tls: Option<Tls>,
    credential: Credential,
    clients: Vec<Arc<Client>>,
    gate: Arc<Gate>,
    token_seen: Instant,
}

impl Health {
    /// Reads what the configuration names and prepares a client for each address.
    pub(super) async fn prepare(
        config: &Config,
        addresses: Vec<Address>,
        gate: Arc<Gate>,
    ) -> Result<Self, ConfigError> {
        let (tls, credential) = (Tls::load(config)?, Credential::load(config)?);
        let clients = build_clients(config, &addresses, tls.as_ref(), &credential).await?;
        let (config, token_seen) = (config.clone(), Instant::now());
        Ok(Self { config, addresses, tls, credential, clients, gate, token_seen })
    }

    /// Runs until it is told to stop; then nothing passes the gate any more.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        // Also when this task dies of a bug: no call may wait at the gate for a look that never comes.
        let _closing = Closing(Arc::clone(&self.gate));
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.look_for_ever() => {}
        }
    }

    async fn look_for_ever(&mut self) {
        loop {
            self.follow_token().await;
            self.look().await;
            self.gate.next_look().await;
        }
    }

    async fn look(&self) {
        let Some(route) = self.gate.route() else {
            return self.walk(self.gate.take_avoided(), None).await;
        };
        let replies_before = self.gate.replies();
        let fault = match self.ping_twice(&route).await {
            Ok(info) => {
                if !self.gate.confirm(&route, Condition::Well(info)) {
                    // A call has lost this connection while the ping was under way.
                    self.walk(self.gate.take_avoided(), None).await;
                }
                return;
            }
            Err(fault) => fault,
        };
        let busy = matches!(fault, Fault::TimedOut) && self.gate.replies() > replies_before;
        if busy && self.gate.confirm(&route, Condition::Unheard) {
            return;
        }
        if speaks(&fault) && self.gate.confirm(&route, Condition::Unwell(fault.to_string())) {
            return self.look_for_better(&route).await;
        }
        // Calls wait from here on for the result of the walk.
        self.gate.report(&route, &Fault::ConnectionLost(fault.to_string()));
        let avoided = self.gate.take_avoided();
        match fault {
            Fault::ConnectionLost(_) => self.walk(avoided, None).await,
            fault => self.walk(Some(route.index), Some((route.index, fault))).await,
        }
    }

    /// One late answer proves nothing on a busy machine, and believing it would turn calls away; two in a row do.
    async fn ping_twice(&self, route: &Route) -> Result<BrokerInfo, Fault> {
        let patience = self.config.ping_patience();
        match within(patience, route.client.ping()).await {
            Err(Fault::TimedOut) => within(patience, route.client.ping()).await,
            result => result,
        }
    }

    /// Moves to another address if one is well; calls go on meanwhile.
    async fn look_for_better(&self, route: &Route) {
        for (index, client) in self.clients.iter().enumerate().filter(|(index, _)| *index != route.index) {
            if let Ok(info) = within(self.look_patience(), client.ping()).await {
                self.gate.report(route, &Fault::ConnectionLost("another address is well".into()));
                return self.gate.open(Arc::clone(client), index, Condition::Well(info));
            }
        }
    }

    /// Long enough to connect and to be answered.
    fn look_patience(&self) -> Duration {
        self.config.connect_patience() + self.config.ping_patience()
    }

    /// Tries all addresses. The one that has just failed a ping is not asked again: waiting for it once more would only
    /// delay the verdict.
    async fn walk(&self, avoided: Option<usize>, failed: Option<(usize, Fault)>) {
        let began = Instant::now();
        let mut reasons = Vec::new();
        let mut unwell = None;
        for index in order(self.clients.len(), avoided) {
            let client = &self.clients[index];
            let result = match &failed {
                Some((failed, fault)) if *failed == index => Err(fault.clone()),
                _ => within(self.look_patience(), client.ping()).await,
            };
            match result {
                Ok(info) => {
                    tracing::info!(address = %client.address(), version = %info.version, "broker found");
                    return self.gate.open(Arc::clone(client), index, Condition::Well(info));
                }
                Err(Fault::Unavailable(reason)) => reasons.push(reason),
                Err(Fault::TimedOut) => reasons.push(format!("{}: no answer to a ping", client.address())),
                Err(Fault::ConnectionLost(reason)) => reasons.push(format!("{}: {reason}", client.address())),
                Err(other) => unwell = unwell.or(Some((index, other))),
            }
        }
        if let Some((index, fault)) = unwell {
            let client = &self.clients[index];
            tracing::warn!(address = %client.address(), reason = %fault, "broker unwell");
            return self.gate.open(Arc::clone(client), index, Condition::Unwell(fault.to_string()));
        }
        let reason = detail(&reasons.join("; "));
        if self.gate.close(began, reason.clone()) {
            tracing::warn!(reason, "broker not reachable");
        }
    }

    /// Takes a changed token into use: new clients, and calls in flight end on the old ones.
    async fn follow_token(&mut self) {
        // Calls may wake this task often; the file system is asked at the pace of the pings.
        if self.token_seen.elapsed() < Duration::from_secs(self.config.ping_seconds.into()) {
            return;
        }
        self.token_seen = Instant::now();
        match self.credential.reload() {
            Ok(Reload::Unchanged) => return,
            Ok(Reload::Changed) => {}
            Err(error) => return tracing::warn!(%error, "broker token not reloaded, the old one stays"),
        }
        match build_clients(&self.config, &self.addresses, self.tls.as_ref(), &self.credential).await {
            Ok(clients) => {
                self.clients = clients;
                if let Some(route) = self.gate.route() {
                    self.gate.replace(Arc::clone(&self.clients[route.index]));
                }
                tracing::info!("broker token reloaded");
            }
            Err(error) => tracing::warn!(%error, "broker token not reloaded, the old one stays"),
        }
    }
}

/// Closes the gate for good when the task ends, however it ends.
struct Closing(Arc<Gate>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.shut();
    }
}

async fn build_clients(
    config: &Config,
    addresses: &[Address],
    tls: Option<&Tls>,
    credential: &Credential,
) -> Result<Vec<Arc<Client>>, ConfigError> {
    let token = credential.token();
    let mut clients = Vec::with_capacity(addresses.len());
    for address in addresses {
        clients.push(Arc::new(Client::build(config, address, tls, token.as_ref()).await?));
    }
    Ok(clients)
}

/// Whether this fault of a ping comes from a broker that is there, so that calls may hear from itself what it has
/// against us.
fn speaks(fault: &Fault) -> bool {
    !matches!(fault, Fault::Unavailable(_) | Fault::TimedOut | Fault::ConnectionLost(_))
}

/// Every index once, in order, the avoided one last.
fn order(count: usize, avoided: Option<usize>) -> impl Iterator<Item = usize> {
    (0..count).filter(move |index| Some(*index) != avoided).chain(avoided.filter(|index| *index < count))
}

async fn within(
    patience: Duration,
    ping: impl Future<Output = Result<BrokerInfo, Fault>>,
) -> Result<BrokerInfo, Fault> {
    timeout(patience, ping).await.unwrap_or(Err(Fault::TimedOut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_has_its_turn_and_the_avoided_one_the_last() {
        assert_eq!(order(3, None).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(order(3, Some(0)).collect::<Vec<_>>(), [1, 2, 0]);
        assert_eq!(order(1, Some(0)).collect::<Vec<_>>(), [0]);
    }
}
