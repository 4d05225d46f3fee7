//! Commands with a key: at most one dispatch, and every retry is told what the first call did.

mod doubt;
mod full;
mod http;
mod joined;
mod replay;
mod world;
