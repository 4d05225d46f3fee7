//! The embedded broker from outside: what a client of the real one relies on, code and text.

mod admin;
mod burst;
mod cache;
mod delivery;
mod ending;
mod refusal;
mod reply;
mod sdk;
mod stand;
