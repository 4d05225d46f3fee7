//! The fixture tools that the official conformance suite calls: they show the protocol side, and touch no broker.
//!
//! Only in a build with the feature `conformance`, which is never released. Each does what the suite's own description
//! of it says, no more.

mod content;
mod schema;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
    ProgressNotificationParam, SamplingCapability, Tool as Listed,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

/// The steps that `test_tool_with_progress` tells, of a hundred.
const PROGRESS_STEPS: [f64; 3] = [0.0, 50.0, 100.0];
/// The wait between two of them, as the suite describes it.
const PROGRESS_PAUSE: Duration = Duration::from_millis(50);

static TOOLS: LazyLock<Vec<Listed>> =
    LazyLock::new(|| Fixture::ALL.into_iter().map(Fixture::listed).collect());

/// A tool of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fixture {
    SimpleText,
    Image,
    Audio,
    EmbeddedResource,
    MixedContent,
    Error,
    Progress,
    JsonSchema,
    ParameterHeader,
    MissingCapability,
    StreamingElicitation,
    Logging,
}

/// The product's tools, with the fixtures behind them.
pub fn tools(product: &[Listed]) -> Vec<Listed> {
    product.iter().chain(TOOLS.iter()).cloned().collect()
}

/// The fixture of this name.
pub fn tool(name: &str) -> Option<Listed> {
    TOOLS.iter().find(|tool| tool.name == name).cloned()
}

/// Answers the call when it is one of a fixture.
pub async fn call(
    params: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let fixture = Fixture::ALL.into_iter().find(|fixture| fixture.name() == params.name)?;
    Some(fixture.answer(context).await.map(Into::into))
}

impl Fixture {
    const ALL: [Self; 12] = [
        Self::SimpleText,
        Self::Image,
        Self::Audio,
        Self::EmbeddedResource,
        Self::MixedContent,
        Self::Error,
        Self::Progress,
        Self::JsonSchema,
        Self::ParameterHeader,
        Self::MissingCapability,
        Self::StreamingElicitation,
        Self::Logging,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::SimpleText => "test_simple_text",
            Self::Image => "test_image_content",
            Self::Audio => "test_audio_content",
            Self::EmbeddedResource => "test_embedded_resource",
            Self::MixedContent => "test_multiple_content_types",
            Self::Error => "test_error_handling",
            Self::Progress => "test_tool_with_progress",
            Self::JsonSchema => "json_schema_2020_12_tool",
            Self::ParameterHeader => "test_parameter_header",
            Self::MissingCapability => "test_missing_capability",
            Self::StreamingElicitation => "test_streaming_elicitation",
            Self::Logging => "test_logging_tool",
        }
    }

    fn listed(self) -> Listed {
        let schema = match self {
            Self::JsonSchema => schema::json_schema_2020_12(),
            Self::ParameterHeader => schema::parameter_header(),
            _ => schema::no_arguments(),
        };
        Listed::new(self.name(), "A fixture of the conformance suite.", Arc::new(schema))
    }

    async fn answer(self, context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
        let blocks = match self {
            Self::SimpleText => vec![ContentBlock::text("This is a simple text response for testing.")],
            Self::Image => vec![content::image()],
            Self::Audio => vec![content::audio()],
            Self::EmbeddedResource => vec![content::resource()],
            Self::MixedContent => content::mixed(),
            Self::Error => {
                let text = "This tool intentionally returns an error for testing";
                return Ok(CallToolResult::error(vec![ContentBlock::text(text)]));
            }
            Self::Progress => vec![told_progress(context).await],
            Self::MissingCapability if !samples(context) => {
                let mut required = ClientCapabilities::default();
                required.sampling = Some(SamplingCapability::default());
                return Err(ErrorData::missing_required_client_capability(required));
            }
            // A server without elicitation or logging has only its result to send.
            Self::JsonSchema
            | Self::ParameterHeader
            | Self::MissingCapability
            | Self::StreamingElicitation
            | Self::Logging => vec![ContentBlock::text("done")],
        };
        Ok(CallToolResult::success(blocks))
    }
}

/// Whether the client has declared that it samples.
fn samples(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.sampling.is_some())
}

/// Tells three steps of progress to a client that asked for them.
async fn told_progress(context: &RequestContext<RoleServer>) -> ContentBlock {
    for step in PROGRESS_STEPS {
        if let Some(token) = context.meta.get_progress_token() {
            let mut notification = ProgressNotificationParam::new(token, step);
            notification.total = Some(100.0);
            if let Err(error) = context.peer.notify_progress(notification).await {
                tracing::debug!(%error, "no progress told");
            }
        }
        tokio::time::sleep(PROGRESS_PAUSE).await;
    }
    ContentBlock::text("done")
}
