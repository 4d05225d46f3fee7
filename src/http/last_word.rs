//! A connection that never ends without a word.
//!
//! hyper closes a connection in silence when a request breaks off or does not come in time. A client then cannot tell a
//! refusal from a fault of the network, so the last word is said here. It is said only of what was never heard to its end: a
//! request that was may have had its effect, and a refusal would deny that.
//!
//! And one that does not wait for ever: a client that reads nothing for a while gives up what it is owed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::noop_waker_ref;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How HTTP/2 begins; what follows is framed, and no plain text may be said into it.
const PREFACE_START: &[u8] = b"PRI ";

/// Said when a request began and nothing was answered.
const INCOMPLETE: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n\
content-length: 100\r\n\r\n\
{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"the request broke off or did not come in time\"}}\n";

/// A stream that owes an answer to what it has read.
pub struct LastWord<S: AsyncRead + AsyncWrite + Unpin> {
    stream: S,
    owed: Owed,
    heard: Heard,
    patience: Duration,
    // Runs while the client does not read.
    stalled: Option<Pin<Box<Sleep>>>,
}

/// Whether the request that is read was heard to its end. Shared by a connection and whoever serves its requests.
#[derive(Clone, Debug, Default)]
pub struct Heard(Arc<AtomicBool>);

impl Heard {
    /// It was: from here on its answer is the only word on it.
    pub fn whole(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_whole(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn next(&self) {
        self.0.store(false, Ordering::Release);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Owed {
    /// Nothing was read since the last answer.
    Nothing,
    /// A request, or a part of one, was read.
    Answer,
    /// The connection is framed.
    Framed,
}

impl<S: AsyncRead + AsyncWrite + Unpin> LastWord<S> {
    /// Watches over a fresh stream, whose client has `patience` to read on.
    pub fn new(stream: S, heard: Heard, patience: Duration) -> Self {
        Self { stream, owed: Owed::Nothing, heard, patience, stalled: None }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for LastWord<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().get(before..).unwrap_or_default();
        if !read.is_empty() && self.owed == Owed::Nothing {
            self.owed = if read.starts_with(PREFACE_START) { Owed::Framed } else { Owed::Answer };
        }
        polled
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LastWord<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(polled, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(polled, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.say_last_word();
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> LastWord<S> {
    fn note(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_pending() {
            let patience = self.patience;
            let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
            return stalled.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        self.stalled = None;
        if matches!(written, Poll::Ready(Ok(1..))) && self.owed == Owed::Answer {
            self.owed = Owed::Nothing;
            self.heard.next();
        }
        written
    }

    fn say_last_word(&mut self) {
        if self.owed == Owed::Answer && !self.heard.is_whole() {
            self.owed = Owed::Nothing;
            // Nothing was written before, so there is room for it; a client that has gone does not hear it.
            let mut now = Context::from_waker(noop_waker_ref());
            let mut stream = Pin::new(&mut self.stream);
            let _ = stream.as_mut().poll_write(&mut now, INCOMPLETE);
            let _ = stream.poll_flush(&mut now);
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Drop for LastWord<S> {
    fn drop(&mut self) {
        self.say_last_word();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_has_the_length_it_says() {
        let text = std::str::from_utf8(INCOMPLETE).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap()["error"]["code"], -32600);
    }
}
