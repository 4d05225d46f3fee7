//! One integration binary, so that everything links once.

mod config;
