//! What an error of the official client shows, as plain data.
//!
//! The decision in `fault` is pure because everything it looks at is copied out here, the chain of sources included.

use std::error::Error;

use kubemq::KubemqError;
use tonic::Code;

/// The suggestion that the client attaches to a validation error of the *broker*; its own have others.
const SUGGESTION_OF_A_STATUS: &str = "Check the request parameters (channel, body, metadata).";

/// An error of the official client, reduced to what tells its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symptom {
    /// The variant.
    pub shape: Shape,
    /// The client's text, which is the text of the gRPC status where there was one.
    pub message: String,
    /// The gRPC code, where the client keeps it.
    pub code: Option<Code>,
    /// Whether the connection could not be made: proved by the type of a source, not by a text.
    pub stage: Stage,
    /// The texts of the sources below the status, outermost first.
    pub sources: Vec<String>,
}

/// How far a call had come, as far as the types of the sources prove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// There was no connection, so nothing can have left.
    Connecting,
    /// Nothing proves that the call did not leave.
    MayHaveLeft,
}

/// The variants of the client's error, the two kinds of validation told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `UNKNOWN`, `ABORTED` or `UNAVAILABLE`.
    Transient,
    /// `DEADLINE_EXCEEDED`.
    Timeout,
    /// `UNAUTHENTICATED`.
    Authentication,
    /// `PERMISSION_DENIED`.
    Authorization,
    /// A status for a wrong request, `OUT_OF_RANGE` among them.
    Validation,
    /// The client's own check, before anything is sent.
    OwnValidation,
    /// `INTERNAL`, `UNIMPLEMENTED` or `DATA_LOSS`.
    Fatal,
    /// `CANCELLED`.
    Cancellation,
    /// `RESOURCE_EXHAUSTED`.
    Throttling,
    /// The client was closed before the call.
    Closed,
    /// A variant that no unary call has shown yet.
    Other,
}

impl Symptom {
    /// Copies out what matters.
    pub(super) fn of(error: &KubemqError) -> Self {
        let (shape, message) = shape_and_message(error);
        let mut symptom = Self { shape, message, code: None, stage: Stage::MayHaveLeft, sources: Vec::new() };
        let mut next = error.source();
        while let Some(source) = next {
            if let Some(status) = source.downcast_ref::<tonic::Status>() {
                symptom.code = Some(status.code());
            } else {
                symptom.sources.push(source.to_string());
            }
            if source.is::<tonic::ConnectError>() {
                symptom.stage = Stage::Connecting;
            }
            next = source.source();
        }
        symptom
    }
}

fn shape_and_message(error: &KubemqError) -> (Shape, String) {
    let (shape, message) = match error {
        KubemqError::Transient { message, .. } => (Shape::Transient, message),
        KubemqError::Timeout { message, .. } => (Shape::Timeout, message),
        KubemqError::Authentication { message, .. } => (Shape::Authentication, message),
        KubemqError::Authorization { message, .. } => (Shape::Authorization, message),
        KubemqError::Validation { message, suggestion, .. } if *suggestion == SUGGESTION_OF_A_STATUS => {
            (Shape::Validation, message)
        }
        KubemqError::Validation { message, .. } => (Shape::OwnValidation, message),
        KubemqError::Fatal { message, .. } => (Shape::Fatal, message),
        KubemqError::Cancellation { message, .. } => (Shape::Cancellation, message),
        KubemqError::Throttling { message, .. } => (Shape::Throttling, message),
        KubemqError::ClientClosed => return (Shape::Closed, "the connection was closed".into()),
        other => return (Shape::Other, other.to_string()),
    };
    (shape, message.clone())
}
