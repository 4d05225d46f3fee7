//! What we need of a broker, in our words.
//!
//! Every failure is exactly one [`Fault`], and only [`Fault::Unavailable`] and [`Fault::Refused`] say that nothing
//! was executed: that is an allow-list of error shapes, each provoked by a test. Everything else is unknown.

mod address;
mod answering;
mod backoff;
mod client;
mod config;
mod credential;
mod endpoint;
mod error;
mod fault;
mod gate;
mod health;
mod kubemq;
mod link;
mod responder;
mod secret;
mod subscription;
mod symptom;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

pub use self::address::{Address, AddressError};
pub use self::config::{Config, Place};
pub use self::error::ConfigError;
pub use self::gate::LinkState;
pub use self::kubemq::KubemqBroker;
pub use self::responder::{Answer, Asked, Handler, IN_FLIGHT_MAX, Responder, Subscription, Unfinished};
pub use self::secret::Secret;
pub use self::tls::install_crypto_provider;
use crate::domain::{Cause, Reply, Request};

/// A KubeMQ broker that takes requests.
pub trait Broker: Send + Sync + 'static {
    /// Sends a request once and waits for its reply. Never sends it again by itself; a broker with several addresses
    /// may try the next one only when nothing can have left for the first.
    ///
    /// Dropping the future resets the call. It may stay silent for ever: the caller keeps the deadline, with
    /// [`ask_within`].
    fn ask(&self, request: Request) -> BoxFuture<'static, Result<Reply, Fault>>;

    /// Asks whether the broker is there.
    fn ping(&self) -> BoxFuture<'static, Result<BrokerInfo, Fault>>;
}

/// A broker shared by all actors.
pub type SharedBroker = Arc<dyn Broker>;

/// What a broker says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerInfo {
    /// Its host name.
    pub host: String,
    /// Its version text.
    pub version: String,
    /// The address that answered, `host:port`.
    pub address: String,
}

/// Why a request has no reply. The detail is one plain clause without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The broker answered `Error 301` at its time, or our own deadline passed.
    #[error("no reply in time")]
    TimedOut,
    /// The call had left and the connection broke.
    #[error("the connection to the broker broke: {0}")]
    ConnectionLost(String),
    /// Any other error of the broker after the call had left.
    #[error("the broker failed: {0}")]
    Failed(String),
    /// A reply came that is larger than we take, both in bytes; the size is not always known.
    #[error("the reply is larger than {limit} bytes")]
    ReplyTooLarge {
        /// The size of the reply.
        size: Option<usize>,
        /// The limit, `broker.reply_bytes_max`.
        limit: usize,
    },
    /// A reply came that cannot be read.
    #[error("the reply cannot be read: {0}")]
    ReplyInvalid(String),
    /// Could not connect; nothing left us.
    #[error("the broker is not reachable: {0}")]
    Unavailable(String),
    /// The broker's validation, access control or authentication said no before any delivery.
    #[error("the broker refused: {0}")]
    Refused(String),
}

impl Fault {
    /// The one cause it is told as.
    pub fn cause(&self) -> Cause {
        match self {
            Self::TimedOut => Cause::TimedOut,
            Self::ConnectionLost(_) => Cause::ConnectionLost,
            Self::Failed(_) => Cause::BrokerFailed,
            Self::ReplyTooLarge { .. } => Cause::ReplyTooLarge,
            Self::ReplyInvalid(_) => Cause::ReplyInvalid,
            Self::Unavailable(_) => Cause::BrokerUnavailable,
            Self::Refused(_) => Cause::BrokerRefused,
        }
    }
}

/// Asks with a deadline of our own: the request's timeout plus `gateway_buffer`.
///
/// The deadline only ends the wait when the broker itself stays silent; a broker that is alive answers first.
///
/// # Errors
/// As [`Broker::ask`], and [`Fault::TimedOut`] at the deadline.
pub async fn ask_within(
    broker: &SharedBroker,
    request: Request,
    gateway_buffer: Duration,
) -> Result<Reply, Fault> {
    let patience = request.timeout.duration() + gateway_buffer;
    tokio::time::timeout(patience, broker.ask(request)).await.unwrap_or(Err(Fault::TimedOut))
}
