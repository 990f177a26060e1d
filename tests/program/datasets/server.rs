//! A local server of files that misbehaves on purpose.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The behaviour of a server.
#[derive(Clone, Debug)]
pub enum Way {
    Good,
    /// The connection ends after so many bytes of content.
    Cuts(usize),
    /// Every file has a wrong byte.
    Corrupts,
    /// Sends the whole file, whatever part was requested.
    IgnoresRange,
    /// Sends the part that begins one byte later than requested.
    SendsAnotherPart,
    /// Answers 416 to requests for a part.
    RefusesParts,
    /// Sends a longer file.
    Longer,
    /// Sends more than the file, without a length.
    EndlessChunks,
    Status(&'static str),
    /// Redirects to a path of another server, or of this one. The connection ends a moment later, unannounced.
    Redirects(String),
    /// Accepts connections and sends nothing.
    Silent,
    /// Stops sending after so many bytes of content.
    Stalls(usize),
}

/// A request: a path, and the first byte of a part.
pub type Asked = (String, Option<usize>);

pub struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    ended: Arc<AtomicBool>,
}

impl Server {
    pub fn start(files: &[(&str, Vec<u8>)], way: Way) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server { address: listener.local_addr().unwrap(), asked: Arc::default(), ended: Arc::default() };
        let files: Vec<_> = files.iter().map(|(name, content)| (format!("/{name}"), content.clone())).collect();
        let (asked, ended) = (Arc::clone(&server.asked), Arc::clone(&server.ended));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (files, way, asked, ended) = (files.clone(), way.clone(), Arc::clone(&asked), Arc::clone(&ended));
                // A client may close the connection at any time.
                thread::spawn(move || stream.and_then(|stream| answer(stream, &files, &way, &asked, &ended)));
            }
        });
        server
    }

    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
    }
}

fn answer(
    mut stream: TcpStream,
    files: &[(String, Vec<u8>)],
    way: &Way,
    asked: &Mutex<Vec<Asked>>,
    ended: &AtomicBool,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let Some(path) = first.split(' ').nth(1).map(str::to_owned) else { return Ok(()) };
    let mut from = None;
    for line in lines {
        let line = line?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from = Some(range.trim_end_matches('-').parse().unwrap());
        }
    }
    asked.lock().unwrap().push((path.clone(), from));
    let wait = || {
        while !ended.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(10));
        }
    };
    let only_head = |status: &str, more: &str| format!("HTTP/1.1 {status}\r\n{more}Content-Length: 0\r\n\r\n");
    let Some((_, content)) = files.iter().find(|(name, _)| *name == path) else {
        let status = if let Way::Status(status) = way { status } else { "404 Not Found" };
        if matches!(way, Way::Silent) {
            wait();
        }
        return stream.write_all(only_head(status, "").as_bytes());
    };
    let mut content = content.clone();
    let whole = content.len();
    let mut part = from;
    match way {
        Way::Status(status) => return stream.write_all(only_head(status, "").as_bytes()),
        Way::Redirects(to) => {
            let location = format!("Location: {to}{path}\r\n");
            stream.write_all(only_head("302 Found", &location).as_bytes())?;
            thread::sleep(Duration::from_millis(100));
            return Ok(());
        }
        Way::RefusesParts if from.is_some() => {
            return stream.write_all(only_head("416 Range Not Satisfiable", "").as_bytes());
        }
        Way::Silent => {
            wait();
            return Ok(());
        }
        Way::EndlessChunks => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            while !ended.load(Ordering::Relaxed) {
                stream.write_all(b"4\r\nmore\r\n")?;
            }
            return Ok(());
        }
        Way::Corrupts => content[whole / 2] ^= 1,
        Way::Longer => content.push(0),
        Way::IgnoresRange => part = None,
        Way::SendsAnotherPart => part = from.map(|from| from + 1),
        Way::Good | Way::Cuts(_) | Way::RefusesParts | Way::Stalls(_) => {}
    }
    let total = content.len();
    let rest = &content[part.unwrap_or(0)..];
    let (status, range) = match part {
        Some(from) => ("206 Partial Content", format!("Content-Range: bytes {from}-{}/{total}\r\n", total - 1)),
        None => ("200 OK", String::new()),
    };
    write!(stream, "HTTP/1.1 {status}\r\n{range}Content-Length: {}\r\n\r\n", rest.len())?;
    match way {
        Way::Cuts(after) | Way::Stalls(after) => {
            stream.write_all(&rest[..rest.len().min(*after)])?;
            if matches!(way, Way::Stalls(_)) {
                wait();
            }
            Ok(())
        }
        _ => stream.write_all(rest),
    }
}
