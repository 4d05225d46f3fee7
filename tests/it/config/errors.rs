//! What a wrong configuration is told: where, what, what is allowed, and what was probably meant.

use kubemq_mcp::config::{Config, Flag, Sources};
use proptest::prelude::*;

use super::{load, load_with, problems, variables};

#[test]
fn an_unknown_option_names_its_line_and_the_nearest_one() {
    let text = "# a comment\n[server]\n\ndrain_second = 3\nclient_id = 'x'\ncolour = 'red'";
    assert_eq!(
        problems(load(text)),
        [
            "config.toml:4: unknown option `server.drain_second`, the nearest is `server.drain_seconds`",
            "config.toml:5: unknown option `server.client_id`, the nearest is `broker.client_id`",
            "config.toml:6: unknown option `server.colour`, known are `server.listen`, `server.insecure`, \
             `server.read_only`, `server.tls_certificate_file`, `server.tls_key_file`, `server.drain_seconds`, `server.shards`, `server.mailbox_messages_max`",
        ]
    );
}

#[test]
fn an_unknown_section_names_its_line_and_the_nearest_one() {
    let text = "shards = 2\n[sever]\nshards = 2\n[colours]";
    let found = problems(load(text));
    assert_eq!(found[0], "config.toml:1: unknown option `shards`, the nearest is `server.shards`");
    assert_eq!(found[1], "config.toml:2: unknown section `sever`, the nearest is `server`");
    assert!(found[2].starts_with("config.toml:4: unknown section `colours`, known are `server`, `log`, "));
}

#[test]
fn an_unknown_variable_names_the_nearest_one() {
    let wrong = [
        ("KUBEMQ_MCP__BROKER__ADRESS", "x:1"),
        ("KUBEMQ_MCP__CHANNELS__PATTERN", "orders"),
        ("KUBEMQ_MCP__LISTEN_ADDRESS_OF_SERVER", "x"),
        ("kubemq_mcp__server__listen", "x"),
    ];
    let found = problems(load_with("", &wrong));
    assert_eq!(
        found[..2],
        [
            "KUBEMQ_MCP__BROKER__ADRESS: unknown variable `KUBEMQ_MCP__BROKER__ADRESS`, the nearest is \
             `KUBEMQ_MCP__BROKER__ADDRESS`",
            "KUBEMQ_MCP__CHANNELS__PATTERN: entries of `[[channels]]` can only stand in the file",
        ]
    );
    assert!(found[2].contains("known are `KUBEMQ_MCP__SERVER__…`, `KUBEMQ_MCP__LOG__…`"), "{}", found[2]);
    assert!(found[3].ends_with("the nearest is `KUBEMQ_MCP__SERVER__LISTEN`"), "{}", found[3]);
}

#[test]
fn a_wrong_value_names_its_line_and_what_is_allowed() {
    let text = "[server]\nshards = 65\ndrain_seconds = '7'\nlisten = 'localhost:9090'\nmailbox_messages_max = 16.0\n\
                [broker]\ntls = 'yes'\naddress = 'http://kubemq:50000'\n[http]\nallowed_hosts = ['a', 1]\n\
                [log]\nlevel = 'inof'";
    assert_eq!(
        problems(load(text)),
        [
            "config.toml:2: `server.shards` is 65; allowed: 1 to 64",
            "config.toml:3: `server.drain_seconds` is \"7\"; allowed: 0 to 300",
            "config.toml:4: `server.listen` is \"localhost:9090\" (write `127.0.0.1:9090`, or `0.0.0.0:9090` for \
             every network); allowed: an IP address and a port",
            "config.toml:5: `server.mailbox_messages_max` is of the type float; allowed: 16 to 1000000",
            "config.toml:7: `broker.tls` is \"yes\"; allowed: `true` or `false`",
            "config.toml:8: `broker.address` is \"http://kubemq:50000\" (write `kubemq:50000`, without a scheme; \
             `broker.tls` says whether it is encrypted); allowed: `embedded`, or `host:port`, or several with commas \
             between them",
            "config.toml:10: `http.allowed_hosts` is a list with something other than texts; allowed: a list of \
             at least 1, each a host name or an address, without a port",
            "config.toml:12: `log.level` is \"inof\" (write `info`); allowed: `error`, `warn`, `info`, `debug`, \
             `trace`, `off`, or directives such as `info,kubemq_mcp=debug`",
        ]
    );
}

#[test]
fn all_problems_of_all_sources_are_told_at_once() {
    let file = super::File::new("[server]\nshards = 0\n[log]\nformat = 'xml'");
    let error = Config::load(Sources {
        file: Some(file.path.clone()),
        environment: variables(&[("KUBEMQ_MCP__TOOL__TAGS_MAX", "many")]),
        flags: vec![Flag { key: "server.listen", name: "--listen", value: "9090".into() }],
    })
    .unwrap_err();
    assert_eq!(error.problems.len(), 4);
    let text = error.to_string();
    assert!(text.starts_with("the configuration has 4 problems:\n  "), "{text}");
    assert!(text.contains("\n  --listen: `server.listen` is \"9090\" (write `127.0.0.1:9090`"), "{text}");
    assert!(text.contains("\n  KUBEMQ_MCP__TOOL__TAGS_MAX: `tool.tags_max` is \"many\"; allowed: 0 to 1024"));
}

#[test]
fn bad_toml_names_line_and_column() {
    let found = problems(load("[server]\nshards = = 2"));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("config.toml:2:10: "), "{found:?}");
    let twice = problems(load("[server]\nshards = 2\nshards = 3"));
    assert!(twice[0].starts_with("config.toml:3:1: "), "{twice:?}");
    assert_eq!(problems(load(b"[server]\n# \xff")), ["config.toml:2:3: the file is not UTF-8"]);
    let empty = problems(load("[server]\nlisten ="));
    assert!(empty[0].starts_with("config.toml:2:9: "), "{empty:?}");
}

#[test]
fn a_section_of_the_wrong_shape_says_how_it_is_written() {
    assert_eq!(
        problems(load("server = 3\n[channels]\npattern = 'a'\n[[log]]\nlevel = 'info'")),
        [
            "config.toml:1: `server` is of the type integer; allowed: a table, `[server]`",
            "config.toml:2: `channels` is of the type table; allowed: entries that each start with `[[channels]]`",
            "config.toml:4: `log` is of the type array of tables; allowed: a table, `[log]`",
        ]
    );
}

#[test]
fn an_entry_of_channels_is_checked_like_every_option() {
    let text = "[[channels]]\npattern = 'orders.e*'\ntool_timeout_second = 400\n\n[[channels]]\npattern = 'a'\n\
                tool_timeout_seconds = 301\n[[channels]]\nrequire_key = true";
    assert_eq!(
        problems(load(text)),
        [
            "config.toml:2: `channels.pattern` is \"orders.e*\" (a wildcard must be a whole token, as in \
             `orders.*`; got the token \"e*\"); allowed: a channel, or a pattern such as `orders.*` or `orders.>`",
            "config.toml:3: unknown option `channels.tool_timeout_second`, the nearest is \
             `channels.tool_timeout_seconds`",
            "config.toml:7: `channels.tool_timeout_seconds` is 301; allowed: 1 to 300",
            "config.toml:9: `channels.pattern` is missing; allowed: a channel, or a pattern such as `orders.*` or \
             `orders.>`",
        ]
    );
}

#[test]
fn values_that_are_wrong_together_are_told() {
    let cases = [
        (
            "[channel]\nrequests_pending_max = 9",
            "`channel.requests_pending_per_channel_max` is 4096, which is more",
        ),
        ("[broker]\nkeepalive_timeout_seconds = 11", "which is more than `broker.keepalive_seconds`, 10"),
        ("[broker]\nping_timeout_seconds = 6", "which is more than `broker.ping_seconds`, 5"),
        ("[http]\nbody_bytes_max = 1024", "`http.body_bytes_max` must be at least 1576960"),
        ("[tool]\nbody_bytes_max = 4194304", "`http.body_bytes_max` must be at least 6295552"),
        (
            "[channel]\nrequests_pending_max = 20001",
            "20001, which is more than `embedded.requests_pending_max`, 20000",
        ),
        ("[admin]\nlisten = '127.0.0.1:9090'", "leave it empty"),
        ("[broker]\nauth_token = 'a'\nauth_token_file = 'b'", "are both set; keep one"),
        ("[auth]\nmode = 'tokens'", "`auth.tokens_file` is empty, so nobody could call"),
        ("[auth]\ntokens_file = 'a'", "`auth.mode` is `none`; set it to `tokens`"),
        ("[auth]\nissuer = 'https://a.example'", "`auth.mode` is `none`; set it to `jwt`"),
        ("[auth]\nmode = 'jwt'\nissuer = 'a'\naudience = 'b'", "so nobody could call; set one of them"),
        (
            "[auth]\nmode = 'jwt'\nissuer = 'a'\naudience = 'b'\njwks_file = 'c'\njwks_url = 'https://d.example'",
            "`auth.jwks_file` and `auth.jwks_url` are both set; keep one",
        ),
        ("[auth]\nmode = 'jwt'\naudience = 'b'\njwks_file = 'c'", "`auth.issuer` is empty"),
        ("[auth]\nmode = 'jwt'\nissuer = 'a'\njwks_file = 'c'", "so a token for any other service would do"),
        (
            "[auth]\nmode = 'jwt'\nissuer = 'a'\naudience = 'b'\njwks_file = 'c'\nauthorization_servers = ['https://d.example']",
            "is told beside `auth.resource`, which is empty",
        ),
        ("[auth]\nscopes_required = ['a']", "whoever shows no token may call without any"),
        ("[broker]\ntls_ca_file = 'a'", "`broker.tls_ca_file` is set, but `broker.tls` is false"),
        ("[broker]\ntls = true", "the embedded broker speaks plain text"),
        (
            "[broker]\naddress = 'a:1'\ntls = true\ntls_key_file = 'a'",
            "`broker.tls_certificate_file` and `broker.tls_key_file` go together",
        ),
    ];
    for (text, expected) in cases {
        let found = problems(load(text));
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].starts_with("config.toml:") && found[0].contains(expected), "{text}: {found:?}");
    }
    assert!(load("[admin]\nlisten = '127.0.0.1:0'\n[server]\nlisten = '127.0.0.1:0'").is_ok());
    assert!(
        load("[auth]\nmode = 'jwt'\nissuer = 'a'\nresource = 'https://b.example'\njwks_file = 'c'").is_ok()
    );
    assert!(load("[broker]\naddress = 'a:1'\n[channel]\nrequests_pending_max = 20001").is_ok());
    let spoilt = "[channel]\nrequests_pending_max = 0";
    assert_eq!(problems(load(spoilt)).len(), 1, "a wrong value is not judged a second time");
}

#[test]
fn a_secret_appears_in_no_error_and_in_no_debug() {
    let config = load("[broker]\nauth_token = 'hunter2'").unwrap();
    assert_eq!(config.broker.auth_token.expose(), "hunter2");
    assert!(!format!("{config:?}").contains("hunter2"));
    for text in [
        "[broker]\nauth_token = 'hunter2 with a space'",
        "[broker]\nauth_token = ['hunter2']",
        "[broker]\nauth_token = 'hunter2",
        "[broker]\nauth_token = hunter2",
        "[broker]\nauth_token = 'hunter2' x",
        "[broker]\nauth_token = \"hunter2\\q\"",
        "[broker]\nauth_tokn = 'hunter2'",
        "[broker]\nauth_token = 'a'\nauth_token = 'hunter2'",
        "[broker]\nauth_token = 'hunter2'\nauth_token_file = 'b'",
    ] {
        let error = load(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{text}: {error:?}");
    }
    let error = load_with("", &[("KUBEMQ_MCP__BROKER__AUTH_TOKEN", "hunter2\n")]).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}

proptest! {
    #[test]
    fn any_file_is_judged_without_a_panic_and_without_the_secret(before in ".{0,30}", after in ".{0,30}") {
        let text = format!("[broker]\n{before}\nauth_token = 'hunter2'{after}\nauth_token_file = 'b'");
        if let Err(error) = load(text) {
            let told = format!("{error} {error:?}");
            prop_assert!(!told.contains("hunter2"), "{}", told);
        }
    }
}
