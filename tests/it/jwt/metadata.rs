//! What RFC 9728 publishes, and requests that are refused before anybody looks at their token.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{keys_file, path, takes_jwts};
use crate::harness::connector::Connector;
use crate::harness::event::within;
use crate::harness::issuer::{AUDIENCE, ISSUER, Key, claims};

const PATHS: [&str; 2] =
    ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"];

async fn published(file: &tempfile::NamedTempFile) -> Connector {
    Connector::with(|config| {
        takes_jwts(config);
        config.auth.jwks_file = path(file);
        config.auth.resource = AUDIENCE.into();
        config.auth.scopes_required = vec!["kubemq:query".into()];
    })
    .await
}

async fn send(request: reqwest::RequestBuilder) -> reqwest::Response {
    within("an answer", request.send()).await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_needs_no_token_and_stands_at_both_places() {
    let key = Key::new("k");
    let file = keys_file(&[&key]);
    let connector = published(&file).await;
    let client = reqwest::Client::new();
    for place in PATHS {
        let url = connector.url().replace("/mcp", place);
        let answer = send(client.get(&url)).await;
        assert_eq!(
            (answer.status(), &answer.headers()["content-type"]),
            (StatusCode::OK, &"application/json".parse().unwrap())
        );
        assert!(!answer.headers().contains_key("access-control-allow-origin"));
        let document: Value = answer.json().await.expect("JSON");
        let expected = json!({ "resource": AUDIENCE, "authorization_servers": [ISSUER],
            "bearer_methods_supported": ["header"], "scopes_supported": ["kubemq:query"] });
        assert_eq!(document, expected);
        let posted = send(client.post(&url)).await;
        assert_eq!((posted.status().as_u16(), &posted.headers()["allow"]), (405, &"GET".parse().unwrap()));
        // A page that looks for a token asks first, since it sends the version of the protocol along.
        let page = "http://localhost:5173";
        let asking = client.request(Method::OPTIONS, &url).header("origin", page);
        let asked = send(asking.header("access-control-request-method", "GET")).await;
        assert_eq!(asked.headers()["access-control-allow-methods"], "GET");
        assert_eq!(
            send(client.get(&url).header("origin", page)).await.headers()["access-control-allow-origin"],
            page
        );
        for (name, value) in [("origin", "http://evil.example"), ("host", "evil.example")] {
            let refused = send(client.get(&url).header(name, value)).await;
            assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{name}");
        }
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_metadata_of_an_endpoint_without_a_name() {
    let connector = Connector::start().await;
    for place in PATHS {
        let answer = send(reqwest::Client::new().get(connector.url().replace("/mcp", place))).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_the_query_is_refused_whatever_else_is_right() {
    let key = Key::new("k");
    let file = keys_file(&[&key]);
    let connector = published(&file).await;
    let open = Connector::start().await;
    let token = key.token(&claims(&[("scope", json!("kubemq:query"))]));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    for (connector, name) in
        [(&connector, "access_token"), (&connector, "Access%5Ftoken"), (&open, "access_token")]
    {
        let request = |query: &str| {
            let request =
                reqwest::Client::new().post(format!("{}{query}", connector.url())).bearer_auth(&token);
            request.header("content-type", "application/json").body(ping.clone())
        };
        let refused = send(request(&format!("?a=b&{name}={token}"))).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{name}");
        let text = refused.text().await.expect("a text");
        assert!(text.contains("a token in the query is not taken") && !text.contains(&token), "{text}");
        assert_eq!(send(request("?a=b")).await.status(), StatusCode::OK);
    }
    let metrics = connector.url().replace("/mcp", "/metrics?access_token=a");
    assert_eq!(send(reqwest::Client::new().get(metrics)).await.status(), StatusCode::BAD_REQUEST);
    connector.stop().await;
    open.stop().await;
}
