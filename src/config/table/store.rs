//! The store of idempotency keys: `[store]`.

use super::Section;
use crate::config::rule;
use crate::config::setting::Setting;

pub static STORE: Section = Section {
    name: "store",
    about: "What is remembered of commands with an idempotency key. One process at a time may use a store.",
    settings: &[
        Setting::text(
            "store.path",
            "./data",
            rule::DIRECTORY,
            "The directory of the store. It is made when it is not there, for its owner only.",
        ),
        Setting::integer(
            "store.lock_wait_seconds",
            10,
            0..=300,
            "How long a start waits for another process to let go of the store.",
        ),
        Setting::integer(
            "store.records_max",
            1_000_000,
            1..=100_000_000,
            "Keys that are kept at one time. Beyond it new keys are refused as `store_full`.",
        ),
        Setting::integer(
            "store.records_per_principal_max",
            1_000_000,
            1..=100_000_000,
            "Keys of one principal that are kept at one time, so that one cannot take the room of all.",
        ),
        Setting::integer(
            "store.records_bytes_max",
            1_073_741_824,
            1_048_576..=1_099_511_627_776,
            "Bytes that all records may have. A command in progress counts with `store.record_bytes_max`. The directory \
             takes several times as much.",
        ),
        Setting::integer(
            "store.record_bytes_max",
            12_288,
            12_288..=14_336,
            "Bytes of one record. Tags of an answer that do not fit are left out, and a replay says so.",
        ),
        Setting::integer(
            "store.free_bytes_min",
            268_435_456,
            0..=1_099_511_627_776,
            "Bytes that the disk must have left for a new key. Below it new keys are refused as `store_full`.",
        ),
        Setting::integer(
            "store.record_keep_seconds",
            86_400,
            1..=31_536_000,
            "How long a key is kept whose command has ended, from its first call on. After that it is new again.",
        ),
        Setting::integer(
            "store.in_doubt_keep_seconds",
            2_592_000,
            1..=315_360_000,
            "How long a key in doubt is kept, from its first call on. At least `store.record_keep_seconds`.",
        ),
        Setting::integer(
            "store.sweep_seconds",
            1,
            1..=3_600,
            "Time between two sweeps for keys whose time is over.",
        ),
        Setting::integer(
            "store.attempts_max",
            5,
            1..=100,
            "Attempts with one key in all, on channels with `channels.resend_in_doubt`.",
        ),
        Setting::integer(
            "store.joins_per_key_max",
            1_024,
            1..=100_000,
            "Calls that wait for another call with their key. Beyond it a call is told `in_progress` at once.",
        ),
        Setting::integer(
            "store.commits_waiting_max",
            4_096,
            16..=1_000_000,
            "Claims and lookups that wait for the disk. Beyond it a command with a key is refused as `overloaded`.",
        ),
        Setting::integer(
            "store.commit_batch_max",
            128,
            1..=4_096,
            "Claims and settles that one write to the disk takes together.",
        ),
    ],
};
