//! The options of the process: `[server]` and `[log]`.

use super::Section;
use crate::config::rule;
use crate::config::setting::Setting;

pub static SERVER: Section = Section {
    name: "server",
    about: "The process: where agents connect, how it stops, how many threads its actors get.",
    settings: &[
        Setting::text(
            "server.listen",
            "127.0.0.1:9090",
            rule::LISTEN,
            "The address that agents connect to. `0.0.0.0:9090` listens on every network; then name the hosts in `http.allowed_hosts`, and let callers show tokens, `auth.mode`.",
        ),
        Setting::boolean(
            "server.insecure",
            false,
            "Whether `server.listen` may be an address that other machines reach while a call needs no token. Without it such a start fails; with it every start says so in the log.",
        ),
        Setting::boolean(
            "server.read_only",
            false,
            "Whether only queries are served, whoever asks: the way to give away a connector that cannot change anything.",
        ),
        Setting::file(
            "server.tls_certificate_file",
            "The certificate of the listener and those above it, as PEM: then agents connect with `https`. It is read again when it changes. It goes with `server.tls_key_file`.",
        ),
        Setting::file("server.tls_key_file", "The key of `server.tls_certificate_file`, as PEM."),
        Setting::integer(
            "server.drain_seconds",
            25,
            0..=300,
            "How long a stop waits for the calls that still run. What is still open after that is told as unknown.",
        ),
        Setting::integer(
            "server.shards",
            2,
            1..=64,
            "Threads that run the actors. A channel always lives on the same one.",
        ),
        Setting::integer(
            "server.mailbox_messages_max",
            4096,
            16..=1_000_000,
            "Messages that may wait for one actor. A sender that finds no room waits; `channel.requests_pending_max` is what refuses.",
        ),
    ],
};

pub static LOG: Section = Section {
    name: "log",
    about: "What the connector writes to standard error.",
    settings: &[
        Setting::text(
            "log.level",
            "info",
            rule::FILTER,
            "What is logged: a level, or directives that give single modules another one.",
        ),
        Setting::text(
            "log.format",
            "text",
            rule::FORMAT,
            "How a line looks: `text` is for people, `json` is one object on each line.",
        ),
    ],
};
