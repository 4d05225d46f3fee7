//! Web pages as agents: what a browser asks for them, and what it must find in the answers.

use reqwest::{Method, Response, StatusCode};
use serde_json::json;

use crate::harness::connector::Connector;

const PAGE: &str = "http://localhost:5173";

async fn preflight(url: &str, origin: &str) -> Response {
    let request = reqwest::Client::new().request(Method::OPTIONS, url).header("origin", origin);
    let request = request.header("access-control-request-method", "POST");
    let wanted = "content-type,authorization,mcp-protocol-version,mcp-method,mcp-name,mcp-session-id";
    request.header("access-control-request-headers", wanted).send().await.expect("an answer")
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().expect("plain"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_an_allowed_origin_may_call_and_read_the_answer() {
    let connector = Connector::start().await;
    let answer = preflight(&connector.url(), PAGE).await;
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    assert_eq!(header(&answer, "access-control-allow-origin"), Some(PAGE));
    assert_eq!(header(&answer, "access-control-allow-methods"), Some("POST"));
    let allowed = header(&answer, "access-control-allow-headers").expect("a list");
    for name in ["content-type", "authorization", "mcp-protocol-version", "mcp-method", "mcp-session-id"] {
        assert!(allowed.contains(name), "{name} is not in {allowed}");
    }
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    for (body, status) in [(list.to_string(), StatusCode::OK), ("{".to_owned(), StatusCode::BAD_REQUEST)] {
        let request = reqwest::Client::new().post(connector.url()).header("origin", PAGE);
        let request = request.header("content-type", "application/json").body(body);
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), status);
        assert_eq!(header(&answer, "access-control-allow-origin"), Some(PAGE), "a refusal is read as well");
        assert_eq!(header(&answer, "vary"), Some("origin"));
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_page_hears_that_it_may_and_no_page_reads_what_is_for_operators() {
    let connector = Connector::start().await;
    let refused = preflight(&connector.url(), "https://evil.example").await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    assert_eq!(header(&refused, "access-control-allow-origin"), None);
    for path in ["/metrics", "/admin/keys"] {
        let url = connector.url().replace("/mcp", path);
        let answer = preflight(&url, PAGE).await;
        assert_eq!(header(&answer, "access-control-allow-origin"), None, "{path}");
        let answer = reqwest::Client::new().get(&url).header("origin", PAGE).send().await.expect("an answer");
        assert_eq!(header(&answer, "access-control-allow-origin"), None, "{path}");
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_no_page_sees_none_of_it() {
    let connector = Connector::start().await;
    let request = reqwest::Client::new().request(Method::OPTIONS, connector.url());
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!((header(&answer, "vary"), header(&answer, "access-control-allow-origin")), (None, None));
    connector.stop().await;
}
