//! Why the embedded broker could not start.
//!
//! The usual reason is a real KubeMQ on the same port, so that text says how to use it instead.

use std::io;
use std::net::SocketAddr;

/// Why the embedded broker could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Somebody listens there already.
    #[error(
        "{address} is busy, so the embedded broker cannot listen there; if a KubeMQ already listens there, use it with \
         `--broker {address}` (in general `--broker HOST:PORT`)"
    )]
    PortBusy {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// The address cannot be listened on for another reason.
    #[error("the embedded broker cannot listen on {address}")]
    Bind {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl StartError {
    /// Tells a busy port from every other failure of a bind.
    pub(super) fn from_bind(address: SocketAddr, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::AddrInUse {
            return Self::PortBusy { address };
        }
        Self::Bind { address, source }
    }
}
