//! Who did what: `[audit]`.

use super::Section;
use crate::config::rule;
use crate::config::setting::Setting;

pub static AUDIT: Section = Section {
    name: "audit",
    about: "Who did what: a line of JSON before each command leaves, and one when a call has ended.",
    settings: &[
        Setting::text(
            "audit.path",
            "",
            rule::PATH,
            "The file of the lines, or `-` for standard output, which `stdio` has no room for. Empty: there is no audit. A command whose line cannot be written is refused as `audit_unavailable`.",
        ),
        Setting::boolean(
            "audit.sync",
            false,
            "Whether the lines survive a power cut before a command leaves, which costs a write to the disk for each batch. Without it they survive the end of the process.",
        ),
        Setting::integer(
            "audit.file_bytes_max",
            104_857_600,
            4096..=1_099_511_627_776,
            "Size at which a file is put aside, under its name with the time.",
        ),
        Setting::integer(
            "audit.rotate_seconds",
            86_400,
            60..=31_536_000,
            "Age at which a file is put aside, counted from when it was opened.",
        ),
        Setting::integer(
            "audit.files_kept_max",
            30,
            1..=100_000,
            "Files put aside that are kept. The oldest go first.",
        ),
    ],
};
