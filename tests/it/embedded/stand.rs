//! A broker on a free port with a raw client, so that nothing between the test and the wire can hide a difference.

use std::future::Future;
use std::time::Duration;

use kubemq::proto::kubemq::kubemq_client::KubemqClient;
use kubemq::proto::kubemq::request::RequestType;
use kubemq::proto::kubemq::subscribe::SubscribeType;
use kubemq::proto::kubemq::{Request, Response, Subscribe};
use kubemq_mcp::embedded::{Config, EmbeddedBroker};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

/// No test waits longer than this for an event; it only ends tests that have failed.
const PATIENCE: Duration = Duration::from_secs(180);

/// The client's own HTTP/2 window, in bytes. A client too takes many small frames that it has not read for an attack,
/// and with the default window 10 000 requests and replies on one connection can be enough to make it hang up.
const CONNECTION_WINDOW_BYTES: u32 = 32 << 20;

pub type Client = KubemqClient<Channel>;

/// A broker and one connection to it.
pub struct Stand {
    pub broker: EmbeddedBroker,
    pub client: Client,
}

impl Stand {
    pub async fn new() -> Self {
        Self::with(Config::default()).await
    }

    /// A broker with these limits, on a free port.
    pub async fn with(config: Config) -> Self {
        let config = Config { listen: ([127, 0, 0, 1], 0).into(), ..config };
        let broker = EmbeddedBroker::start(config).await.expect("a free port");
        let client = connect(&broker).await;
        Self { broker, client }
    }

    pub async fn ask(&self, request: Request) -> Result<Response, Status> {
        within(self.client.clone().send_request(request)).await.map(tonic::Response::into_inner)
    }

    pub async fn respond(&self, response: Response) -> Result<(), Status> {
        within(self.client.clone().send_response(response)).await.map(drop)
    }

    pub async fn subscribe(&self, subscribe: Subscribe) -> Result<Streaming<Request>, Status> {
        within(self.client.clone().subscribe_to_requests(subscribe)).await.map(tonic::Response::into_inner)
    }

    /// Requests for commands on a channel, as a member of a group or, with an empty one, alone.
    pub async fn commands(&self, channel: &str, group: &str) -> Streaming<Request> {
        self.subscribe(subscription(SubscribeType::Commands, channel, group)).await.expect("a subscription")
    }

    pub async fn queries(&self, channel: &str, group: &str) -> Streaming<Request> {
        self.subscribe(subscription(SubscribeType::Queries, channel, group)).await.expect("a subscription")
    }

    /// Answers everything that comes, with what `make` makes of it, for as long as the broker lives.
    pub fn serve(&self, mut requests: Streaming<Request>, make: fn(&Request) -> Response) {
        let client = self.client.clone();
        tokio::spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                let mut client = client.clone();
                tokio::spawn(async move { client.send_response(make(&request)).await });
            }
        });
    }
}

pub async fn connect(broker: &EmbeddedBroker) -> Client {
    let endpoint = Endpoint::from_shared(format!("http://{}", broker.address())).expect("an address");
    let endpoint = endpoint.initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    KubemqClient::new(within(endpoint.connect()).await.expect("the broker listens"))
}

pub async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens long before")
}

pub async fn next(requests: &mut Streaming<Request>) -> Request {
    within(requests.message()).await.expect("an open stream").expect("a request")
}

pub fn command(channel: &str) -> Request {
    Request {
        request_id: "request-1".into(),
        request_type_data: RequestType::Command.into(),
        client_id: "caller".into(),
        channel: channel.into(),
        metadata: "metadata".into(),
        body: b"body".to_vec(),
        timeout: 30_000,
        ..Request::default()
    }
}

pub fn query(channel: &str) -> Request {
    Request { request_type_data: RequestType::Query.into(), ..command(channel) }
}

pub fn subscription(subscribe_type: SubscribeType, channel: &str, group: &str) -> Subscribe {
    Subscribe {
        subscribe_type_data: subscribe_type.into(),
        client_id: "responder".into(),
        channel: channel.into(),
        group: group.into(),
        ..Subscribe::default()
    }
}

/// The reply that a well-behaved responder gives.
pub fn done(request: &Request) -> Response {
    Response {
        client_id: "responder".into(),
        request_id: request.request_id.clone(),
        reply_channel: request.reply_channel.clone(),
        executed: true,
        timestamp: 7,
        body: request.body.clone(),
        ..Response::default()
    }
}

pub fn refusal<T>(result: Result<T, Status>) -> (Code, String) {
    let status = result.err().expect("a refusal");
    (status.code(), status.message().to_owned())
}

pub fn internal(text: &str) -> (Code, String) {
    (Code::Internal, text.to_owned())
}
