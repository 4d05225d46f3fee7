//! One connection, one call.
//!
//! Nothing here tries a call again. What the library would try again by itself is switched off.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Certificate;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::NeverRetry;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value};

use super::error::CallError;
use crate::cli::credential::Token;
use crate::cli::web::{self, Unfit};

/// How long the greeting may take. It asks nothing of the broker.
const GREETING_TIMEOUT: Duration = Duration::from_secs(15);

/// How long an answer may take: the longest call lasts 310 seconds in the connector, and the network gets the rest.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(330);

/// Largest answer that is read: twice the largest reply of KubeMQ, `broker.reply_bytes_max`, for what JSON adds.
const ANSWER_BYTES_MAX: usize = 134_217_728;

/// Where a call goes.
#[derive(Clone, Copy)]
pub struct Server<'a> {
    /// Where it takes MCP.
    pub url: &'a str,
    /// What is shown to it.
    pub token: Option<&'a Token>,
    /// Whom to trust beside those of the system.
    pub authorities: &'a [Certificate],
}

/// Calls a tool once.
///
/// # Errors
/// When there is no answer, with what is known of the call.
pub async fn call(
    Server { url, token, authorities }: Server<'_>,
    tool: String,
    arguments: Map<String, Value>,
) -> Result<CallToolResult, CallError> {
    let transport = StreamableHttpClientTransport::with_client(
        http_client(url, authorities)?,
        transport_config(url, token),
    );
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    let greeting = tokio::time::timeout(GREETING_TIMEOUT, ().serve_with_lifecycle(transport, lifecycle));
    let session = match greeting.await {
        Ok(greeted) => greeted.map_err(|error| CallError::not_greeted(url, error))?,
        Err(_) => return Err(CallError::Silent { url: url.into(), seconds: GREETING_TIMEOUT.as_secs() }),
    };
    let request = CallToolRequestParams::new(tool).with_arguments(arguments);
    let response = match tokio::time::timeout(ANSWER_TIMEOUT, session.call_tool_once(request)).await {
        Ok(response) => response.map_err(|error| CallError::not_answered(url, error)),
        Err(_) => Err(CallError::AnswerLost { cause: format!("none within {} s", ANSWER_TIMEOUT.as_secs()) }),
    };
    // The answer is here or will never be; how the connection ends changes nothing for the caller.
    _ = session.cancel().await;
    match response? {
        CallToolResponse::Complete(result) => Ok(result),
        _ => Err(CallError::AsksBack),
    }
}

fn http_client(url: &str, authorities: &[Certificate]) -> Result<reqwest::Client, CallError> {
    let unfit = |unfit| match unfit {
        Unfit::Address => CallError::Url { url: url.into() },
        Unfit::Client(error) => CallError::Unreachable { url: url.into(), cause: error.to_string() },
    };
    web::client(url, authorities).map(|(client, _)| client).map_err(unfit)
}

fn transport_config(url: &str, token: Option<&Token>) -> StreamableHttpClientTransportConfig {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).reinit_on_expired_session(false);
    config.retry_config = Arc::new(NeverRetry::default());
    config.max_json_response_size = ANSWER_BYTES_MAX;
    config.max_sse_event_size = ANSWER_BYTES_MAX;
    match token {
        Some(token) => config.auth_header(token.expose()),
        None => config,
    }
}
