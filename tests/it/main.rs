//! The integration tests: one binary, one module for each thing that is tested.

mod admin;
mod broker;
mod call;
mod cause;
mod channel;
mod config;
mod documents;
mod embedded;
mod facts;
mod harness;
mod key;
mod layers;
mod leaving;
mod load;
mod malformed;
mod ops;
mod paths;
mod process;
mod reconnect;
mod routing;
mod shutdown;
mod timeout;
mod token;
mod wire;
