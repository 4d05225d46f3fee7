//! Encryption: whom we trust, and who we say we are.

use std::path::Path;
use std::sync::Arc;

use kubemq_mcp::broker::{
    Address, Answer, Fault, Handler, KubemqBroker, Responder, Subscription, install_crypto_provider,
};
use kubemq_mcp::domain::{Channel, Kind};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use super::{Config, ask, config};
use crate::harness::authority::Authority;
use crate::harness::child::{Process, ROLE};
use crate::harness::event::within;
use crate::harness::scripted::Scripted;

fn server(authority: &Authority, name: &str) -> ServerTlsConfig {
    let (certificate, key) = authority.sign(name);
    ServerTlsConfig::new().identity(Identity::from_pem(certificate, key))
}

fn trusting(authority: &Authority) -> Config {
    Config { tls: true, tls_ca_file: path(authority, "ca.pem"), ..config() }
}

fn path(authority: &Authority, name: &str) -> String {
    authority.path(name).to_str().expect("a path in UTF-8").into()
}

async fn connect(config: &Config, server: &Scripted) -> Arc<KubemqBroker> {
    KubemqBroker::connect(config, vec![server.address.into()], super::GATE_PATIENCE)
        .await
        .expect("the configuration is right")
}

#[tokio::test]
async fn a_broker_whose_authority_is_named_is_trusted() {
    let authority = Authority::new();
    let server = Scripted::start_encrypted(server(&authority, "127.0.0.1"));
    let broker = connect(&trusting(&authority), &server).await;
    assert!(ask(&broker, "echo").await.unwrap().executed);
}

#[tokio::test]
async fn a_responder_is_encrypted_like_the_calls() {
    let authority = Authority::new();
    let server = Scripted::start_encrypted(server(&authority, "127.0.0.1"));
    let subscription = Subscription {
        kind: Kind::Query,
        channel: Channel::parse("greetings").unwrap(),
        group: String::new(),
        in_flight_max: 1,
    };
    let handler: Handler =
        Arc::new(|_| Box::pin(async { Ok(Answer { executed: true, ..Answer::default() }) }));
    let addresses = vec![server.address.into()];
    let responder = Responder::start(&trusting(&authority), addresses, subscription, handler).unwrap();
    within("the subscription is open", responder.ready()).await;
    let broker = connect(&trusting(&authority), &server).await;
    assert!(ask(&broker, "greetings").await.unwrap().executed);
}

#[tokio::test]
async fn another_authority_is_not_trusted_and_nothing_is_sent() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = Scripted::start_encrypted(server(&authority, "127.0.0.1"));
    let broker = connect(&trusting(&other), &server).await;
    let Fault::Unavailable(reason) = within("the call ends", ask(&broker, "echo")).await.unwrap_err() else {
        panic!("nothing was sent");
    };
    assert!(reason.contains("invalid peer certificate"), "{reason}");
    assert_eq!(*server.state.arrived.borrow(), 0);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused_unless_that_name_is_expected() {
    let authority = Authority::new();
    let server = Scripted::start_encrypted(server(&authority, "broker.example"));
    let broker = connect(&trusting(&authority), &server).await;
    let fault = ask(&broker, "echo").await.unwrap_err();
    assert!(matches!(&fault, Fault::Unavailable(reason) if reason.contains("certificate")), "{fault:?}");
    let config = Config { tls_server_name: "broker.example".into(), ..trusting(&authority) };
    let broker = connect(&config, &server).await;
    assert!(ask(&broker, "echo").await.unwrap().executed);
}

#[tokio::test]
async fn an_ipv6_address_is_a_valid_name_of_a_broker() {
    let authority = Authority::new();
    let address = "[::1]:0".parse().unwrap();
    let server = Scripted::start_at(address, Some(server(&authority, "::1")));
    let broker = connect(&trusting(&authority), &server).await;
    assert!(ask(&broker, "echo").await.unwrap().executed);
}

#[tokio::test]
async fn a_broker_that_asks_who_we_are_gets_our_certificate() {
    let authority = Authority::new();
    let ca = Certificate::from_pem(authority.pem());
    let server = Scripted::start_encrypted(server(&authority, "127.0.0.1").client_ca_root(ca));
    let without = connect(&trusting(&authority), &server).await;
    let fault = within("the call ends", ask(&without, "echo")).await.unwrap_err();
    assert!(matches!(fault, Fault::Unavailable(_)), "{fault:?}");

    let (certificate, key) = authority.sign("kubemq-mcp");
    std::fs::write(path(&authority, "own.pem"), certificate).unwrap();
    std::fs::write(path(&authority, "own.key"), key).unwrap();
    let config = Config {
        tls_certificate_file: path(&authority, "own.pem"),
        tls_key_file: path(&authority, "own.key"),
        ..trusting(&authority)
    };
    let broker = connect(&config, &server).await;
    assert!(ask(&broker, "echo").await.unwrap().executed);
}

#[tokio::test]
async fn files_without_certificates_are_named_at_start() {
    let authority = Authority::new();
    std::fs::write(path(&authority, "empty.pem"), "nothing").unwrap();
    let config = Config { tls_ca_file: path(&authority, "empty.pem"), ..trusting(&authority) };
    let broker =
        KubemqBroker::connect(&config, vec![Address::parse("a:1").unwrap()], super::GATE_PATIENCE).await;
    let text = broker.err().expect("no certificate").to_string();
    assert!(text.starts_with("`broker.tls_ca_file` is `"), "{text}");
    assert!(text.ends_with("has no certificates in PEM form"), "{text}");
    let config = Config { tls_ca_file: "no/such/file".into(), ..trusting(&authority) };
    let broker =
        KubemqBroker::connect(&config, vec![Address::parse("a:1").unwrap()], super::GATE_PATIENCE).await;
    assert!(broker.err().expect("no file").to_string().contains("cannot be read"));
    assert!(Path::new(&path(&authority, "ca.pem")).exists());
}

#[tokio::test]
async fn without_a_named_authority_those_of_the_system_are_trusted() {
    // The system's certificates are chosen by the environment, which only a process of its own can have for itself.
    let authority = Authority::new();
    let server = Scripted::start_encrypted(server(&authority, "127.0.0.1"));
    let (ca, address) = (path(&authority, "ca.pem"), server.address.to_string());
    let trusting = Process::run(
        "broker::tls::trusts_the_system_when_asked",
        &[("SSL_CERT_FILE", &ca), ("KUBEMQ_MCP_TEST_ADDRESS", &address)],
    );
    assert!(tokio::task::spawn_blocking(move || trusting.passed()).await.unwrap());
    assert_eq!(*server.state.arrived.borrow(), 1);
}

#[tokio::test]
async fn trusts_the_system_when_asked() {
    let (Some(_), Ok(address)) = (std::env::var_os(ROLE), std::env::var("KUBEMQ_MCP_TEST_ADDRESS")) else {
        return;
    };
    install_crypto_provider();
    let config = Config { tls: true, ..config() };
    let broker = KubemqBroker::connect(&config, Address::parse_list(&address).unwrap(), super::GATE_PATIENCE)
        .await
        .unwrap();
    assert!(ask(&broker, "echo").await.unwrap().executed);
}
