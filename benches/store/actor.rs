//! The whole way of a key: door, actor, commit thread, ledger, store. Against the bare minimum in groups of the same size.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kubemq_mcp::domain::{Cause, Ending, Reply};
use kubemq_mcp::idempotency::{
    Clock, Config, End, Handle, Ledger, Proposal, Resend, SledStore, Timestamp, Verdict,
};
use tokio::time::Instant;

use super::{pairs, sample, say};

const CALLERS: usize = 256;
const KEYS_BEFORE: u64 = 50_000;
const TURNS: usize = 10;
const TURN: Duration = Duration::from_millis(500);

pub fn run() -> io::Result<()> {
    let directory = tempfile::tempdir_in(".")?;
    let config = Config { path: directory.path().join("store"), ..Config::default() };
    // Half of a batch are claims and the other half settles.
    let group = config.commit_batch_max / 2;
    let mut store = sample::open(&config.path);
    sample::fill(&mut store, 0..KEYS_BEFORE, 512);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut bare, mut theirs) = (File::create(directory.path().join("bare"))?, pairs::Measured::default());
    let mut ours = pairs::Measured::default();
    runtime.block_on(async {
        let handle = start(store, &config)?;
        let next = Arc::new(AtomicU64::new(KEYS_BEFORE));
        for _ in 0..TURNS {
            let begun = Instant::now();
            let callers =
                (0..CALLERS).map(|_| tokio::spawn(call(handle.clone(), next.clone(), begun + TURN)));
            for caller in callers.collect::<Vec<_>>() {
                ours.add(caller.await?, Duration::ZERO);
            }
            ours.add(0, begun.elapsed());
            theirs.turn(|| pairs::append_mixed(&mut bare, next.load(Ordering::Relaxed), group))?;
        }
        handle.close().await;
        io::Result::Ok(())
    })?;
    say(&format!("the whole store, {CALLERS} callers, {KEYS_BEFORE} keys before, pairs per second:"))?;
    say(&format!(
        "  store {:>8.0}   append and fdatasync, {group} at a time {:>8.0}   ratio {:.2}",
        ours.rate(),
        theirs.rate(),
        ours.rate() / theirs.rate()
    ))
}

fn start(mut store: SledStore, config: &Config) -> io::Result<Handle> {
    // The time of the samples stands still, so that none of them expires.
    let clock: Clock = Arc::new(|| sample::time(0));
    let (ledger, _) = Ledger::recover(&mut store, config, Timestamp::default()).map_err(io::Error::other)?;
    Handle::start(ledger, Box::new(store), clock, config)
}

/// Claims and settles new keys until its time is over, and says how many.
async fn call(handle: Handle, next: Arc<AtomicU64>, end: Instant) -> usize {
    let mut pairs = 0;
    while Instant::now() < end {
        let record = sample::claimed(next.fetch_add(1, Ordering::Relaxed), sample::time(0));
        let proposal = Proposal {
            principal: record.principal,
            key: record.key,
            fingerprint: record.fingerprint,
            channel: record.channel,
            request_id: record.request_id,
            resend: Resend::Never,
        };
        let Verdict::Run(mut claimed) = handle.claim(proposal).await else { panic!("every key is new") };
        claimed.leave();
        let reply = Reply {
            request_id: None,
            executed: true,
            error: String::new(),
            body: Vec::new(),
            metadata: String::new(),
            cache_hit: false,
            tags: [("order".to_owned(), "2026-00001234".to_owned()), ("region".into(), "eu-central".into())]
                .into(),
            responder: "orders-service-7f9c".into(),
        };
        let ending = Ending::new(Cause::Completed, "");
        let end = End { ending: &ending, reply: Some(&reply), elapsed: Duration::from_millis(12) };
        handle.settle(claimed, end).await;
        pairs += 1;
    }
    pairs
}
