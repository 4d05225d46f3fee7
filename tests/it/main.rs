//! The integration tests: one binary, one module for each thing that is tested.

mod call;
mod config;
mod embedded;
