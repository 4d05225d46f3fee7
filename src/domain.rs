//! The vocabulary: pure data, no clock, no network, no actor.
//!
//! A value of these types is valid by construction, so no later layer checks it again.

mod channel;
mod deadline;
mod outcome;
mod principal;
mod reply;
mod request;

pub use channel::{Channel, ChannelError, ChannelPattern, RESERVED_PREFIXES};
pub use deadline::{Timeout, TimeoutError};
pub use outcome::{Cause, Ending, Outcome, Retry, Sent};
pub use principal::{NAME_CHARACTERS_MAX, Principal, PrincipalError};
pub use reply::Reply;
pub use request::{Kind, Request, RequestId, Tags, Tool};
