//! The options of the listener: `[http]` and `[admin]`.

use super::Section;
use crate::config::rule;
use crate::config::setting::Setting;

pub static HTTP: Section = Section {
    name: "http",
    about: "The listener: who may speak to it, and how much of anything it takes.",
    settings: &[
        Setting::list(
            "http.allowed_hosts",
            &["localhost", "127.0.0.1", "[::1]"],
            rule::HOST,
            1,
            "Hosts that a request may be addressed to; any other is refused. It keeps web pages from reaching us by a name of their own.",
        ),
        Setting::list(
            "http.allowed_origins",
            &["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"],
            rule::ORIGIN,
            0,
            "Web pages that may send requests and read the answers; `:*` stands for any port, no port for that of the scheme. An empty list lets no page in; a request without an `Origin` is not from a page.",
        ),
        Setting::integer(
            "http.body_bytes_max",
            4_194_304,
            1024..=104_857_600,
            "Largest body of a request. It must have room for the largest call, `tool.body_bytes_max`, and half as much again.",
        ),
        Setting::integer(
            "http.bodies_bytes_max",
            268_435_456,
            1024..=4_294_967_296,
            "The bodies of all requests that run at one time. At least `http.body_bytes_max`. A request beyond it is answered 503 and not sent.",
        ),
        Setting::integer("http.header_bytes_max", 65_536, 8192..=1_048_576, "Largest head of a request."),
        Setting::integer(
            "http.header_seconds",
            10,
            1..=300,
            "How long the head of a request may take to arrive, and a connection stand idle before the next.",
        ),
        Setting::integer(
            "http.body_seconds",
            30,
            1..=300,
            "How long the body of a request may take to arrive.",
        ),
        Setting::integer(
            "http.answer_seconds",
            30,
            1..=3600,
            "How long an answer may wait for a client that reads nothing. Then its connection is closed.",
        ),
        Setting::integer(
            "http.connections_max",
            10_000,
            1..=1_000_000,
            "Connections that are open at one time.",
        ),
        Setting::integer(
            "http.streams_per_connection_max",
            10_000,
            1..=100_000,
            "Requests that run on one HTTP/2 connection at one time.",
        ),
    ],
};

pub static ADMIN: Section = Section {
    name: "admin",
    about: "What operators ask: health, metrics, keys.",
    settings: &[
        Setting::text(
            "admin.listen",
            "",
            rule::LISTEN_OR_EMPTY,
            "An address of their own for health, metrics and keys. Empty: they are on `server.listen`.",
        ),
        Setting::file(
            "admin.token_file",
            "A file with the one token that opens the keys to operators, from any address. Empty: they are open to whoever comes from this machine, which a proxy on it does for everybody.",
        ),
    ],
};
