//! The builders that tests share.

pub mod agent;
pub mod binary;
pub mod child;
pub mod connector;
pub mod event;
pub mod nowhere;
pub mod raw;
pub mod scripted;
pub mod store;
