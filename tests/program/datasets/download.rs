//! A local server of files that misbehaves on purpose.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use valleyscope_experiments::dataset::download::{Download, DownloadError, DownloadFile, DownloadProgress};

use crate::says::says;

/// A time limit long enough for any machine to answer.
const PATIENT: Duration = Duration::from_secs(60);
/// A time limit for servers that never answer, long enough for the others in the same test.
const IMPATIENT: Duration = Duration::from_secs(3);

fn content(length: usize) -> Vec<u8> {
    (0..length as u64).map(|place| (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn sum(content: &[u8]) -> String {
    format!("{:x}", Sha256::digest(content))
}

const NAME: &str = "digits.gz";
const LENGTH: usize = 300_000;

/// Gets one file of known content from the servers, in this order.
fn get(folder: &Path, servers: &[&Server], patience: Duration) -> Result<(), DownloadError> {
    let mirrors: Vec<String> = servers.iter().map(|server| server.address()).collect();
    let sha256 = sum(&content(LENGTH));
    let files = [DownloadFile { name: NAME, bytes: LENGTH as u64, sha256: &sha256 }];
    Download { files: &files, mirrors: &mirrors, patience }.into_folder(folder, &mut |_| (), &|| false)
}

fn start(way: Way) -> Server {
    Server::start(&[(NAME, content(LENGTH))], way)
}

fn expect_complete(folder: &TempDir) {
    assert!(fs::read(folder.path().join(NAME)).unwrap() == content(LENGTH), "the file is another");
    assert!(!part(folder).exists(), "the part is left behind");
}

fn part(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join(format!("{NAME}.part"))
}

fn parts_asked_for(server: &Server) -> Vec<Option<usize>> {
    server.requests().into_iter().map(|(_, from)| from).collect()
}

#[test]
fn files_are_downloaded_once_with_progress() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = [content(200_000), content(70_000)];
    let server = Server::start(&[("a", first.clone()), ("b", second.clone())], Way::Good);
    let sums = [sum(&first), sum(&second)];
    let files = [
        DownloadFile { name: "a", bytes: 200_000, sha256: &sums[0] },
        DownloadFile { name: "b", bytes: 70_000, sha256: &sums[1] },
    ];
    let mirrors = [format!("{}/", server.address())];
    let download = Download { files: &files, mirrors: &mirrors, patience: PATIENT };
    let place = folder.path().join("new/place");
    for _ in 0..2 {
        let mut seen = Vec::new();
        download.into_folder(&place, &mut |at| seen.push(at), &|| false).unwrap();
        assert!(seen.is_sorted_by_key(|at| at.done), "{seen:?}");
        assert_eq!(seen.last(), Some(&DownloadProgress { done: 270_000, total: 270_000 }));
        assert_eq!(server.requests().len(), 2, "what is there is not asked for again");
    }
    assert!(fs::read(place.join("a")).unwrap() == first && fs::read(place.join("b")).unwrap() == second);
}

#[test]
fn a_cut_download_continues_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(Way::Cuts(120_000));
    get(folder.path(), &[&server], PATIENT).unwrap();
    expect_complete(&folder);
    assert_eq!(parts_asked_for(&server), [None, Some(120_000), Some(240_000)]);
}

#[test]
fn another_mirror_continues_the_first_ones_part() {
    let folder = tempfile::tempdir().unwrap();
    let [stalls, good] = [start(Way::Stalls(100_000)), start(Way::Good)];
    // This server stops sending after each 100,000 bytes, and finally stops responding.
    let silent = start(Way::Silent);
    let said = get(folder.path(), &[&silent], IMPATIENT).unwrap_err().to_string();
    assert!(said.contains("said nothing for 3s") || said.contains("timeout"), "{said}");
    fs::write(part(&folder), &content(LENGTH)[..50_000]).unwrap();
    get(folder.path(), &[&silent, &good], IMPATIENT).unwrap();
    expect_complete(&folder);
    assert_eq!(parts_asked_for(&good), [Some(50_000)]);

    let folder = tempfile::tempdir().unwrap();
    get(folder.path(), &[&stalls], IMPATIENT).unwrap();
    expect_complete(&folder);
    assert_eq!(parts_asked_for(&stalls), [None, Some(100_000), Some(200_000)]);
}

#[test]
fn a_server_without_ranges_sends_the_whole_file_again() {
    for way in [Way::IgnoresRange, Way::RefusesParts] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(part(&folder), &content(LENGTH)[..50_000]).unwrap();
        let server = start(way);
        get(folder.path(), &[&server], PATIENT).unwrap();
        expect_complete(&folder);
        assert_eq!(parts_asked_for(&server)[0], Some(50_000));
    }
}

#[test]
fn a_file_with_a_wrong_sum_is_discarded_and_the_next_mirror_tried() {
    let folder = tempfile::tempdir().unwrap();
    let [corrupts, longer, another, good] =
        [start(Way::Corrupts), start(Way::Longer), start(Way::SendsAnotherPart), start(Way::Good)];
    let endless = start(Way::EndlessChunks);
    let error = get(folder.path(), &[&corrupts, &longer, &endless], PATIENT).unwrap_err();
    let DownloadError::NoMirror { name, answers } = &error else { panic!("{error}") };
    assert_eq!(name, NAME);
    let wrong = "sent a file with another SHA-256";
    let reasons = [wrong, "has a file of 300001 bytes, expected 300000", wrong];
    let servers = [&corrupts, &longer, &endless].into_iter().zip(reasons);
    let expected: Vec<String> = servers.map(|(server, reason)| format!("{}: {reason}", server.address())).collect();
    assert_eq!(*answers, expected);
    assert!(!folder.path().join(NAME).exists());
    assert_eq!(fs::metadata(part(&folder)).unwrap().len(), 0, "nothing wrong is kept");
    fs::write(part(&folder), &content(LENGTH)[..9]).unwrap();
    get(folder.path(), &[&another, &good], PATIENT).unwrap();
    expect_complete(&folder);
}

#[test]
fn a_wrong_earlier_part_does_not_discredit_a_good_mirror() {
    for wrong in [vec![7; 1000], vec![7; LENGTH], vec![7; LENGTH + 1]] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(part(&folder), wrong).unwrap();
        let server = start(Way::Good);
        get(folder.path(), &[&server], PATIENT).unwrap();
        expect_complete(&folder);
    }
}

#[test]
fn a_file_with_another_sum_is_kept_under_another_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(NAME), "mine").unwrap();
    let [good, broken] = [start(Way::Good), start(Way::Status("500 Broken"))];
    get(folder.path(), &[&broken], PATIENT).unwrap_err();
    assert_eq!(fs::read(folder.path().join(NAME)).unwrap(), b"mine");
    get(folder.path(), &[&good], PATIENT).unwrap();
    expect_complete(&folder);
    assert_eq!(fs::read(folder.path().join(format!("{NAME}.old"))).unwrap(), b"mine");
}

#[test]
fn redirections_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let good = start(Way::Good);
    let redirects = start(Way::Redirects(good.address()));
    get(folder.path(), &[&redirects], PATIENT).unwrap();
    expect_complete(&folder);
}

#[test]
fn if_all_mirrors_fail_each_error_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = format!("http://{closed}");
    let mirrors = [
        start(Way::Status("404 Not Found")),
        start(Way::Status("500 Broken")),
        start(Way::Cuts(0)),
        start(Way::Silent),
    ];
    let looping = start(Way::Redirects(String::new()));
    let mut servers: Vec<&Server> = mirrors.iter().collect();
    servers.push(&looping);
    let said = get(folder.path(), &servers, IMPATIENT).unwrap_err().to_string();
    for server in &servers {
        assert!(said.contains(&server.address()), "{said}");
    }
    says(&said, &[NAME, "answered 404", "answered 500", "too many redirects", "try again later"]);
    let sha256 = sum(&content(LENGTH));
    let files = [DownloadFile { name: NAME, bytes: LENGTH as u64, sha256: &sha256 }];
    let download = Download { files: &files, mirrors: std::slice::from_ref(&closed), patience: IMPATIENT };
    let said = download.into_folder(folder.path(), &mut |_| (), &|| false).unwrap_err().to_string();
    assert!(said.contains(&closed) && said.to_lowercase().contains("refused"), "{said}");
}

#[test]
fn a_cancelled_download_keeps_its_part() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(Way::Stalls(100_000));
    let sha256 = sum(&content(LENGTH));
    let files = [DownloadFile { name: NAME, bytes: LENGTH as u64, sha256: &sha256 }];
    let mirrors = [server.address()];
    let seen = Mutex::new(0);
    let outcome = Download { files: &files, mirrors: &mirrors, patience: PATIENT }.into_folder(
        folder.path(),
        &mut |at| *seen.lock().unwrap() = at.done,
        &|| *seen.lock().unwrap() == 100_000,
    );
    assert!(matches!(outcome, Err(DownloadError::Cancelled)), "{outcome:?}");
    assert!(fs::read(part(&folder)).unwrap() == content(LENGTH)[..100_000]);
}

#[test]
fn simultaneous_downloads_do_not_interfere() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(Way::Cuts(20_000));
    std::thread::scope(|scope| {
        let both = [0, 1].map(|_| scope.spawn(|| get(folder.path(), &[&server], PATIENT)));
        for one in both {
            one.join().unwrap().unwrap();
        }
    });
    expect_complete(&folder);
    assert_eq!(server.requests().len(), 15, "each part is asked for once");
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_and_received_bytes_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(Way::Good);
    // A limit of 64 KiB on the size of files imitates a full disk. It needs a separate process.
    let script =
        "trap '' XFSZ; ulimit -f 128; exec \"$@\" --exact datasets::download::into_a_full_disk --ignored --nocapture";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(std::env::current_exe().unwrap());
    shell.env("MIRROR", server.address()).env("FOLDER", folder.path());
    let output = shell.output().unwrap();
    says(String::from_utf8_lossy(&output.stdout), &["said: the disk is full", "digits.gz.part takes"]);
    let kept = fs::read(part(&folder)).unwrap();
    assert!(!kept.is_empty() && content(LENGTH).starts_with(&kept));
    get(folder.path(), &[&server], PATIENT).unwrap();
    expect_complete(&folder);
}

#[test]
#[ignore = "the test above starts it in a process of its own"]
fn into_a_full_disk() {
    let [mirror, folder] = ["MIRROR", "FOLDER"].map(|name| std::env::var(name).unwrap());
    let sha256 = sum(&content(LENGTH));
    let files = [DownloadFile { name: NAME, bytes: LENGTH as u64, sha256: &sha256 }];
    let download = Download { files: &files, mirrors: &[mirror], patience: PATIENT };
    let error = download.into_folder(folder.as_ref(), &mut |_| (), &|| false).unwrap_err();
    println!("said: {error}");
}

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
