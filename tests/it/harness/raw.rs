//! Servers below gRPC: what they send need not be a message, and they break off as they are told to.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Answers every request with these bytes as the body of an otherwise successful gRPC reply, pings with a valid one.
pub async fn answer_with(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service_fn(move |request: Request<hyper::body::Incoming>| async move {
                // An empty message: no compression, length zero.
                let empty: &[u8] = &[0; 5];
                let body = if request.uri().path().ends_with("/Ping") { empty } else { bytes };
                Ok::<_, Infallible>(reply(body))
            });
            let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(async move { connection.serve_connection(TokioIo::new(stream), service).await });
        }
    });
    address
}

/// What an HTTP/2 server says when it ends a connection.
#[derive(Clone, Copy, Debug)]
pub enum Goaway {
    /// All is well, but no stream was processed.
    NoError = 0,
    /// The client sends too much.
    EnhanceYourCalm = 11,
}

/// Stands between a client and a server, and ends each connection with GOAWAY when `now` fires; the server hears nothing
/// of that.
pub async fn goaway_in_front_of(server: SocketAddr, goaway: Goaway, now: Arc<Notify>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(server).await.expect("the server listens");
            let now = Arc::clone(&now);
            tokio::spawn(async move {
                tokio::select! {
                    _ = copy_bidirectional(&mut client, &mut server) => return,
                    () = now.notified() => {}
                }
                // Length 8, type 7, no flags, stream 0; no stream was processed; the reason.
                let mut frame = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                frame[16] = goaway as u8;
                client.write_all(&frame).await.expect("the client reads");
                let _ = client.shutdown().await;
            });
        }
    });
    address
}

/// Resets the stream of every request but pings.
pub async fn reset_streams() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service_fn(move |request: Request<hyper::body::Incoming>| async move {
                let ping = request.uri().path().ends_with("/Ping");
                // hyper resets the stream of a failed service.
                if ping { Ok(reply(&[0; 5])) } else { Err(std::io::Error::other("scripted")) }
            });
            let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(async move { connection.serve_connection(TokioIo::new(stream), service).await });
        }
    });
    address
}

type Body = StreamBody<stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

fn reply(bytes: &'static [u8]) -> Response<Body> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().expect("a header"));
    let frames = vec![Ok(Frame::data(Bytes::from_static(bytes))), Ok(Frame::trailers(trailers))];
    Response::builder()
        .header("content-type", "application/grpc")
        .body(StreamBody::new(stream::iter(frames)))
        .expect("a valid response")
}
