//! One integration binary, so that everything links once.

mod call;
mod config;
