use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::{Stop, say};

/// An X server without a screen, which ends when this is dropped.
pub struct Xvfb {
    server: Child,
    number: u32,
}

impl Xvfb {
    /// Starts a server with a free display number.
    pub fn start() -> Result<Xvfb, Stop> {
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1920x1080x24", "-nolisten", "tcp"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Stop::failed(format!("xtask: cannot start Xvfb: {error}")))?;
        let stdout = server.stdout.take().expect("stdout was asked for");
        let mut line = String::new();
        // The server writes the number when it is ready, and nothing if it ends before.
        let read = BufReader::new(stdout).read_line(&mut line);
        let mut xvfb = Xvfb { server, number: 0 };
        match line.trim().parse() {
            Ok(number) => xvfb.number = number,
            Err(_) => return Err(Stop::failed(format!("xtask: Xvfb did not start ({read:?}, {line:?})"))),
        }
        say(format_args!("there is no display; the tests get {}, which is Xvfb", xvfb.display()));
        Ok(xvfb)
    }

    /// Returns the value of `DISPLAY` for its clients.
    pub fn display(&self) -> String {
        format!(":{}", self.number)
    }
}

impl Drop for Xvfb {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
