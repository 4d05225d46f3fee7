//! Waiting for an event with a deadline, instead of sleeping.

use std::time::Duration;

use tokio::sync::watch;

/// How long any event may take on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Waits until the value fulfils the condition.
///
/// # Panics
/// When that does not happen in time; the text names what was awaited.
pub async fn wait_for<T: Clone>(
    receiver: &mut watch::Receiver<T>,
    what: &str,
    condition: impl FnMut(&T) -> bool,
) -> T {
    within(what, receiver.wait_for(condition)).await.expect("the sender lives").clone()
}

/// Waits for the future.
///
/// # Panics
/// When it does not end in time; the text names what was awaited.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.unwrap_or_else(|_| panic!("never happened: {what}"))
}
