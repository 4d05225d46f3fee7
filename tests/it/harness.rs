//! The builders that tests share.

pub mod agent;
pub mod binary;
pub mod child;
pub mod connector;
pub mod disk;
pub mod event;
pub mod nowhere;
pub mod raw;
pub mod recording;
pub mod scripted;
pub mod shim;
pub mod store;
