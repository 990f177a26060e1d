//! One HTTP request, in a thread of its own, so that the caller can stop waiting at any time.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::http::{HeaderMap, StatusCode, header};

/// The parts of a server's response, in this order.
pub(super) enum ServerResponse {
    /// Content follows from this byte on, with the length of the file if that is known.
    Begins {
        from: u64,
        total: Option<u64>,
    },
    /// The file does not have the requested part.
    NoSuchPart,
    /// No content follows.
    Status(StatusCode),
    Bytes(Vec<u8>),
    End,
}

pub(super) struct HttpRequest {
    answers: Receiver<Result<ServerResponse, String>>,
    heard: std::cell::Cell<Instant>,
    patience: Duration,
}

/// The number of bytes passed on at once, and the capacity of the channel.
const CHUNK: usize = 1 << 16;
const WAITING: usize = 8;

impl HttpRequest {
    /// Requests the content of `url` from byte `from` on.
    pub(super) fn send(url: String, from: u64, patience: Duration) -> HttpRequest {
        let (sender, answers) = sync_channel(WAITING);
        thread::spawn(move || {
            // If the receiver was dropped, nobody needs the error.
            if let Err(reason) = get(&url, from, patience, &sender) {
                let _ = sender.send(Err(reason));
            }
        });
        HttpRequest { answers, heard: Instant::now().into(), patience }
    }

    /// Returns the next part of the response if it arrives within the time; an error if the connection broke, or
    /// nothing arrived for too long.
    pub(super) fn wait(&self, time: Duration) -> Result<Option<ServerResponse>, String> {
        match self.answers.recv_timeout(time) {
            Ok(answer) => {
                self.heard.set(Instant::now());
                answer.map(Some)
            }
            Err(RecvTimeoutError::Timeout) if self.heard.get().elapsed() < self.patience => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(format!("said nothing for {:?}", self.patience)),
            Err(RecvTimeoutError::Disconnected) => Err("the connection broke".to_owned()),
        }
    }
}

fn get(
    url: &str,
    from: u64,
    patience: Duration,
    answers: &SyncSender<Result<ServerResponse, String>>,
) -> Result<(), String> {
    // The caller gives up after that time; these limits end the thread soon after.
    let limit = Some(patience);
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .user_agent(concat!("valleyscope/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(limit)
        .timeout_connect(limit)
        .timeout_recv_response(limit)
        .timeout_per_read(limit)
        // A redirection is followed on a connection of its own: the last one may be about to end unannounced.
        .max_idle_connections(0)
        .build()
        .into();
    let mut request = agent.get(url).header(header::ACCEPT_ENCODING, "identity");
    if from > 0 {
        request = request.header(header::RANGE, format!("bytes={from}-"));
    }
    let mut response = request.call().map_err(|error| error.to_string())?;
    let answer = match response.status() {
        StatusCode::OK => {
            ServerResponse::Begins { from: 0, total: number(response.headers().get(header::CONTENT_LENGTH)) }
        }
        StatusCode::PARTIAL_CONTENT => {
            begins(response.headers()).ok_or("did not say which part of the file it sent")?
        }
        StatusCode::RANGE_NOT_SATISFIABLE => ServerResponse::NoSuchPart,
        status => ServerResponse::Status(status),
    };
    let has_content = matches!(answer, ServerResponse::Begins { .. });
    if answers.send(Ok(answer)).is_err() || !has_content {
        return Ok(());
    }
    let mut reader = response.body_mut().as_reader();
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = reader.read(&mut buffer).map_err(|error| error.to_string())?;
        let answer = if count == 0 { ServerResponse::End } else { ServerResponse::Bytes(buffer[..count].to_vec()) };
        if answers.send(Ok(answer)).is_err() || count == 0 {
            return Ok(());
        }
    }
}

/// Parses `Content-Range: bytes FROM-TO/TOTAL`.
fn begins(headers: &HeaderMap) -> Option<ServerResponse> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (part, total) = range.split_once('/')?;
    let (from, _) = part.split_once('-')?;
    Some(ServerResponse::Begins { from: from.trim().parse().ok()?, total: total.trim().parse().ok() })
}

fn number(value: Option<&header::HeaderValue>) -> Option<u64> {
    value?.to_str().ok()?.trim().parse().ok()
}
