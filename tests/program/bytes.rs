//! The bytes that commands write, compared with those of an earlier version.

use crate::golden_bytes::expect_same_bytes;
use crate::sandbox::{Sandbox, expect_code};

#[test]
fn commands_write_the_bytes_of_before() {
    let sandbox = Sandbox::new();
    let run = |command: &str| expect_code(&sandbox.run(&command.split(' ').collect::<Vec<_>>()), 0);
    expect_same_bytes(include_str!("bytes.txt"), run, |_, file| sandbox.join(file));
}
