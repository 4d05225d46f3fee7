//! The broker's door: where connections come in, and where all of them are cut at once.
//!
//! The cut sits in the transport, below HTTP/2, so nothing polite leaves a connection that is cut: no GOAWAY, no
//! status, as after a SIGKILL.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::{Stream, stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::{Connected, TcpConnectInfo};

use super::hub::open;

/// How many connections are open at once; one more is closed again. Far above what a development machine has.
const CONNECTIONS_MAX: usize = 4_096;

/// How long to wait after a failed accept. Such a failure (no more file descriptors) would otherwise spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The listening socket and the reins of every connection that came through it.
#[derive(Debug)]
pub struct Door {
    listener: Mutex<Option<TcpListener>>,
    room: Arc<Semaphore>,
    cut: CancellationToken,
}

impl Door {
    /// Listens, and says on which address.
    ///
    /// # Errors
    /// The system does not let it.
    pub async fn open(address: SocketAddr) -> io::Result<(Arc<Self>, SocketAddr)> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let door = Self {
            listener: Mutex::new(Some(listener)),
            room: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            cut: CancellationToken::new(),
        };
        Ok((Arc::new(door), address))
    }

    /// The connections that come in, until the door is closed.
    pub fn connections(self: Arc<Self>) -> impl Stream<Item = io::Result<Connection>> {
        stream::unfold(
            self,
            |door| async move { door.accept().await.map(|connection| (Ok(connection), door)) },
        )
    }

    /// How many connections are open.
    pub fn connections_open(&self) -> usize {
        CONNECTIONS_MAX - self.room.available_permits()
    }

    /// Frees the port, before this returns.
    pub fn close(&self) {
        drop(open(&self.listener).take());
    }

    /// Frees the port and drops every connection.
    pub fn cut(&self) {
        self.close();
        self.cut.cancel();
    }

    async fn accept(&self) -> Option<Connection> {
        loop {
            match poll_fn(|context| self.poll_accept(context)).await? {
                Ok(stream) => {
                    if let Some(connection) = self.admit(stream) {
                        return Some(connection);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<Option<io::Result<TcpStream>>> {
        let Some(listener) = &*open(&self.listener) else {
            return Poll::Ready(None);
        };
        let accepted = ready!(listener.poll_accept(context));
        Poll::Ready(Some(accepted.map(|(stream, _)| stream)))
    }

    fn admit(&self, stream: TcpStream) -> Option<Connection> {
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            tracing::warn!(connections_max = CONNECTIONS_MAX, "connection closed, too many are open");
            return None;
        };
        // Requests and replies are small and waited for, so none may be held back to be joined with the next. Only
        // a socket that is dead already refuses this, and that is found out soon enough.
        let _ = stream.set_nodelay(true);
        Some(Connection {
            stream,
            cut: self.cut.clone(),
            until_cut: Box::pin(self.cut.clone().cancelled_owned()),
            _permit: permit,
        })
    }
}

/// A TCP connection that fails in both directions once it is cut.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    cut: CancellationToken,
    /// Wakes the reader; HTTP/2 always reads.
    until_cut: Pin<Box<WaitForCancellationFutureOwned>>,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    fn check(&self) -> io::Result<()> {
        if self.cut.is_cancelled() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        if self.until_cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
