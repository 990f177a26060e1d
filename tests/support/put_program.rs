//! Scripts that replace programs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

pub fn put_program(program: &Path, text: &str) {
    std::fs::create_dir_all(program.parent().expect("it is in a folder")).expect("it can be made");
    // Another process writes the file: a file that is open for writing cannot be started, and a process that another
    // test starts meanwhile would inherit it.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#"printf '%s\n' "$TEXT" > "$PROGRAM""#]).env("TEXT", text).env("PROGRAM", program);
    assert!(shell.status().expect("there is a shell").success());
    std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).expect("it can be made a program");
}
