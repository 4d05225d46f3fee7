//! The server that all requests share: from a tool and its arguments to an answer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, Implementation, JsonObject, ProtocolVersion, ServerCapabilities, ServerConfig,
    ServerJsonRpcMessage, ServerResult,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::agent::{Agent, Caller, Leaving, Protocol};
use super::authorize::authorize;
use super::catalogue::Keys;
use super::config::{ChannelRule, Config};
use super::journal::Journal;
use super::progress::{Progress, reported};
use super::tool::request::{self, Parsed};
use super::tool::status;
use super::{Call, Direct, Handle, Report, answer, limited};
use crate::access::{Limits, Policy};
use crate::domain::{Cause, Ending, Kind, Principal, Sent, Subject, Tool};

/// One MCP server for all requests; a clone is one count.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    door: Handle,
    config: Config,
    rules: Vec<ChannelRule>,
    policy: Policy,
    limits: Limits,
    info: ServerConfig,
}

impl Server {
    /// A server in front of `door`. `notes` is added to the instructions that every agent gets.
    pub fn new(
        door: Handle,
        config: Config,
        rules: Vec<ChannelRule>,
        policy: Policy,
        limits: Limits,
        notes: Option<&str>,
    ) -> Self {
        let mut instructions = "Calls the services behind a KubeMQ cluster. `query_send` asks for data and is safe to \
             repeat. `command_send` causes an effect: read `outcome` and `executed` in its result before you do anything \
             else, and do not repeat a command whose outcome is unknown without looking first. Give each intended \
             effect an `idempotency_key` of its own and use the same key on every retry: a key is sent at most once, and \
             `command_status` says what is known of it."
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
        Self { inner: Arc::new(Inner { door, config, rules, policy, limits, info }) }
    }

    /// Whether every command needs a key.
    pub(super) fn keys(&self) -> Keys {
        if self.inner.config.require_key { Keys::Mandatory } else { Keys::Optional }
    }

    /// Whether the caller may use the tool on any channel, or without one.
    pub(super) fn offers(&self, subject: &Subject, tool: Tool) -> bool {
        self.inner.policy.decide(subject, tool, None).is_ok()
    }

    /// What every client is told of the server.
    pub(super) fn info(&self) -> &ServerConfig {
        &self.inner.info
    }

    /// Answers a plain call. When the future is dropped before its end, the agent has left.
    pub async fn direct(&self, direct: Direct, agent: Agent) -> Vec<u8> {
        let left = CancellationToken::new();
        let stays = left.clone().drop_guard();
        let leaving = agent.leaving.in_protocol(direct.protocol);
        let caller = Caller { subject: agent.subject, left, leaving, progress: None };
        let answer = self.answered(direct.tool, direct.arguments, caller).await;
        stays.disarm();
        let message = match answer {
            Ok(mut result) => {
                if direct.protocol == Protocol::Legacy {
                    result.result_type = None;
                }
                ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), direct.id)
            }
            Err(error) => ServerJsonRpcMessage::error(error, Some(direct.id)),
        };
        serde_json::to_vec(&message).expect("an answer is JSON")
    }

    /// The answer of a call.
    pub(super) async fn answered(
        &self,
        tool: Tool,
        arguments: Option<JsonObject>,
        caller: Caller,
    ) -> Result<CallToolResult, ErrorData> {
        let journal = self.inner.door.journal();
        guarded(journal, caller.subject.principal.clone(), tool, self.call(tool, arguments, caller)).await
    }

    async fn call(&self, tool: Tool, arguments: Option<JsonObject>, caller: Caller) -> Report {
        let arrived = Instant::now();
        let allowance = match limited::admit(&self.inner.limits, &caller.subject, tool, arguments.as_ref()) {
            Ok(allowance) => allowance,
            Err(report) => return self.ended(*report, arrived),
        };
        let bounds = match authorize(&self.inner.policy, &caller.subject, tool, arguments.as_ref()) {
            Ok(bounds) => bounds,
            Err(report) => return self.ended(*report, arrived),
        };
        let principal = caller.subject.principal;
        if tool == Tool::CommandStatus {
            return self.status(principal, arguments, arrived).await;
        }
        let leave = match (tool.kind(), caller.leaving) {
            (Kind::Query, _) | (Kind::Command, Leaving::Cancels) => caller.left,
            (Kind::Command, Leaving::CancelsByVersion) => CancellationToken::new(),
        };
        let Parsed { request, keyed } =
            match request::parse(tool, arguments, &self.inner.config, &self.inner.rules, bounds) {
                Ok(parsed) => parsed,
                Err(refusal) => {
                    return self.inner.door.refuse((principal, tool), refusal, leave, arrived).await;
                }
            };
        let progress = caller.progress.map(|(token, peer)| Progress {
            token,
            peer,
            every: Duration::from_secs(self.inner.config.progress_seconds),
            what: format!("reply on channel '{}'", request.channel),
            total_seconds: request.timeout.seconds(),
        });
        let call = Call { principal, tool, request, keyed, leave, allowance };
        reported(progress, self.inner.door.call(call, arrived)).await
    }

    async fn status(&self, principal: Principal, arguments: Option<JsonObject>, arrived: Instant) -> Report {
        match status::parse(arguments) {
            Ok(key) => self.inner.door.status(principal, key, arrived).await,
            Err(ending) => self.ended(Report::refused(principal, Tool::CommandStatus, None, ending), arrived),
        }
    }

    /// Notes the end of a call that was refused here.
    fn ended(&self, mut report: Report, arrived: Instant) -> Report {
        report.elapsed = arrived.elapsed();
        self.inner.door.journal().call_ended(&report);
        report
    }
}

/// Makes an answer of a report, and of a panic as well: rmcp would leave the client waiting for ever.
async fn guarded(
    journal: &Journal,
    principal: Principal,
    tool: Tool,
    work: impl Future<Output = Report>,
) -> Result<CallToolResult, ErrorData> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(report) => Ok(answer::answer(report)),
        Err(_) => {
            let ending = Ending::new(Cause::Internal(Sent::Maybe), "a panic");
            journal.call_ended(&Report::refused(principal, tool, None, ending));
            Err(ErrorData::internal_error("a bug of the connector ended this call; see its log", None))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Mutex;

    use rmcp::model::ErrorCode;

    use super::*;

    /// A log that a test can read.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_panic_in_a_tool_is_an_internal_error_and_not_a_hang() {
        let log = Log::default();
        let kept = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || kept.clone()).finish();
        let _here = tracing::subscriber::set_default(subscriber);
        let work = async { panic!("on purpose") };
        let error = guarded(&Journal::default(), Principal::named("alice"), Tool::CommandSend, work)
            .await
            .expect_err("it panicked");
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR);
        assert_eq!(error.code.0, -32603);
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("call ended") && text.contains("alice"), "{text}");
    }
}
