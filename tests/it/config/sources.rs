//! Which source wins, and how the environment and the flags are read.

use std::path::PathBuf;

use kubemq_mcp::config::{Config, Flag, Sources};
use kubemq_mcp::domain::Channel;

use super::{File, load, load_with, problems, variables};

#[test]
fn a_flag_goes_over_a_variable_and_a_variable_over_the_file() {
    let file = File::new("[server]\nlisten = '127.0.0.1:1'\nshards = 3\ndrain_seconds = 7");
    let config = Config::load(Sources {
        file: Some(file.path.clone()),
        environment: variables(&[
            ("KUBEMQ_MCP__SERVER__LISTEN", "127.0.0.1:2"),
            ("KUBEMQ_MCP__SERVER__SHARDS", "4"),
        ]),
        flags: vec![Flag { key: "server.listen", name: "--listen", value: "127.0.0.1:3".into() }],
    });
    let server = config.unwrap().server;
    assert_eq!((server.listen.port(), server.shards, server.drain_seconds), (3, 4, 7));
}

#[test]
fn every_type_is_read_from_the_environment() {
    let config = load_with(
        "",
        &[
            ("KUBEMQ_MCP__BROKER__TLS", "true"),
            ("KUBEMQ_MCP__BROKER__ADDRESS", "one:50000, two:50000"),
            ("KUBEMQ_MCP__HTTP__ALLOWED_HOSTS", "a.example, b.example"),
            ("KUBEMQ_MCP__HTTP__HEADER_SECONDS", "11"),
        ],
    )
    .unwrap();
    assert!(config.broker.tls);
    assert_eq!(config.broker.address, "one:50000, two:50000");
    assert_eq!(config.http.allowed_hosts, ["a.example", "b.example"]);
    assert_eq!(config.http.header_seconds, 11);
}

#[test]
fn an_empty_variable_is_an_empty_text_and_nothing_else() {
    let file = "[admin]\nlisten = '127.0.0.1:9091'";
    assert_eq!(load_with(file, &[("KUBEMQ_MCP__ADMIN__LISTEN", "")]).unwrap().admin.listen, None);
    let wrong = load_with(
        "",
        &[
            ("KUBEMQ_MCP__BROKER__TLS", ""),
            ("KUBEMQ_MCP__HTTP__ALLOWED_HOSTS", ""),
            ("KUBEMQ_MCP__SERVER__SHARDS", ""),
        ],
    );
    assert_eq!(
        problems(wrong),
        [
            "KUBEMQ_MCP__BROKER__TLS: `broker.tls` is \"\"; allowed: `true` or `false`",
            "KUBEMQ_MCP__HTTP__ALLOWED_HOSTS: `http.allowed_hosts` is \"\"; allowed: a list of at least 1, each a host name \
             or an address, without a port",
            "KUBEMQ_MCP__SERVER__SHARDS: `server.shards` is \"\"; allowed: 1 to 64",
        ]
    );
}

#[test]
fn variables_that_kubernetes_sets_for_a_service_of_our_name_are_not_ours() {
    let kubernetes = [("KUBEMQ_MCP_SERVICE_HOST", "10.0.0.1"), ("KUBEMQ_MCP_PORT", "tcp://10.0.0.1:9090")];
    assert!(load_with("", &kubernetes).is_ok());
}

#[test]
fn a_file_may_be_missing_unless_somebody_named_it() {
    let missing = PathBuf::from("nowhere/config.toml");
    let named = Sources { file: Some(missing), environment: variables(&[]), flags: vec![] };
    let error = Config::load(named).unwrap_err().to_string();
    assert!(error.starts_with("the configuration is wrong: nowhere/config.toml: "), "{error}");
}

#[test]
fn the_rules_of_channels_keep_their_order() {
    let config = load(
        "[[channels]]\npattern = 'orders.eu'\ntool_timeout_seconds = 60\n\
         [[channels]]\npattern = 'orders.*'\ntool_timeout_seconds = 5",
    )
    .unwrap();
    let eu = Channel::parse("orders.eu").unwrap();
    let first = config.channels.iter().find(|rule| rule.pattern.matches(&eu)).unwrap();
    assert_eq!(first.tool_timeout_seconds, Some(60));
}

#[test]
fn sections_may_be_written_in_every_way_that_toml_knows() {
    for text in
        ["[server]\nshards = 3", "server.shards = 3", "server = { shards = 3 }", "[server]\nshards = 0x3"]
    {
        assert_eq!(load(text).unwrap().server.shards, 3, "{text}");
    }
    let inline = load("channels = [{ pattern = 'a', tool_timeout_seconds = 1 }]").unwrap();
    assert_eq!(inline.channels.len(), 1);
}
