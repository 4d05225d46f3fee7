//! The body of an answer that keeps its connection at work until the last of it was taken.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use super::connections::Work;

/// A body, and the work that it ends.
pub(super) struct Answered {
    body: Body,
    _work: Work,
}

impl Answered {
    /// This body, on this connection.
    pub fn new(body: Body, work: Work) -> Self {
        Self { body, _work: work }
    }
}

impl HttpBody for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
