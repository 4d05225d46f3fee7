//! A small MCP server whose tools answer what the tests need.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ResourceContents,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How often each tool was called.
type Calls = Arc<Mutex<HashMap<String, usize>>>;

/// The server, on a port of its own, until it is dropped.
pub struct Server {
    address: std::net::SocketAddr,
    calls: Calls,
    task: JoinHandle<()>,
}

impl Server {
    pub async fn start() -> Self {
        let calls = Calls::default();
        let config = StreamableHttpServerConfig::default();
        let service =
            StreamableHttpService::new(|| Ok(Tools), Arc::new(LocalSessionManager::default()), config);
        let router = axum::Router::new()
            .route_service("/mcp", service.clone())
            .route_service("/guarded", service)
            .layer(middleware::from_fn_with_state(calls.clone(), count_and_guard));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let task = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { address, calls, task }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn calls(&self, tool: &str) -> usize {
        self.calls.lock().expect("no test panics with it").get(tool).copied().unwrap_or_default()
    }

    /// An address that was free a moment ago.
    pub async fn address_of_nobody() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        format!("http://{}/mcp", listener.local_addr().expect("it is bound"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn count_and_guard(State(calls): State<Calls>, request: Request, next: Next) -> Response {
    let is_right = request.headers().get(header::AUTHORIZATION).is_some_and(|value| value == "Bearer right");
    if request.uri().path() == "/guarded" && !is_right {
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")]).into_response();
    }
    let tool = request.headers().get("mcp-name").and_then(|name| name.to_str().ok()).map(String::from);
    if let Some(tool) = tool {
        let is_broken = tool == "broken";
        *calls.lock().expect("no test panics with it").entry(tool).or_default() += 1;
        if is_broken {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
    }
    next.run(request).await
}

struct Tools;

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = |text: &str| vec![ContentBlock::text(text)];
        let result = match request.name.as_ref() {
            "arguments" => CallToolResult::success(text(&json!(arguments).to_string())),
            "echo" => CallToolResult::success(text(arguments["body"].as_str().unwrap_or_default())),
            "bytes" => {
                let blob = ResourceContents::blob("AP8K", "kubemq://reply");
                CallToolResult::success(vec![ContentBlock::resource(blob)])
            }
            "fail" => {
                let mut result = CallToolResult::structured_error(json!({"outcome": "unknown"}));
                result.content = [text("Command timed out"), text("It may have happened.")].concat();
                result
            }
            "internal" => return Err(ErrorData::internal_error("broke", None)),
            other => return Err(ErrorData::invalid_params(format!("unknown tool: {other}"), None)),
        };
        Ok(result.into())
    }
}
