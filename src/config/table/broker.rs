//! The options of the connection to the broker: `[broker]`.

use super::Section;
use crate::config::rule;
use crate::config::setting::Setting;

pub static BROKER: Section = Section {
    name: "broker",
    about: "The connection to KubeMQ.",
    settings: &[
        Setting::text(
            "broker.address",
            "embedded",
            rule::BROKER,
            "Where the broker is: `embedded` for the one inside, or the addresses of a cluster, which are tried in order.",
        ),
        Setting::text(
            "broker.client_id",
            "kubemq-mcp",
            rule::NAME,
            "The name we have at the broker, which its access control looks at.",
        ),
        Setting::text(
            "broker.auth_token",
            "",
            rule::TOKEN,
            "The token we show to the broker. It is better kept in the environment, or in `broker.auth_token_file`.",
        )
        .secret(),
        Setting::file("broker.auth_token_file", "A file with the token, instead of `broker.auth_token`."),
        Setting::boolean("broker.tls", false, "Whether the connection is encrypted."),
        Setting::file(
            "broker.tls_ca_file",
            "The authority that the broker's certificate must come from, as PEM. Empty: those that the system trusts.",
        ),
        Setting::file(
            "broker.tls_certificate_file",
            "Our own certificate, as PEM, for a broker that asks for one. It goes with `broker.tls_key_file`.",
        ),
        Setting::file("broker.tls_key_file", "The key of `broker.tls_certificate_file`, as PEM."),
        Setting::text(
            "broker.tls_server_name",
            "",
            rule::TEXT,
            "The name that the broker's certificate must carry. Empty: the host in `broker.address`.",
        ),
        Setting::integer("broker.connect_seconds", 5, 1..=60, "How long connecting to one address may take."),
        Setting::integer(
            "broker.keepalive_seconds",
            10,
            5..=300,
            "Time between two keepalive frames. KubeMQ closes connections that send them more often than every 5 seconds.",
        ),
        Setting::integer(
            "broker.keepalive_timeout_seconds",
            5,
            1..=60,
            "How long a keepalive frame may stay unanswered before the connection counts as broken. At most `broker.keepalive_seconds`.",
        ),
        Setting::integer(
            "broker.ping_seconds",
            5,
            1..=60,
            "Time between two pings, which tell whether the broker is there.",
        ),
        Setting::integer(
            "broker.ping_timeout_seconds",
            2,
            1..=60,
            "How long a ping may stay unanswered. At most `broker.ping_seconds`.",
        ),
        Setting::integer(
            "broker.reconnect_seconds_max",
            1,
            1..=60,
            "Longest pause between two attempts to connect.",
        ),
        Setting::integer(
            "broker.reply_bytes_max",
            1_048_576,
            1024..=67_108_864,
            "Largest reply that is passed on to an agent. The answer to a larger one is an error that names both sizes.",
        ),
    ],
};
