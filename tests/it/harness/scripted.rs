//! A broker that does what the channel's name says.
//!
//! It shares nothing with the connector but the generated protobuf, and runs on a runtime of its own, so that killing it
//! cuts its connections like the death of a process does.
//!
//! | Channel | What happens |
//! |---|---|
//! | `echo…` | the body, metadata and tags come back |
//! | `other-id…` | as `echo`, under the request id `another` |
//! | `hold…` | as `echo`, after [`Scripted::release`] |
//! | `silent…` | nothing, ever |
//! | `bytes.N` | a body of N bytes |
//! | `error.N` | the status of `Error N` as the real broker words it |
//! | `code.N` | a status with the gRPC code N |
//! | anything else | goes to its subscriber, or times out with `Error 301` at its time |

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use kubemq::proto::kubemq as proto;
use kubemq::proto::kubemq::kubemq_server::{Kubemq, KubemqServer};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tonic::transport::ServerTlsConfig;
use tonic::{Code, Request, Response, Status};

use super::event::DEADLINE;

/// Requests that a subscriber may leave unread.
const SUBSCRIPTION_BUFFER: usize = 100;

/// What a test can see and steer.
pub struct State {
    /// Requests that have arrived, those of [`Kubemq::send_request`] only.
    pub arrived: watch::Sender<usize>,
    /// Connections that were accepted.
    pub connections: watch::Sender<usize>,
    /// Handlers of requests that ended without answering: the caller has gone.
    pub abandoned: watch::Sender<usize>,
    /// Pings that have arrived.
    pub pings: watch::Sender<usize>,
    /// Subscriptions that have arrived.
    pub subscribed: watch::Sender<usize>,
    /// The last `authorization` header, with requests and pings alike.
    pub token: watch::Sender<Option<String>>,
    /// The last request.
    pub last: Mutex<Option<proto::Request>>,
    /// The last response of a responder.
    pub responded: watch::Sender<Option<proto::Response>>,
    /// Whether `hold` may go on.
    released: watch::Sender<bool>,
    /// What a ping answers instead of its result.
    pub ping_status: Mutex<Option<(Code, String)>>,
    subscribers: Mutex<HashMap<String, mpsc::Sender<Result<proto::Request, Status>>>>,
    waiting: Mutex<HashMap<String, oneshot::Sender<proto::Response>>>,
    inboxes: AtomicUsize,
    name: String,
}

/// A running scripted broker.
pub struct Scripted {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it has seen.
    pub state: Arc<State>,
    graceful: CancellationToken,
    ended: watch::Receiver<bool>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Scripted {
    /// Starts one on a free port.
    pub fn start() -> Self {
        Self::start_at("127.0.0.1:0".parse().expect("an address"), None)
    }

    /// Starts one with encryption.
    pub fn start_encrypted(tls: ServerTlsConfig) -> Self {
        Self::start_at("127.0.0.1:0".parse().expect("an address"), Some(tls))
    }

    /// Starts one at this address, which may have belonged to one that was killed.
    pub fn start_at(address: SocketAddr, tls: Option<ServerTlsConfig>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = std::net::TcpListener::bind(address).expect("the port is free");
        listener.set_nonblocking(true).expect("a listener of ours");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(State::new(address.to_string()));
        let graceful = CancellationToken::new();
        let (ends, ended) = watch::channel(false);
        let (service, stop) = (Service(Arc::clone(&state)), graceful.clone().cancelled_owned());
        let seen = Arc::clone(&state);
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).expect("inside a runtime");
            // The small window of the default makes h2 take 5,000 tiny requests for an attack.
            let mut server = tonic::transport::Server::builder().initial_connection_window_size(16 << 20);
            if let Some(tls) = tls {
                server = server.tls_config(tls).expect("certificates of ours");
            }
            let incoming = stream::unfold((listener, seen), |(listener, seen)| async move {
                let accepted = listener.accept().await.map(|(stream, _)| stream);
                seen.connections.send_modify(|count| *count += 1);
                Some((accepted, (listener, seen)))
            });
            let service = KubemqServer::new(service).max_decoding_message_size(8 << 20);
            let _ = server.add_service(service).serve_with_incoming_shutdown(incoming, stop).await;
            ends.send_replace(true);
        });
        Self { address, state, graceful, ended, runtime: Some(runtime) }
    }

    /// Lets everything in `hold` go on.
    pub fn release(&self) {
        self.state.released.send_replace(true);
    }

    /// Sends GOAWAY and lets calls in flight finish.
    pub fn stop_gracefully(&self) {
        self.graceful.cancel();
    }

    /// Follows the end of a graceful stop.
    pub fn ended(&self) -> watch::Receiver<bool> {
        self.ended.clone()
    }

    /// Ends every subscription cleanly, as the real broker does when it stops.
    pub fn end_subscriptions(&self) {
        lock(&self.state.subscribers).clear();
    }

    /// Cuts every connection at once and returns the address.
    pub fn kill(mut self) -> SocketAddr {
        self.cut();
        self.address
    }

    fn cut(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        // On a thread of its own, since a runtime may not wait inside another; afterwards the port is free.
        let ending = std::thread::spawn(move || runtime.shutdown_timeout(DEADLINE));
        ending.join().expect("it only waits");
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.cut();
    }
}

impl State {
    fn new(name: String) -> Self {
        Self {
            arrived: watch::Sender::new(0),
            connections: watch::Sender::new(0),
            abandoned: watch::Sender::new(0),
            pings: watch::Sender::new(0),
            subscribed: watch::Sender::new(0),
            token: watch::Sender::new(None),
            last: Mutex::new(None),
            responded: watch::Sender::new(None),
            released: watch::Sender::new(false),
            ping_status: Mutex::new(None),
            subscribers: Mutex::new(HashMap::new()),
            waiting: Mutex::new(HashMap::new()),
            inboxes: AtomicUsize::new(0),
            name,
        }
    }

    fn see_token<T>(&self, request: &Request<T>) {
        let token = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        self.token.send_replace(token.map(str::to_owned));
    }

    async fn play(&self, request: proto::Request) -> Result<proto::Response, Status> {
        let (word, rest) = request.channel.split_once('.').unwrap_or((&request.channel, ""));
        match word {
            "echo" => Ok(self.echo(request)),
            "other-id" => Ok(proto::Response { request_id: "another".into(), ..self.echo(request) }),
            "hold" => {
                let _ = self.released.subscribe().wait_for(|released| *released).await;
                Ok(self.echo(request))
            }
            "silent" => std::future::pending().await,
            "bytes" => {
                let body = vec![b'x'; rest.parse().expect("a number of bytes")];
                Ok(proto::Response { body, ..self.echo(proto::Request::default()) })
            }
            "error" => Err(error(rest)),
            "code" => Err(Status::new(Code::from_i32(rest.parse().expect("a code")), "scripted")),
            _ => self.forward(request).await,
        }
    }

    async fn forward(&self, mut request: proto::Request) -> Result<proto::Response, Status> {
        let patience = Duration::from_millis(u64::try_from(request.timeout).expect("positive"));
        request.reply_channel = format!("_INBOX.{}", self.inboxes.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        lock(&self.waiting).insert(request.reply_channel.clone(), answer);
        let subscriber = lock(&self.subscribers).get(&request.channel).cloned();
        if let Some(subscriber) = subscriber {
            let _ = subscriber.send(Ok(request)).await;
        }
        let late = || error("301");
        let response = tokio::time::timeout(patience, answered).await.map_err(|_| late())?;
        response.map_err(|_| late())
    }

    fn echo(&self, request: proto::Request) -> proto::Response {
        proto::Response {
            client_id: self.name.clone(),
            request_id: request.request_id,
            metadata: request.metadata,
            body: request.body,
            executed: true,
            tags: request.tags,
            ..proto::Response::default()
        }
    }
}

/// The real broker's words, with the gRPC code it puts around them.
fn error(number: &str) -> Status {
    match number {
        "101" => Status::internal("Error 101: invalid clientID value, cannot be empty"),
        "115" => Status::internal("Error 115: invalid request, cannot be empty"),
        "206" => Status::internal("Error 206: invalid request type"),
        "301" => Status::internal("Error 301: timeout for request message"),
        "302" => Status::internal("Error 302: connection not available, please retry"),
        "303" => Status::internal("Error 303: invalid response format"),
        "409" => Status::internal("Error 409: server is in shutdown mode"),
        "412" => Status::internal("Error 412: access denied to resource"),
        "421" => {
            Status::unauthenticated("Error 421: authentication verification failed, token is expired by 1s")
        }
        "no-token" => Status::unauthenticated("Authorization token is not supplied"),
        "denied" => Status::permission_denied("not for you"),
        "not-ready" => Status::unavailable("grpc server is not ready to accept requests"),
        "proxy" => Status::unavailable("upstream connect error or disconnect/reset before headers"),
        "late" => Status::deadline_exceeded("context deadline exceeded"),
        "go-limit" => {
            Status::resource_exhausted("grpc: received message larger than max (5000000 vs. 4194304)")
        }
        other => Status::internal(format!("Error {other}: scripted")),
    }
}

/// Tells, when it is dropped unarmed, that the caller has gone.
struct Guard(Arc<State>, bool);

impl Drop for Guard {
    fn drop(&mut self) {
        if self.1 {
            self.0.abandoned.send_modify(|count| *count += 1);
        }
    }
}

struct Service(Arc<State>);

type Answer<T> = Result<Response<T>, Status>;
type Streamed<T> = BoxStream<'static, Result<T, Status>>;

#[tonic::async_trait]
impl Kubemq for Service {
    type SendEventsStreamStream = Streamed<proto::Result>;
    type SubscribeToEventsStream = Streamed<proto::EventReceive>;
    type SubscribeToRequestsStream = Streamed<proto::Request>;
    type StreamQueueMessageStream = Streamed<proto::StreamQueueMessagesResponse>;
    type QueuesDownstreamStream = Streamed<proto::QueuesDownstreamResponse>;
    type QueuesUpstreamStream = Streamed<proto::QueuesUpstreamResponse>;

    async fn send_request(&self, request: Request<proto::Request>) -> Answer<proto::Response> {
        self.0.see_token(&request);
        let request = request.into_inner();
        *lock(&self.0.last) = Some(request.clone());
        self.0.arrived.send_modify(|count| *count += 1);
        let mut guard = Guard(Arc::clone(&self.0), true);
        let played = self.0.play(request).await;
        guard.1 = false;
        played.map(Response::new)
    }

    async fn ping(&self, request: Request<proto::Empty>) -> Answer<proto::PingResult> {
        self.0.see_token(&request);
        self.0.pings.send_modify(|count| *count += 1);
        if let Some((code, text)) = lock(&self.0.ping_status).clone() {
            return Err(Status::new(code, text));
        }
        Ok(Response::new(proto::PingResult {
            host: "scripted".into(),
            version: "2.4.0".into(),
            ..proto::PingResult::default()
        }))
    }

    async fn subscribe_to_requests(
        &self,
        request: Request<proto::Subscribe>,
    ) -> Answer<Self::SubscribeToRequestsStream> {
        self.0.see_token(&request);
        let channel = request.into_inner().channel;
        let (sender, receiver) = mpsc::channel(SUBSCRIPTION_BUFFER);
        lock(&self.0.subscribers).insert(channel.clone(), sender);
        self.0.subscribed.send_modify(|count| *count += 1);
        let requests = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|request| (request, receiver))
        });
        if !channel.starts_with("go.") {
            return Ok(Response::new(requests.boxed()));
        }
        // A broker written in Go sends its headers with the first request.
        let mut requests = requests.boxed();
        let first = requests.next().await;
        Ok(Response::new(stream::iter(first).chain(requests).boxed()))
    }

    async fn send_response(&self, request: Request<proto::Response>) -> Answer<proto::Empty> {
        self.0.see_token(&request);
        let response = request.into_inner();
        self.0.responded.send_replace(Some(response.clone()));
        if let Some(waiting) = lock(&self.0.waiting).remove(&response.reply_channel) {
            let _ = waiting.send(response);
        }
        Ok(Response::new(proto::Empty {}))
    }

    async fn send_event(&self, _: Request<proto::Event>) -> Answer<proto::Result> {
        Err(Status::unimplemented("scripted"))
    }

    async fn send_events_stream(
        &self,
        _: Request<tonic::Streaming<proto::Event>>,
    ) -> Answer<Self::SendEventsStreamStream> {
        Err(Status::unimplemented("scripted"))
    }

    async fn subscribe_to_events(
        &self,
        _: Request<proto::Subscribe>,
    ) -> Answer<Self::SubscribeToEventsStream> {
        Err(Status::unimplemented("scripted"))
    }

    async fn send_queue_message(
        &self,
        _: Request<proto::QueueMessage>,
    ) -> Answer<proto::SendQueueMessageResult> {
        Err(Status::unimplemented("scripted"))
    }

    async fn send_queue_messages_batch(
        &self,
        _: Request<proto::QueueMessagesBatchRequest>,
    ) -> Answer<proto::QueueMessagesBatchResponse> {
        Err(Status::unimplemented("scripted"))
    }

    async fn receive_queue_messages(
        &self,
        _: Request<proto::ReceiveQueueMessagesRequest>,
    ) -> Answer<proto::ReceiveQueueMessagesResponse> {
        Err(Status::unimplemented("scripted"))
    }

    async fn stream_queue_message(
        &self,
        _: Request<tonic::Streaming<proto::StreamQueueMessagesRequest>>,
    ) -> Answer<Self::StreamQueueMessageStream> {
        Err(Status::unimplemented("scripted"))
    }

    async fn ack_all_queue_messages(
        &self,
        _: Request<proto::AckAllQueueMessagesRequest>,
    ) -> Answer<proto::AckAllQueueMessagesResponse> {
        Err(Status::unimplemented("scripted"))
    }

    async fn queues_downstream(
        &self,
        _: Request<tonic::Streaming<proto::QueuesDownstreamRequest>>,
    ) -> Answer<Self::QueuesDownstreamStream> {
        Err(Status::unimplemented("scripted"))
    }

    async fn queues_upstream(
        &self,
        _: Request<tonic::Streaming<proto::QueuesUpstreamRequest>>,
    ) -> Answer<Self::QueuesUpstreamStream> {
        Err(Status::unimplemented("scripted"))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
