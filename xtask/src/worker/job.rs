//! Running long commands with visible progress, until they end or are cancelled.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use valleyscope_machine::{SetUp, SetUpState};

use crate::{Stop, say};

fn cancelled() -> Stop {
    let message = "The set-up of the training worker was cancelled.".to_owned();
    Stop { message, code: 130, state: SetUpState::Cancelled }
}

pub struct Job<'a> {
    pub session: &'a SetUp,
    /// Whether no user watches. Then the output is written to a log, and progress is read from the commands' output.
    pub detached: bool,
    /// The current step, counted from 1, and the number of steps.
    pub step: (u32, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdout {
    Shown,
    Captured,
}

/// The interval between two checks for a request to end.
const CANCEL_CHECK: Duration = Duration::from_millis(200);
/// The interval between two reports of progress.
const MEASURE: Duration = Duration::from_secs(1);
/// The number of a failed command's last lines that are reported.
const LAST_LINES: usize = 12;

impl Job<'_> {
    /// Starts the next step and prints it.
    pub fn begin(&mut self, what: &str) -> Result<(), Stop> {
        say(what);
        self.session.report(SetUpState::Working, what, self.step, None);
        if self.session.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }

    /// Runs a command. Its stderr is passed on, and searched for cargo's progress; `percent` measures the progress of
    /// other commands. Returns the captured stdout, or fails with the last lines of a failed command.
    pub fn carry_out(
        &mut self,
        what: &str,
        command: &mut Command,
        stdout: Stdout,
        mut percent: impl FnMut() -> Option<u8>,
    ) -> Result<Result<String, String>, Stop> {
        self.begin(what)?;
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        if stdout == Stdout::Captured {
            command.stdout(Stdio::piped());
        }
        #[cfg(unix)]
        if self.detached {
            // A separate group, so that all processes that the command starts can be ended with it. In a terminal
            // Ctrl-C does that.
            std::os::unix::process::CommandExt::process_group(command, 0);
        }
        let mut child = command.spawn().map_err(|error| {
            Stop::failed(format!("cannot start {}: {error}", command.get_program().to_string_lossy()))
        })?;
        let captured = child.stdout.take().map(|mut pipe| {
            thread::spawn(move || {
                let mut text = String::new();
                // On an error, the text read before it is used.
                let _ = pipe.read_to_string(&mut text);
                text
            })
        });
        let (sender, lines) = mpsc::channel();
        let pipe = child.stderr.take().expect("stderr was asked for");
        let detached = self.detached;
        thread::spawn(move || pass_on(pipe, detached, &sender));

        let mut last_lines: Vec<String> = Vec::new();
        let mut percent_read = None;
        let mut reported = Instant::now();
        loop {
            match lines.recv_timeout(CANCEL_CHECK) {
                Ok(line) => match cargo_progress(&line) {
                    Some(percent) => percent_read = Some(percent),
                    None => last_lines.push(line),
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.session.is_cancelled() {
                self.end(&mut child);
                return Err(cancelled());
            }
            if reported.elapsed() >= MEASURE {
                self.session.report(SetUpState::Working, what, self.step, percent_read.or_else(&mut percent));
                reported = Instant::now();
            }
        }
        let status = child.wait().map_err(|error| Stop::failed(format!("{what}: {error}")))?;
        if status.success() {
            return Ok(Ok(captured.and_then(|thread| thread.join().ok()).unwrap_or_default()));
        }
        let dropped = last_lines.len().saturating_sub(LAST_LINES);
        last_lines.drain(..dropped);
        Ok(Err(format!("{}\n({status})", last_lines.join("\n"))))
    }

    /// Ends a command and the processes that it has started.
    fn end(&self, child: &mut Child) {
        #[cfg(unix)]
        if self.detached {
            let signal = |name: &str| {
                let kill = format!("kill -s {name} -- -{}", child.id());
                let _ = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
            };
            signal("TERM");
            thread::sleep(Duration::from_secs(1));
            signal("KILL");
        }
        // Killing fails if the process has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Passes a pipe's output on to stderr, and its lines to `lines`. A carriage return ends a line too: the following text
/// overwrites it. A log receives only lines that stay.
fn pass_on(mut pipe: impl Read, to_log: bool, lines: &Sender<String>) {
    let mut buffer = [0; 4096];
    let mut line = Vec::new();
    while let Ok(length @ 1..) = pipe.read(&mut buffer) {
        // If stderr is closed, the set-up continues.
        if !to_log {
            let _ = io::stderr().write_all(&buffer[..length]);
        }
        for &byte in &buffer[..length] {
            if byte != b'\n' && byte != b'\r' {
                line.push(byte);
            } else if !line.is_empty() {
                let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
                if to_log && cargo_progress(&text).is_none() {
                    let _ = writeln!(io::stderr(), "{text}");
                }
                let _ = lines.send(text);
            }
        }
    }
    if !line.is_empty() {
        let _ = lines.send(String::from_utf8_lossy(&line).into_owned());
    }
}

/// Parses cargo's progress in percent from a progress bar: `Building [=====>     ] 12/140: tch, torch-sys`.
fn cargo_progress(line: &str) -> Option<u8> {
    let (bar, rest) = line.split_once("] ")?;
    if !bar.contains("Building") || !bar.contains('[') {
        return None;
    }
    let (done, rest) = rest.split_once('/')?;
    let all: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let (done, all): (u64, u64) = (done.trim().parse().ok()?, all.parse().ok()?);
    u8::try_from(done * 100 / all.max(1)).ok().filter(|percent| *percent <= 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_cargos_progress() {
        assert_eq!(cargo_progress("    Building [=====>     ] 35/140: tch, torch-sys(build)"), Some(25));
        assert_eq!(cargo_progress("\u{1b}[1m\u{1b}[96m    Building\u{1b}[0m [====] 140/140"), Some(100));
        assert_eq!(cargo_progress("   Compiling tch v0.24.0"), None);
        assert_eq!(cargo_progress("error[E0308]: mismatched types [a] 3/4"), None);
        assert_eq!(cargo_progress("    Building [==>  ] 3/"), None);
    }

    #[test]
    fn lines_end_at_line_feeds_and_carriage_returns() {
        let (sender, lines) = mpsc::channel();
        pass_on(&b"one\r\ntwo\rthree"[..], true, &sender);
        drop(sender);
        assert_eq!(lines.iter().collect::<Vec<_>>(), ["one", "two", "three"]);
    }
}
