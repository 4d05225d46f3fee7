//! Whether the connector can do its work: what `/readyz` and the broker's gauge say.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use metrics::{counter, describe_counter, describe_gauge, gauge};
use tokio_util::sync::CancellationToken;

use crate::audit::Audit;
use crate::broker::{Address, KubemqBroker, LinkState};
use crate::http::{Ops, Readiness};
use crate::mcp;
use crate::telemetry::Figures;

/// An actor that takes longer than this to take its mail is not well.
const ACTOR_PATIENCE: Duration = Duration::from_secs(1);

/// Where the operator's endpoints get their answers.
pub fn ops(
    broker: &Arc<KubemqBroker>,
    addresses: &[Address],
    door: mcp::Handle,
    audit: &Audit,
    note: Option<&'static str>,
    figures: Figures,
    draining: CancellationToken,
) -> Ops {
    let (link, addresses, audit) = (broker.link(), listed(addresses), audit.clone());
    let scraped = Arc::clone(broker);
    let readiness = move || {
        let (link, addresses, door, audit) = (link.clone(), addresses.clone(), door.clone(), audit.clone());
        let draining = draining.is_cancelled();
        async move {
            let (broker_up, broker_detail) = match &*link.borrow() {
                LinkState::Up { info } => (true, format!("KubeMQ {} on {}", info.version, info.host)),
                LinkState::Down { reason, .. } => (false, reason.clone()),
            };
            let actors_answer = door.answers(ACTOR_PATIENCE).await;
            let closed = door.store().health().err();
            let store_up = closed.is_none();
            let full = || door.store().full().map(|full| format!("new keys are refused: {full}"));
            let store_detail = closed.map(|closed| closed.whole()).or_else(full);
            let audit_detail = audit.health().err();
            let audit_up = audit_detail.is_none();
            let ready = broker_up && actors_answer && store_up && audit_up && !draining;
            Readiness {
                ready,
                draining,
                broker_up,
                broker: addresses,
                broker_detail,
                actors_answer,
                store_up,
                store_detail,
                audit_up,
                audit_detail,
                note,
            }
        }
        .boxed()
    };
    let metrics = move || {
        counter!("kubemq_mcp_broker_reconnects_total").absolute(scraped.reconnects());
        figures.render()
    };
    Ops { readiness: Arc::new(readiness), metrics: Arc::new(metrics) }
}

/// Keeps the broker's series true until the broker is stopped.
pub async fn watch(broker: Arc<KubemqBroker>) {
    describe_gauge!("kubemq_mcp_broker_up", "1 while the broker answers pings, 0 otherwise.");
    describe_counter!(
        "kubemq_mcp_broker_reconnects_total",
        "How often the broker was found again after a loss."
    );
    let mut link = broker.link();
    loop {
        match &*link.borrow_and_update() {
            LinkState::Up { .. } => gauge!("kubemq_mcp_broker_up").set(1.0),
            LinkState::Down { .. } => gauge!("kubemq_mcp_broker_up").set(0.0),
        }
        if link.changed().await.is_err() {
            return;
        }
    }
}

/// Addresses as one text.
pub fn listed(addresses: &[Address]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
