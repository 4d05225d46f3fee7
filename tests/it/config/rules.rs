//! What texts may be, and the advice for those that may not.

use kubemq_mcp::config::ConfigError;

use super::{load, load_with, problems};

fn set(variable: &str, value: &str) -> Result<(), ConfigError> {
    load_with("", &[(&format!("KUBEMQ_MCP__{variable}"), value)]).map(drop)
}

/// Checks which values an option takes, and for the others what the error advises.
fn check(variable: &str, right: &[&str], wrong: &[(&str, &str)]) {
    for value in right {
        assert!(set(variable, value).is_ok(), "{variable}={value}");
    }
    for (value, advice) in wrong {
        let error = set(variable, value).expect_err(value).to_string();
        assert!(error.contains(advice), "{variable}={value}: {error}");
    }
}

#[test]
fn a_listen_address_is_an_ip_address_and_a_port() {
    let right = ["0.0.0.0:9090", "127.0.0.1:0", "[::1]:9090"];
    let wrong = [
        ("localhost:8080", "write `127.0.0.1:8080`"),
        (":8080", "write `127.0.0.1:8080`"),
        ("8080", "write `127.0.0.1:9090`"),
        ("10.0.0.1", "write `10.0.0.1:9090`"),
        ("::1", "write `[::1]:9090`"),
        ("gateway.example:80", "a name is not looked up; write an address such as `127.0.0.1:80`"),
        ("127.0.0.1:99999", "write `127.0.0.1:9090`"),
        ("", "write `127.0.0.1:9090`"),
    ];
    check("SERVER__LISTEN", &right, &wrong);
}

#[test]
fn a_broker_is_embedded_or_hosts_with_ports() {
    let right = ["embedded", "kubemq:50000", "a.example:1,b.example:2", "[::1]:50000"];
    let wrong = [
        ("kubemq", "write `kubemq:50000`"),
        ("kubemq:0", "write `kubemq:50000`"),
        ("kubemq:+1", "write `kubemq:50000`"),
        ("grpc://kubemq:50000", "write `kubemq:50000`, without a scheme"),
        ("embedded,kubemq:50000", "write `embedded:50000`"),
        ("::1:50000", "an IPv6 address in brackets"),
        ("a:1,", "write `host:port`"),
        ("", "write `host:port`"),
    ];
    check("BROKER__ADDRESS", &right, &wrong);
}

#[test]
fn a_level_is_a_level_or_directives_and_never_a_slip() {
    let right = ["debug", "off", "info,kubemq_mcp=debug", "warn,kubemq_mcp::mcp=trace"];
    let wrong = [
        ("debg", "write `debug`"),
        ("verbose", "write a level, or `module=level`"),
        ("info,kubemq_mcp=loud", "allowed: `error`, `warn`"),
        ("", "write a level"),
    ];
    check("LOG__LEVEL", &right, &wrong);
    check("LOG__FORMAT", &["text", "json"], &[("JSON", "write `text` for people, `json` for machines")]);
}

#[test]
fn hosts_and_origins_have_the_shape_of_their_headers() {
    let wrong = [
        ("localhost:9090", "write only the host"),
        ("http://a", "write only the host"),
        ("bücher.example", "write only the host"),
        ("user@host", "write only the host"),
        ("::1", "write only the host"),
        ("a:", "write only the host"),
        ("*", "write only the host"),
        ("a b", "write only the host"),
        ("a,,b", "it is empty"),
    ];
    check("HTTP__ALLOWED_HOSTS", &["localhost", "[::1],10.0.0.1"], &wrong);
    let right = ["https://a.example", "http://localhost:*", "http://[::1]:8080", "http://[::1]"];
    let wrong = [
        ("a.example", "write an origin such as"),
        ("http://a/b", "write an origin"),
        ("https://bücher.example", "write an origin"),
        ("https://user@host", "write an origin"),
        ("https://a:70000", "write an origin"),
        ("https://", "write an origin"),
        ("https://*:80", "write an origin"),
        ("*", "write an origin"),
    ];
    check("HTTP__ALLOWED_ORIGINS", &right, &wrong);
    assert!(load("[http]\nallowed_origins = []").is_ok());
    let nobody = problems(load("[http]\nallowed_hosts = []"));
    assert!(nobody[0].contains("`http.allowed_hosts` is []; allowed: a list of at least 1"), "{nobody:?}");
}

#[test]
fn credentials_are_asked_for_in_words_that_exist() {
    let wrong =
        [("token", "write `tokens`"), ("", "allowed: `none`, `tokens` or `jwt`"), ("JWT", "write `jwt`")];
    check("AUTH__MODE", &["none"], &wrong);
    let wrong = [
        ("HS256", "let the issuer sign with a key pair"),
        ("none", "let the issuer sign with a key pair"),
        ("RS256,None", "let the issuer sign with a key pair"),
        ("ES265", "write a name of RFC 7518"),
        ("rs256", "write `RS256`"),
        ("", "a list of at least 1"),
    ];
    check("AUTH__ALGORITHMS", &["RS256,ES384,EdDSA", "PS512"], &wrong);
}

#[test]
fn the_places_of_credentials_are_urls_that_nobody_can_change_on_the_way() {
    let set = |key: &str, url: &str| {
        let rest = if key == "jwks_url" {
            "resource = 'https://a.example'"
        } else {
            "jwks_file = 'a'\naudience = 'b'"
        };
        load(format!("[auth]\nmode = 'jwt'\nissuer = 'i'\n{rest}\n{key} = '{url}'"))
    };
    for (key, right) in [
        ("jwks_url", "https://login.example/keys?p=1"),
        ("jwks_url", "http://127.0.0.1:8080/keys"),
        ("jwks_url", "http://[::1]:8080/keys"),
        ("jwks_url", "http://localhost/keys"),
        ("resource", "https://mcp.example/mcp"),
        ("resource", "http://mcp.internal:9090/mcp"),
    ] {
        assert!(set(key, right).is_ok(), "{key} = {right}: {:?}", set(key, right));
    }
    for (key, wrong, advice) in [
        ("jwks_url", "http://login.example/keys", "write `https`"),
        ("jwks_url", "http://127.0.0.1.example/keys", "write `https`"),
        ("jwks_url", "ftp://login.example/keys", "begins with `https://`"),
        ("jwks_url", "login.example", "it is no URL"),
        ("jwks_url", "https://user:secret@login.example/keys", "without a user"),
        ("resource", "https://mcp.example/mcp/", "write it as agents do"),
        ("resource", "https://mcp.example/mcp#a", "without `#`"),
        ("resource", "https://mcp.example/mcp?a", "write it as agents do"),
        ("resource", "mcp", "it is no URL"),
    ] {
        let error = set(key, wrong).expect_err(wrong).to_string();
        assert!(error.contains(advice), "{key} = {wrong}: {error}");
    }
}

#[test]
fn a_long_value_is_shown_in_part_and_on_one_line() {
    let error = set("LOG__FORMAT", &"a\n".repeat(500)).expect_err("no format").to_string();
    assert!(error.len() < 400 && !error.contains('\n'), "{error}");
}
