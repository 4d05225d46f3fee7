//! An agent without an SDK: it sends what the test says and nothing else.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::event::within;

/// An agent of one connector.
#[derive(Clone)]
pub struct Agent {
    client: reqwest::Client,
    url: String,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The HTTP headers.
    pub headers: HeaderMap,
    /// The body, `Null` when it is empty.
    pub body: Value,
}

/// Which protocol a call speaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Era {
    /// A plain POST without a handshake.
    Plain,
    /// Protocol 2026-07-28.
    Modern,
}

impl Agent {
    /// An agent of the connector at this URL.
    pub fn new(url: &str) -> Self {
        kubemq_mcp::broker::install_crypto_provider();
        Self { client: reqwest::Client::builder().no_proxy().build().expect("a client"), url: url.to_owned() }
    }

    /// An agent that shows a token.
    pub fn with_token(url: &str, token: &str) -> Self {
        kubemq_mcp::broker::install_crypto_provider();
        let value = HeaderValue::from_str(&format!("Bearer {token}")).expect("a token is plain");
        let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
        let client = reqwest::Client::builder().no_proxy().default_headers(headers).build();
        Self { client: client.expect("a client"), url: url.to_owned() }
    }

    /// An agent that speaks HTTP/2, many calls on one connection.
    pub fn multiplexed(url: &str) -> Self {
        kubemq_mcp::broker::install_crypto_provider();
        let client = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().expect("a client");
        Self { client, url: url.to_owned() }
    }

    /// The URL of the connector.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Calls a tool with a plain POST.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.call_in(Era::Plain, tool, arguments).await
    }

    /// Calls a tool.
    pub async fn call_in(&self, era: Era, tool: &str, arguments: Value) -> Answer {
        within(&format!("an answer of {tool}"), self.try_call(era, tool, arguments)).await.expect("an answer")
    }

    /// Calls a tool; an error is what the network says. Dropping the future closes the stream.
    pub async fn try_call(&self, era: Era, tool: &str, arguments: Value) -> reqwest::Result<Answer> {
        let mut params = json!({ "name": tool, "arguments": arguments });
        let mut headers = HeaderMap::new();
        if era == Era::Modern {
            params["_meta"] = modern_meta();
            for (name, value) in
                [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)]
            {
                headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).expect("plain"));
            }
        }
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        self.try_send(headers, message.to_string()).await
    }

    /// Lists the tools.
    pub async fn list(&self, era: Era) -> Answer {
        let mut message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let mut headers = HeaderMap::new();
        if era == Era::Modern {
            message["params"] = json!({ "_meta": modern_meta() });
            for (name, value) in [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")] {
                headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
        }
        self.send(headers, message.to_string()).await
    }

    /// Sends a message as it is.
    pub async fn send(&self, headers: HeaderMap, body: impl Into<String>) -> Answer {
        within("an answer", self.try_send(headers, body.into())).await.expect("an answer")
    }

    async fn try_send(&self, headers: HeaderMap, body: String) -> reqwest::Result<Answer> {
        let mut all = HeaderMap::new();
        all.insert("content-type", HeaderValue::from_static("application/json"));
        all.extend(headers);
        let response = self.client.post(&self.url).headers(all).body(body).send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(Answer { status, headers, body })
    }

    /// Fetches a path beside the endpoint.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let url = self.url.replace("/mcp", path);
        let response = within(path, self.client.get(url).send()).await.expect("an answer");
        (response.status().as_u16(), within(path, response.text()).await.expect("a text"))
    }
}

/// The `_meta` of a request of protocol 2026-07-28.
pub fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {}
    })
}

impl Answer {
    /// The result of a call.
    pub fn result(&self) -> &Value {
        let result = &self.body["result"];
        assert!(result.is_object(), "no result: {self:?}");
        result
    }

    /// The text of a content block.
    pub fn text(&self, index: usize) -> &str {
        self.result()["content"][index]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("no text {index}: {self:?}"))
    }

    /// Whether the result says that it is an error.
    pub fn is_error(&self) -> bool {
        self.result()["isError"].as_bool().expect("isError is always there")
    }

    /// The structured content of a command.
    pub fn structured(&self) -> &Value {
        &self.result()["structuredContent"]
    }

    /// The code of a protocol error.
    pub fn code(&self) -> i64 {
        self.body["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}"))
    }
}
