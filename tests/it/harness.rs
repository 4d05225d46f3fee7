//! The builders that tests share.

pub mod child;
pub mod event;
pub mod nowhere;
pub mod raw;
pub mod scripted;
