//! The vocabulary: pure data, no clock, no network, no actor.
//!
//! A value of these types is valid by construction, so no later layer checks it again.

mod channel;
mod deadline;
mod foreign;
mod key;
mod outcome;
mod principal;
mod reply;
mod request;
mod subject;

pub use channel::{Channel, ChannelError, ChannelPattern, RESERVED_PREFIXES};
pub use deadline::{Timeout, TimeoutError};
pub use foreign::{FOREIGN_TEXT_CHARACTERS_MAX, plain};
pub use key::{Fingerprint, KEY_CHARACTERS_MAX, Key, KeyError};
pub use outcome::{Cause, Ending, Outcome, Retry, Sent};
pub use principal::{NAME_CHARACTERS_MAX, Principal, PrincipalError};
pub use reply::Reply;
pub use request::{Kind, Request, RequestId, Tags, Tool};
pub use subject::Subject;
