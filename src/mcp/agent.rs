//! What is known of the agent behind a request: what it reads, which protocol it speaks, what its leaving means.

use rmcp::model::{ProgressToken, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use tokio_util::sync::CancellationToken;

use crate::domain::Subject;

/// The protocol versions served, oldest first. Older ones allow batches, which nothing here does.
pub const SUPPORTED_VERSIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// Which of the two protocols a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// With a handshake; a lost connection is no cancel.
    Legacy,
    /// Each request stands alone; a closed stream is a cancel.
    Modern,
}

impl Protocol {
    /// The protocol of a version.
    pub fn of(version: Option<&ProtocolVersion>) -> Self {
        match version {
            Some(version) if *version >= ProtocolVersion::V_2026_07_28 => Self::Modern,
            _ => Self::Legacy,
        }
    }
}

/// What the transport knows of the agent; it stands in the extensions of the HTTP request.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Who it is.
    pub subject: Subject,
    /// Whether it reads a stream.
    pub reads: Reads,
    /// What its leaving means for a command that has not been claimed.
    pub leaving: Leaving,
}

/// What an agent can read as an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// One JSON object only.
    Json,
    /// A stream of events as well.
    Stream,
}

/// What an agent's leaving means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It cancels the call, on stdio in every protocol version.
    Cancels,
    /// It cancels since protocol 2026-07-28; before, a lost connection was no cancel.
    CancelsByVersion,
}

impl Leaving {
    /// The meaning, once the protocol is known.
    pub(super) fn in_protocol(self, protocol: Protocol) -> Self {
        match protocol {
            Protocol::Legacy => self,
            Protocol::Modern => Self::Cancels,
        }
    }
}

/// What a call needs to know of who waits for it.
pub(super) struct Caller {
    /// Who that is.
    pub subject: Subject,
    /// Cancelled when the agent leaves.
    pub left: CancellationToken,
    /// What that means for a command.
    pub leaving: Leaving,
    /// Whom to tell that the call still runs.
    pub progress: Option<(ProgressToken, Peer<RoleServer>)>,
}

impl Caller {
    /// The agent of a request that rmcp has read.
    pub fn of(context: RequestContext<RoleServer>) -> Self {
        let told = context
            .extensions
            .get::<axum::http::request::Parts>()
            .and_then(|parts| parts.extensions.get::<Agent>().cloned());
        let agent = told.unwrap_or_else(|| Agent {
            subject: Subject::anonymous(),
            reads: Reads::Json,
            leaving: Leaving::CancelsByVersion,
        });
        let token = context.meta.get_progress_token().filter(|_| agent.reads == Reads::Stream);
        Self {
            subject: agent.subject,
            leaving: agent.leaving.in_protocol(Protocol::of(context.protocol_version().as_ref())),
            progress: token.map(|token| (token, context.peer)),
            left: context.ct,
        }
    }
}
