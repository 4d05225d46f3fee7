//! Accepts connections within limits and lets them end in order.
//!
//! By hand on hyper, since `axum::serve` has neither a limit on connections nor a time for headers.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::Config;
use super::answered::Answered;
use super::connections::{Connections, Place};
use super::last_word::{Heard, LastWord};
use super::metrics::Metrics;
use super::tls::Tls;

/// Bytes of an HTTP/2 connection's window. h2 kills a connection when small frames beyond a budget of half its window
/// wait unread; with hyper's 1 MiB a burst of about 3,000 small calls is enough.
const CONNECTION_WINDOW_BYTES: u32 = 32 << 20;

/// How long to wait after the operating system gave no connection, usually for want of file handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A listener that serves until it is stopped.
pub struct Listener {
    address: SocketAddr,
    scheme: &'static str,
    stop: CancellationToken,
    task: JoinHandle<GracefulShutdown>,
}

/// Why an address cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has the port.
    #[error(
        "port {} of {} is in use (KubeMQ's own endpoint listens on 9090 as well): stop the other program, or choose \
         another address with `--listen {}:PORT` or `{key}` in the configuration",
        address.port(), address.ip(), address.ip()
    )]
    Busy {
        /// The address.
        address: SocketAddr,
        /// The option that sets it.
        key: &'static str,
    },
    /// Anything else.
    #[error("cannot listen on {address} (`{key}`)")]
    Failed {
        /// The address.
        address: SocketAddr,
        /// The option that sets it.
        key: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
}

impl Listener {
    /// Takes the address and serves `router` on it. `key` is the option that set the address.
    ///
    /// # Errors
    /// When the address cannot be taken.
    pub async fn start(
        address: SocketAddr,
        key: &'static str,
        router: Router,
        tls: Option<Tls>,
        config: &Config,
    ) -> Result<Self, BindError> {
        let socket = TcpListener::bind(address).await.map_err(|source| match source.kind() {
            std::io::ErrorKind::AddrInUse => BindError::Busy { address, key },
            _ => BindError::Failed { address, key, source },
        })?;
        let address = socket.local_addr().map_err(|source| BindError::Failed { address, key, source })?;
        let stop = CancellationToken::new();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let acceptor = Acceptor {
            router,
            tls,
            connections: Connections::new(config.connections_max),
            builder: Arc::new(builder(config)),
            header_patience: Duration::from_secs(config.header_seconds),
            answer_patience: Duration::from_secs(config.answer_seconds),
            open: GracefulShutdown::new(),
        };
        let task = tokio::spawn(acceptor.run(socket, stop.clone()));
        Ok(Self { address, scheme, stop, task })
    }

    /// The address that is served; the port is the real one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How its URLs begin.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// Stops accepting, then waits at most `patience` for open requests to end.
    pub async fn stop(self, patience: Duration) {
        self.stop.cancel();
        let Ok(open) = self.task.await else { return };
        if tokio::time::timeout(patience, open.shutdown()).await.is_err() {
            tracing::warn!("connections were still open when the time to drain was over");
        }
    }
}

fn builder(config: &Config) -> auto::Builder<TokioExecutor> {
    let header_patience = Duration::from_secs(config.header_seconds);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(header_patience)
        .max_buf_size(config.header_bytes_max);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(config.streams_per_connection_max)
        .max_header_list_size(u32::try_from(config.header_bytes_max).unwrap_or(u32::MAX))
        .keep_alive_interval(Some(Duration::from_secs(20)))
        .keep_alive_timeout(header_patience);
    builder
}

struct Acceptor {
    router: Router,
    tls: Option<Tls>,
    connections: Connections,
    builder: Arc<auto::Builder<TokioExecutor>>,
    header_patience: Duration,
    answer_patience: Duration,
    open: GracefulShutdown,
}

impl Acceptor {
    async fn run(self, socket: TcpListener, stop: CancellationToken) -> GracefulShutdown {
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = socket.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => match self.connections.enter() {
                    Some(place) => self.serve(stream, peer, place, &stop),
                    None => Metrics::get().connections_refused.increment(1),
                },
                Err(error) => {
                    tracing::warn!(%error, "no connection accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        self.open
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr, place: Place, stop: &CancellationToken) {
        // Small answers must not wait for more.
        let _ = stream.set_nodelay(true);
        let ready = self.connection(peer, Arc::new(place), stop);
        match self.tls.as_ref().map(Tls::acceptor) {
            None => _ = tokio::spawn(ready.serve(stream)),
            Some(acceptor) => _ = tokio::spawn(ready.encrypt(acceptor, stream)),
        }
    }

    fn connection(&self, peer: SocketAddr, place: Arc<Place>, stop: &CancellationToken) -> Connection {
        Connection {
            stop: stop.clone(),
            watcher: self.open.watcher(),
            router: self.router.clone(),
            builder: Arc::clone(&self.builder),
            header_patience: self.header_patience,
            answer_patience: self.answer_patience,
            peer,
            place,
        }
    }
}

/// One connection, and what it needs to be served.
struct Connection {
    router: Router,
    builder: Arc<auto::Builder<TokioExecutor>>,
    header_patience: Duration,
    answer_patience: Duration,
    watcher: Watcher,
    /// Cancelled when no further request shall be taken.
    stop: CancellationToken,
    peer: SocketAddr,
    place: Arc<Place>,
}

impl Connection {
    /// Agrees on an encryption first. A client that is slow at it is held to the time for a head.
    async fn encrypt(self, acceptor: TlsAcceptor, stream: TcpStream) {
        let place = Arc::clone(&self.place);
        let agreed = tokio::select! {
            agreed = tokio::time::timeout(self.header_patience, acceptor.accept(stream)) => agreed,
            () = place.leave.cancelled() => return,
            // Nothing was asked yet, so a stop waits for nothing here.
            () = self.stop.cancelled() => return,
        };
        match agreed {
            Ok(Ok(stream)) => self.serve(stream).await,
            Ok(Err(error)) => failed(&error.to_string()),
            Err(_) => failed("it did not end in time"),
        }
    }

    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(self, stream: S) {
        let Self { router, builder, header_patience, answer_patience, watcher, peer, place, .. } = self;
        let begun = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&begun);
        let heard = Heard::default();
        let hears = heard.clone();
        let at = Arc::clone(&place);
        let service = tower::service_fn(move |mut request: hyper::Request<Incoming>| {
            noted.store(true, Ordering::Relaxed);
            // Who may ask for keys depends on it.
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(hears.clone());
            let work = at.work();
            let answer = tower::ServiceExt::oneshot(router.clone(), request);
            async move {
                // A connection that gives way is closed before any answer; what came on it must not run.
                let Some(work) = work else { return std::future::pending().await };
                Ok::<_, Infallible>(answer.await?.map(|body| Body::new(Answered::new(body, work))))
            }
        });
        let connection = builder
            .serve_connection(
                TokioIo::new(LastWord::new(stream, heard, answer_patience)),
                TowerToHyperService::new(service),
            )
            .into_owned();
        let connection = watcher.watch(connection);
        tokio::pin!(connection);
        let whole = async {
            // hyper's own time for headers begins with the first byte; this one begins with the connection.
            let first = tokio::time::timeout(header_patience, &mut connection).await;
            if first.is_err() && begun.load(Ordering::Relaxed) {
                // A client's broken connection is its own affair.
                let _ = connection.await;
            }
        };
        tokio::select! {
            () = whole => {}
            // It is idle: nothing on it is lost.
            () = place.leave.cancelled() => {}
        }
        drop(place);
    }
}

fn failed(reason: &str) {
    Metrics::get().handshakes_failed.increment(1);
    tracing::debug!(reason, "a TLS handshake failed");
}
