//! The arguments of the tools, one file per family.

pub(super) mod argument;
pub(super) mod key;
pub(super) mod request;
pub(super) mod status;
