//! The integration tests, one binary.

mod broker;
mod harness;
