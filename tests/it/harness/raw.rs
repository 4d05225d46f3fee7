//! A server below gRPC: it sends the bytes it is told to, whether they make a message or not.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

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
