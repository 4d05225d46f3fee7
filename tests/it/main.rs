//! The integration tests: one binary, one module for each thing that is tested.

mod admin;
mod audit;
mod broker;
mod call;
mod cause;
mod channel;
mod config;
mod connect;
mod connections;
#[cfg(target_os = "linux")]
mod crash;
mod documents;
mod embedded;
mod facts;
#[cfg(target_os = "linux")]
mod fault;
#[cfg(target_os = "linux")]
mod flood;
mod harness;
mod jwt;
mod key;
mod layers;
mod leaving;
mod limits;
mod load;
mod malformed;
mod ops;
mod page;
mod paths;
mod policy;
#[cfg(target_os = "linux")]
mod power;
mod process;
mod reconnect;
mod routing;
mod shutdown;
mod simulation;
#[cfg(target_os = "linux")]
mod space;
mod store;
mod timeout;
mod tls;
mod token;
mod unread;
mod wire;
