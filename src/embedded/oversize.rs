//! Says "too large" with the code and the words of the real broker's gRPC library.
//!
//! tonic answers an oversize message with OUT_OF_RANGE, grpc-go with RESOURCE_EXHAUSTED. The refusal happens before
//! any handler runs, so it is put right on its way out.

use std::convert::Infallible;
use std::task::{Context, Poll};

use futures_util::TryFutureExt;
use futures_util::future::MapOk;
use tonic::body::BoxBody;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;
use tonic::{Code, Status};

type Answer = http::Response<BoxBody>;

/// A gRPC service whose refusals of oversize messages are translated.
#[derive(Clone, Debug)]
pub struct Oversize<S> {
    inner: S,
}

impl<S> Oversize<S> {
    /// Wraps a service.
    pub fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S: NamedService> NamedService for Oversize<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<BoxBody>> for Oversize<S>
where
    S: Service<http::Request<BoxBody>, Response = Answer, Error = Infallible>,
{
    type Response = Answer;
    type Error = Infallible;
    type Future = MapOk<S::Future, fn(Answer) -> Answer>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<BoxBody>) -> Self::Future {
        self.inner.call(request).map_ok(translate as fn(Answer) -> Answer)
    }
}

fn translate(answer: Answer) -> Answer {
    // Only an answer that fails before its body has a status here, so nearly every answer passes at once.
    let Some(status) = Status::from_header_map(answer.headers()) else {
        return answer;
    };
    match in_words_of_grpc_go(&status) {
        Some(status) => status.into_http(),
        None => answer,
    }
}

fn in_words_of_grpc_go(status: &Status) -> Option<Status> {
    if status.code() != Code::OutOfRange || !status.message().contains("decoded message length too large") {
        return None;
    }
    let mut numbers = status.message().split(' ').filter_map(|word| word.parse::<u64>().ok());
    let (found, limit) = (numbers.next()?, numbers.next()?);
    Some(Status::resource_exhausted(format!("grpc: received message larger than max ({found} vs. {limit})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tonics_own_refusal_is_translated() {
        let refusal = "Error, decoded message length too large: found 12 bytes, the limit is: 10 bytes";
        let status = in_words_of_grpc_go(&Status::out_of_range(refusal)).expect("a translation");
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(status.message(), "grpc: received message larger than max (12 vs. 10)");
        assert!(in_words_of_grpc_go(&Status::out_of_range("of the responder's")).is_none());
        assert!(in_words_of_grpc_go(&Status::internal(refusal)).is_none());
    }
}
