//! The rmcp handler: protocol in, one call to the server, protocol out.
//!
//! Hand-written instead of rmcp's macros: the texts of errors are ours, and no schema or router is built per call.

use std::borrow::Cow;
use std::time::Duration;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode,
    InitializeRequestParams, InitializeResult, ListToolsResult, MetaObject, PaginatedRequestParams,
    ProtocolVersion, ServerConfig, Tool as Listed,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::agent::{Caller, Protocol, SUPPORTED_VERSIONS};
use super::tool::argument::clipped;
use super::{Server, catalogue};
use crate::domain::Tool;

/// How long a client may keep `tools/list`: until the connector is restarted it does not change.
const CATALOGUE_TTL: Duration = Duration::from_secs(60);

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.info().clone()
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
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            let cursor = clipped(&cursor);
            return Err(ErrorData::invalid_params(
                format!("unknown cursor `{cursor}`: the list has one page, call tools/list without a cursor"),
                None,
            ));
        }
        let subject = Caller::of(context).subject;
        let is_offered =
            |tool: &&Listed| Tool::parse(&tool.name).is_none_or(|tool| self.offers(&subject, tool));
        let tools: Vec<Listed> = catalogue::tools(self.keys()).iter().filter(is_offered).cloned().collect();
        #[cfg(feature = "conformance")]
        let tools = super::conformance::tools(&tools);
        let mut result = ListToolsResult::with_all_items(tools);
        result.ttl_ms = u64::try_from(CATALOGUE_TTL.as_millis()).ok();
        // It is what this caller may use.
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        #[cfg(feature = "conformance")]
        if let Some(fixture) = super::conformance::tool(name) {
            return Some(fixture);
        }
        catalogue::tools(self.keys()).iter().find(|tool| tool.name == name).cloned()
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
            let name = clipped(&params.name);
            let known = Tool::ALL.map(Tool::as_str).join(", ");
            return Err(ErrorData::invalid_params(
                format!("Unknown tool: {name}. The tools are {known}"),
                None,
            ));
        };
        Ok(self.answered(tool, params.arguments, Caller::of(context)).await?.into())
    }

    /// rmcp hands over here whatever it could not read as a method it knows, so a known method means bad `params`.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let handshakes = Protocol::of(context.protocol_version().as_ref()) == Protocol::Legacy;
        let right = match request.method.as_str() {
            "tools/call" => "an object with `name` (a string) and `arguments` (an object)",
            "tools/list" | "server/discover" => "an object or absent",
            "" => return Err(ErrorData::invalid_request("`method` must not be empty", None)),
            "ping" if handshakes => "an object or absent",
            "initialize" if handshakes => "an object with `protocolVersion`, `capabilities` and `clientInfo`",
            other => {
                let method = clipped(other);
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
