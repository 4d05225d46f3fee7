//! The rmcp handler: protocol in, one call to the core, protocol out.
//!
//! Hand-written instead of rmcp's macros: the texts of errors are ours, and no schema or router is built per call.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode,
    Implementation, InitializeRequestParams, InitializeResult, ListToolsResult, MetaObject,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool as Listed,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::config::{ChannelRule, Config};
use super::progress::{Progress, reported};
use super::tool::request;
use super::{Call, Handle, Report, answer, catalogue, journal};
use crate::domain::{Kind, Principal, Request, Tool};

/// The protocol versions served, oldest first. Older ones allow batches, which nothing here does.
pub const SUPPORTED_VERSIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// How long a client may keep `tools/list`: until the connector is restarted it does not change.
const CATALOGUE_TTL: Duration = Duration::from_secs(60);

/// What the transport knows of the agent; it stands in the extensions of the HTTP request.
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    /// Whether it reads a stream.
    pub reads: Reads,
    /// What its leaving means for a command that has not been claimed.
    pub leaving: Leaving,
}

/// What an agent can read as an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// One JSON object only.
    Json,
    /// A stream of events as well.
    Stream,
}

/// What an agent's leaving means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It cancels the call, on stdio in every protocol version.
    Cancels,
    /// It cancels since protocol 2026-07-28; before, a lost connection was no cancel.
    CancelsByVersion,
}

/// One MCP server for all requests; a clone is one count.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    door: Handle,
    config: Config,
    rules: Vec<ChannelRule>,
    info: ServerConfig,
}

impl Server {
    /// A server in front of `door`. `notes` is added to the instructions that every agent gets.
    pub fn new(door: Handle, config: Config, rules: Vec<ChannelRule>, notes: Option<&str>) -> Self {
        let mut instructions = "Calls the services behind a KubeMQ cluster. `query_send` asks for data and is safe to \
             repeat. `command_send` causes an effect: read `outcome` and `executed` in its result before you do anything \
             else, and do not repeat a command whose outcome is unknown without looking first."
            .to_owned();
        if let Some(notes) = notes {
            instructions.push(' ');
            instructions.push_str(notes);
        }
        let info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(
                Implementation::new("kubemq", env!("CARGO_PKG_VERSION"))
                    .with_title("KubeMQ connector (kubemq-mcp)"),
            )
            .with_instructions(instructions)
            .with_protocol_version(ProtocolVersion::V_2025_11_25);
        Self { inner: Arc::new(Inner { door, config, rules, info }) }
    }

    /// The door to the actors.
    pub fn door(&self) -> &Handle {
        &self.inner.door
    }

    async fn call(
        &self,
        tool: Tool,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Report {
        let arrived = Instant::now();
        let principal = Principal::anonymous();
        let request = match request::parse(tool, params.arguments, &self.inner.config, &self.inner.rules) {
            Ok(request) => request,
            Err(refusal) => {
                let mut report = Report::refused(principal, tool, refusal.channel, refusal.ending);
                report.elapsed = arrived.elapsed();
                journal::call_ended(&report);
                return report;
            }
        };
        let agent = agent(&context);
        let progress = self.progress(agent, &context, &request);
        let leave = match (tool.kind(), agent.leaving) {
            (Kind::Query, _) | (Kind::Command, Leaving::Cancels) => context.ct,
            (Kind::Command, Leaving::CancelsByVersion) => CancellationToken::new(),
        };
        let call = Call { principal, tool, request, leave };
        reported(progress, self.inner.door.call(call, arrived)).await
    }

    fn progress(
        &self,
        agent: Agent,
        context: &RequestContext<RoleServer>,
        request: &Request,
    ) -> Option<Progress> {
        let token = context.meta.get_progress_token().filter(|_| agent.reads == Reads::Stream)?;
        Some(Progress {
            token,
            peer: context.peer.clone(),
            every: Duration::from_secs(self.inner.config.progress_seconds),
            what: format!("reply on channel '{}'", request.channel),
            total_seconds: request.timeout.seconds(),
        })
    }
}

/// What is known of the agent of this request, with the meaning of its version applied.
fn agent(context: &RequestContext<RoleServer>) -> Agent {
    let told = context
        .extensions
        .get::<axum::http::request::Parts>()
        .and_then(|parts| parts.extensions.get::<Agent>().copied());
    let mut agent = told.unwrap_or(Agent { reads: Reads::Json, leaving: Leaving::CancelsByVersion });
    if is_modern(context) {
        agent.leaving = Leaving::Cancels;
    }
    agent
}

/// Whether the request is of a version without a handshake: there `initialize` and `ping` are no methods.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.inner.info.clone()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&SUPPORTED_VERSIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        context.peer.set_peer_info(request);
        // KubeMQ's own clients look for it. It names nothing: there are no sessions.
        let mut meta = MetaObject::new();
        meta.insert("sessionId".to_owned(), uuid::Uuid::new_v4().to_string().into());
        result.meta = Some(meta);
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            let cursor = super::tool::argument::clipped(&cursor);
            return Err(ErrorData::invalid_params(
                format!("unknown cursor `{cursor}`: the list has one page, call tools/list without a cursor"),
                None,
            ));
        }
        let tools = catalogue::tools().to_vec();
        #[cfg(feature = "conformance")]
        let tools = super::conformance::tools(&tools);
        let mut result = ListToolsResult::with_all_items(tools);
        result.ttl_ms = u64::try_from(CATALOGUE_TTL.as_millis()).ok();
        result.cache_scope = Some(CacheScope::Public);
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        #[cfg(feature = "conformance")]
        if let Some(fixture) = super::conformance::tool(name) {
            return Some(fixture);
        }
        catalogue::tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        #[cfg(feature = "conformance")]
        if let Some(answer) = super::conformance::call(&params, &context).await {
            return answer;
        }
        let Some(tool) = Tool::parse(&params.name) else {
            let name = super::tool::argument::clipped(&params.name);
            let known = Tool::ALL.map(Tool::as_str).join(", ");
            return Err(ErrorData::invalid_params(
                format!("Unknown tool: {name}. The tools are {known}"),
                None,
            ));
        };
        // rmcp leaves the client waiting for ever when a handler panics.
        match AssertUnwindSafe(self.call(tool, params, context)).catch_unwind().await {
            Ok(report) => Ok(answer::answer(report).into()),
            Err(_) => {
                Err(ErrorData::internal_error("a bug of the connector ended this call; see its log", None))
            }
        }
    }

    /// rmcp hands over here whatever it could not read as a method it knows, so a known method means bad `params`.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let handshakes = !is_modern(&context);
        let right = match request.method.as_str() {
            "tools/call" => "an object with `name` (a string) and `arguments` (an object)",
            "tools/list" | "server/discover" => "an object or absent",
            "" => return Err(ErrorData::invalid_request("`method` must not be empty", None)),
            "ping" if handshakes => "an object or absent",
            "initialize" if handshakes => "an object with `protocolVersion`, `capabilities` and `clientInfo`",
            other => {
                let method = super::tool::argument::clipped(other);
                return Err(ErrorData::new(
                    ErrorCode::METHOD_NOT_FOUND,
                    format!("Method not found: {method}"),
                    None,
                ));
            }
        };
        Err(ErrorData::invalid_params(format!("`params` of {} must be {right}", request.method), None))
    }
}
