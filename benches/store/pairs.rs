//! Claim and settle against the bare minimum: the same bytes, appended to a file and synced as often.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use kubemq_mcp::idempotency::Record;
use tokio::time::Instant;

use super::sample;
use super::say;

const BATCHES: [usize; 4] = [1, 8, 64, 128];
const KEYS_BEFORE: u64 = 50_000;
/// The two take turns, so that a busy moment of the machine hits both.
const TURNS: usize = 12;
const TURN: Duration = Duration::from_millis(250);

pub fn run() -> io::Result<()> {
    say(&format!("claim and settle, {KEYS_BEFORE} keys before, pairs per second:"))?;
    for batch in BATCHES {
        let directory = tempfile::tempdir_in(".")?;
        compare(directory.path(), batch)?;
    }
    Ok(())
}

fn compare(directory: &Path, batch: usize) -> io::Result<()> {
    let mut store = sample::open(&directory.join("store"));
    sample::fill(&mut store, 0..KEYS_BEFORE, 512);
    let mut bare = File::create(directory.join("bare"))?;
    let mut next = KEYS_BEFORE;
    let (mut ours, mut theirs) = (Measured::default(), Measured::default());
    for _ in 0..TURNS {
        ours.turn(|| {
            sample::fill(&mut store, next..next + batch as u64, batch);
            next += batch as u64;
            Ok(batch)
        })?;
        theirs.turn(|| append(&mut bare, next, batch))?;
    }
    say(&format!(
        "  {batch:>4} at a time: store {:>8.0}   append and fdatasync {:>8.0}   ratio {:.2}",
        ours.rate(),
        theirs.rate(),
        ours.rate() / theirs.rate()
    ))
}

/// How many pairs in what time.
#[derive(Default)]
pub struct Measured {
    pairs: usize,
    took: Duration,
}

impl Measured {
    /// Repeats a group of pairs for one turn.
    pub fn turn(&mut self, mut group: impl FnMut() -> io::Result<usize>) -> io::Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < TURN {
            self.pairs += group()?;
        }
        self.took += begun.elapsed();
        Ok(())
    }

    /// Adds what was measured elsewhere.
    pub fn add(&mut self, pairs: usize, took: Duration) {
        self.pairs += pairs;
        self.took += took;
    }

    /// Pairs per second.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub fn rate(&self) -> f64 {
        self.pairs as f64 / self.took.as_secs_f64()
    }
}

fn append(file: &mut File, first: u64, batch: usize) -> io::Result<usize> {
    let open: Vec<Record> =
        (first..).take(batch).map(|number| sample::claimed(number, sample::time(number))).collect();
    write(file, &open)?;
    let done: Vec<Record> = open.iter().map(sample::settled).collect();
    write(file, &done)?;
    Ok(batch)
}

/// As [`append`], but the settles of one group are synced with the claims of the next, as the commit thread does.
pub fn append_mixed(file: &mut File, first: u64, batch: usize) -> io::Result<usize> {
    let open: Vec<Record> =
        (first..).take(batch).map(|number| sample::claimed(number, sample::time(number))).collect();
    let both: Vec<Record> = open.iter().map(sample::settled).chain(open.iter().cloned()).collect();
    write(file, &both)?;
    Ok(batch)
}

fn write(file: &mut File, records: &[Record]) -> io::Result<()> {
    let records: Vec<Vec<u8>> = records.iter().map(Record::encode).collect();
    file.write_all(&records.concat())?;
    file.sync_data()
}
