//! The builders that tests share.

pub mod agent;
pub mod authority;
pub mod binary;
pub mod caller;
pub mod child;
pub mod connector;
pub mod disk;
pub mod event;
pub mod issuer;
pub mod life;
pub mod nowhere;
pub mod outside;
pub mod raw;
pub mod recording;
pub mod scripted;
pub mod shim;
pub mod store;
