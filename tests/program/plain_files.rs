//! Files that are not regular are refused at once, and nothing is written through them.

#![cfg(unix)]

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use tempfile::TempDir;
use valleyscope_runs::plain_file::{Links, open, open_to_append, open_to_write, read, read_text};

use crate::sandbox::make_fifo;

fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

fn refusal<T>(outcome: std::io::Result<T>) -> String {
    let error = outcome.err().expect("it is refused");
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    error.to_string()
}

#[test]
fn a_link_is_refused_and_its_target_unchanged() {
    let folder = folder();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    fs::write(&target, "precious").unwrap();
    symlink(&target, &link).unwrap();
    let expected = "expected a plain file, found a symbolic link";
    assert_eq!(refusal(open(&link, Links::Refused)), expected);
    assert_eq!(refusal(open_to_write(&link)), expected);
    assert_eq!(refusal(open_to_append(&link)), expected);
    assert_eq!(read_text(&link, Links::Followed, 100).unwrap(), "precious");
    // A dangling link does not create its target.
    let nowhere = folder.path().join("nowhere");
    symlink(folder.path().join("not-there"), &nowhere).unwrap();
    assert_eq!(refusal(open_to_write(&nowhere)), expected);
    assert!(!folder.path().join("not-there").exists());
}

#[test]
fn a_fifo_a_socket_a_device_and_a_folder_are_refused_at_once() {
    let folder = folder();
    let pipe = folder.path().join("fifo");
    make_fifo(&pipe);
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    for links in [Links::Refused, Links::Followed] {
        assert_eq!(refusal(open(&pipe, links)), "expected a plain file, found a FIFO");
        assert_eq!(refusal(open(&socket, links)), "expected a plain file, found a socket");
        assert_eq!(refusal(open(Path::new("/dev/zero"), links)), "expected a plain file, found a device");
        assert_eq!(refusal(open(folder.path(), links)), "expected a plain file, found a folder");
    }
    assert_eq!(refusal(open_to_write(&pipe)), "expected a plain file, found a FIFO");
    assert_eq!(refusal(open_to_append(&pipe)), "expected a plain file, found a FIFO");
}

#[test]
fn plain_files_are_made_and_appended_to_and_read_up_to_a_limit() {
    let folder = folder();
    let path = folder.path().join("file");
    assert_eq!(open(&path, Links::Refused).unwrap_err().kind(), ErrorKind::NotFound);
    open_to_write(&path).unwrap().write_all(b"one ").unwrap();
    open_to_append(&path).unwrap().write_all(b"two").unwrap();
    assert_eq!(read_text(&path, Links::Refused, 7).unwrap(), "one two");
    assert_eq!(read(&path, Links::Refused, 6).unwrap_err().kind(), ErrorKind::FileTooLarge);
    fs::write(&path, b"ab\xff").unwrap();
    let error = read_text(&path, Links::Refused, 100).unwrap_err();
    assert_eq!(error.to_string(), "expected UTF-8, found other bytes after 2 bytes");
}
