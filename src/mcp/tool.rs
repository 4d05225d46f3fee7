//! The arguments of the tools, one file per family.

pub(super) mod argument;
pub(super) mod request;
