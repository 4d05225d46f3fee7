//! The gRPC face of the broker: every call handed over, none decided here.

use std::sync::Arc;

use kubemq::proto::kubemq::kubemq_server::Kubemq;
use kubemq::proto::kubemq::{
    AckAllQueueMessagesRequest, AckAllQueueMessagesResponse, Empty, Event, EventReceive, PingResult,
    QueueMessage, QueueMessagesBatchRequest, QueueMessagesBatchResponse, QueuesDownstreamRequest,
    QueuesDownstreamResponse, QueuesUpstreamRequest, QueuesUpstreamResponse, ReceiveQueueMessagesRequest,
    ReceiveQueueMessagesResponse, Request as KubemqRequest, Response as KubemqResponse,
    Result as EventResult, SendQueueMessageResult, StreamQueueMessagesRequest, StreamQueueMessagesResponse,
    Subscribe,
};
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

use super::hub::Hub;
use super::subscription::Subscription;

/// Answers the calls of `kubemq.kubemq`.
#[derive(Debug)]
pub struct Service {
    hub: Arc<Hub>,
}

impl Service {
    /// The face of this hub.
    pub fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }
}

fn not_built(call: &str) -> Status {
    Status::unimplemented(format!("{call} is not built into the embedded broker yet"))
}

#[tonic::async_trait]
impl Kubemq for Service {
    type SendEventsStreamStream = BoxStream<EventResult>;
    type SubscribeToEventsStream = BoxStream<EventReceive>;
    type SubscribeToRequestsStream = Subscription;
    type StreamQueueMessageStream = BoxStream<StreamQueueMessagesResponse>;
    type QueuesDownstreamStream = BoxStream<QueuesDownstreamResponse>;
    type QueuesUpstreamStream = BoxStream<QueuesUpstreamResponse>;

    async fn send_request(
        &self,
        request: Request<KubemqRequest>,
    ) -> Result<Response<KubemqResponse>, Status> {
        Ok(Response::new(self.hub.ask(request.into_inner()).await?))
    }

    async fn send_response(&self, request: Request<KubemqResponse>) -> Result<Response<Empty>, Status> {
        self.hub.answer(request.into_inner())?;
        Ok(Response::new(Empty {}))
    }

    async fn subscribe_to_requests(
        &self,
        request: Request<Subscribe>,
    ) -> Result<Response<Subscription>, Status> {
        Ok(Response::new(self.hub.subscribe(request.into_inner())?))
    }

    async fn ping(&self, _: Request<Empty>) -> Result<Response<PingResult>, Status> {
        Ok(Response::new(self.hub.ping()))
    }

    async fn send_event(&self, _: Request<Event>) -> Result<Response<EventResult>, Status> {
        Err(not_built("SendEvent"))
    }

    async fn send_events_stream(
        &self,
        _: Request<Streaming<Event>>,
    ) -> Result<Response<Self::SendEventsStreamStream>, Status> {
        Err(not_built("SendEventsStream"))
    }

    async fn subscribe_to_events(
        &self,
        _: Request<Subscribe>,
    ) -> Result<Response<Self::SubscribeToEventsStream>, Status> {
        Err(not_built("SubscribeToEvents"))
    }

    async fn send_queue_message(
        &self,
        _: Request<QueueMessage>,
    ) -> Result<Response<SendQueueMessageResult>, Status> {
        Err(not_built("SendQueueMessage"))
    }

    async fn send_queue_messages_batch(
        &self,
        _: Request<QueueMessagesBatchRequest>,
    ) -> Result<Response<QueueMessagesBatchResponse>, Status> {
        Err(not_built("SendQueueMessagesBatch"))
    }

    async fn receive_queue_messages(
        &self,
        _: Request<ReceiveQueueMessagesRequest>,
    ) -> Result<Response<ReceiveQueueMessagesResponse>, Status> {
        Err(not_built("ReceiveQueueMessages"))
    }

    async fn stream_queue_message(
        &self,
        _: Request<Streaming<StreamQueueMessagesRequest>>,
    ) -> Result<Response<Self::StreamQueueMessageStream>, Status> {
        Err(not_built("StreamQueueMessage"))
    }

    async fn ack_all_queue_messages(
        &self,
        _: Request<AckAllQueueMessagesRequest>,
    ) -> Result<Response<AckAllQueueMessagesResponse>, Status> {
        Err(not_built("AckAllQueueMessages"))
    }

    async fn queues_downstream(
        &self,
        _: Request<Streaming<QueuesDownstreamRequest>>,
    ) -> Result<Response<Self::QueuesDownstreamStream>, Status> {
        Err(not_built("QueuesDownstream"))
    }

    async fn queues_upstream(
        &self,
        _: Request<Streaming<QueuesUpstreamRequest>>,
    ) -> Result<Response<Self::QueuesUpstreamStream>, Status> {
        Err(not_built("QueuesUpstream"))
    }
}
