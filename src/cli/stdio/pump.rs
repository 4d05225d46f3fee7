//! Moves lines in and answers out. Every request gets its answer, unless the agent gave it up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::answer::{self, Came};
use super::envelope::{self, Envelope};
use super::exchange::{Answers, Exchange, ExchangeError};
use super::in_flight::{InFlight, Number};

/// Longest line, in bytes: the default of `http.body_bytes_max`.
const LINE_BYTES_MAX: u64 = 4_194_304;

/// Requests in flight; a further line is read when one of them has ended.
const REQUESTS_MAX: usize = 4_096;

/// Answers that wait for standard output.
const ANSWERS_WAITING_MAX: usize = 256;

/// How the pump is stopped before its input ends.
pub struct Stop {
    /// Cancelled when it shall read no more.
    pub told: CancellationToken,
    /// How long what is in flight may then take to be answered.
    pub patience: Duration,
}

/// What the requests in flight share.
#[derive(Clone)]
struct Shared {
    exchange: Exchange,
    answers: mpsc::Sender<String>,
    agreed: Arc<Mutex<Option<String>>>,
    in_flight: Arc<Mutex<InFlight>>,
}

/// Serves until the input ends, or until nobody takes the answers: what is done then, nobody would hear of. What is in
/// flight then is given up, as a client that leaves does. When it is told to stop, it reads no more, and what is in
/// flight may still be answered.
///
/// # Errors
/// When the input or the output fails.
pub async fn run<Input, Output>(
    exchange: Exchange,
    input: Input,
    output: Output,
    stop: Stop,
) -> std::io::Result<()>
where
    Input: AsyncRead + Unpin,
    Output: AsyncWrite + Unpin + Send + 'static,
{
    let (answers, waiting) = mpsc::channel(ANSWERS_WAITING_MAX);
    let mut writer = tokio::spawn(write(waiting, output));
    let shared = Shared { exchange, answers, agreed: Arc::default(), in_flight: Arc::default() };
    let mut requests = JoinSet::new();
    let written = tokio::select! {
        written = &mut writer => Some(written),
        read = take_in(&shared, input, &mut requests) => {
            read?;
            None
        }
        () = stop.told.cancelled() => {
            let answered = async { while requests.join_next().await.is_some() {} };
            if tokio::time::timeout(stop.patience, answered).await.is_err() {
                tracing::warn!(requests = requests.len(), "the time to drain is over; what is still open gets no answer");
            }
            None
        }
    };
    requests.shutdown().await;
    drop(shared);
    let written = match written {
        Some(written) => written,
        None => writer.await,
    };
    written.map_err(std::io::Error::other)?
}

/// Sends each line on its way, until there are no more.
async fn take_in<Input: AsyncRead + Unpin>(
    shared: &Shared,
    input: Input,
    requests: &mut JoinSet<()>,
) -> std::io::Result<()> {
    let room = Arc::new(Semaphore::new(REQUESTS_MAX));
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut input).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line).await?;
        if read == 0 {
            return Ok(());
        }
        while requests.try_join_next().is_some() {}
        if u64::try_from(line.len()).is_ok_and(|length| length > LINE_BYTES_MAX)
            && line.last() != Some(&b'\n')
        {
            skip_line(&mut input).await?;
            let message = format!("the line is longer than {LINE_BYTES_MAX} bytes");
            shared.answer(envelope::refusal(-32600, &message, None).to_string()).await;
            continue;
        }
        let agreed = shared.agreed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match envelope::read(&line, agreed.as_deref()) {
            Envelope::Blank => {}
            Envelope::Unreadable(answer) => shared.answer(answer.to_string()).await,
            Envelope::Cancelled(id) => shared.in_flight().give_up(&id),
            Envelope::Message { id, headers, handshake } => {
                let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return Ok(()) };
                let (worker, body) = (shared.clone(), Bytes::copy_from_slice(&line));
                let noted = id.as_ref().map(|id| shared.in_flight().note(id));
                let work = async move {
                    worker.serve_unless_given_up(id.as_ref(), noted, headers, body, handshake).await;
                    drop(permit);
                };
                if handshake {
                    // What follows a handshake carries its version, so it waits for it.
                    work.await;
                } else {
                    requests.spawn(work);
                }
            }
        }
    }
}

impl Shared {
    async fn serve_unless_given_up(
        &self,
        id: Option<&Value>,
        noted: Option<(Number, CancellationToken)>,
        headers: HeaderMap,
        body: Bytes,
        handshake: bool,
    ) {
        let Some((number, given_up)) = noted else {
            return self.serve(id, headers, body, handshake).await;
        };
        tokio::select! {
            () = given_up.cancelled() => {}
            () = self.serve(id, headers, body, handshake) => self.in_flight().forget(number),
        }
    }

    async fn serve(&self, id: Option<&Value>, headers: HeaderMap, body: Bytes, handshake: bool) {
        let told = match self.exchange.send(headers, body).await {
            Ok(answers) => self.pass_on(answers, id, handshake).await,
            Err(error) => Err(error),
        };
        match (told, id) {
            (Err(error), Some(id)) => self.fail(&error, id).await,
            (Err(error), None) => tracing::warn!(%error, "a notification was not taken"),
            (Ok(()), _) => {}
        }
    }

    /// Passes on what belongs to the request.
    ///
    /// # Errors
    /// When its answer was not among it.
    async fn pass_on(
        &self,
        mut answers: Answers,
        id: Option<&Value>,
        handshake: bool,
    ) -> Result<(), ExchangeError> {
        let mut answered = false;
        let mut last = Ok(());
        while let Some(text) = answers.texts.next().await {
            let text = match text {
                Ok(text) => text,
                Err(error) => {
                    last = Err(error);
                    continue;
                }
            };
            match answer::read(&text, id) {
                Came::Foreign => {
                    tracing::warn!(status = %answers.status, "what came is no message for the agent")
                }
                Came::Passing => self.answer(text).await,
                // The first is the answer; the agent could not tell a second from that of another request.
                Came::Answer | Came::Unnamed(_) if answered => {}
                Came::Answer => {
                    answered = true;
                    if handshake {
                        self.agree(&text);
                    }
                    self.answer(text).await;
                }
                Came::Unnamed(error) => {
                    answered = true;
                    let named = serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": error });
                    self.answer(named.to_string()).await;
                }
            }
        }
        match id {
            Some(_) if !answered => last.and(Err(ExchangeError::NotAnswered { status: answers.status })),
            _ => Ok(()),
        }
    }

    async fn fail(&self, error: &ExchangeError, id: &Value) {
        tracing::warn!(%error, "a request got no answer");
        self.answer(envelope::refusal(-32603, &error.to_string(), Some(id)).to_string()).await;
    }

    async fn answer(&self, answer: String) {
        // The writer is gone only when standard output is closed, and then nobody reads.
        let _ = self.answers.send(answer).await;
    }

    fn agree(&self, answer: &str) {
        let version = serde_json::from_str::<Value>(answer)
            .ok()
            .and_then(|answer| answer["result"]["protocolVersion"].as_str().map(str::to_owned));
        if version.is_some() {
            *self.agreed.lock().unwrap_or_else(PoisonError::into_inner) = version;
        }
    }

    fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn skip_line<Input: AsyncRead + Unpin>(input: &mut BufReader<Input>) -> std::io::Result<()> {
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(());
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(available.len(), |index| index + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

async fn write<Output: AsyncWrite + Unpin>(
    mut answers: mpsc::Receiver<String>,
    mut output: Output,
) -> std::io::Result<()> {
    while let Some(mut answer) = answers.recv().await {
        answer.push('\n');
        output.write_all(answer.as_bytes()).await?;
        if answers.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}
