//! Other processes of a training on this machine, started by rank 0.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use valleyscope_runs::RunFolder;
use valleyscope_runs::plain_file;

use super::c10d::Bind;
use super::rank_env::{LOOPBACK, RankEnv};

/// The time that processes get to end before they are killed.
const LEAVE: Duration = Duration::from_secs(5);

/// Why the processes could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {count} more processes: {source}")]
pub(crate) struct StartError {
    count: usize,
    source: std::io::Error,
}

/// The processes of ranks 1 and up, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct LocalProcesses {
    children: Vec<Child>,
}

impl LocalProcesses {
    /// Starts the other processes of a training by `count` in all, each with `arguments` and this number of threads.
    /// Returns the environment of this process's rank.
    pub(crate) fn start(
        run: &RunFolder,
        count: usize,
        threads: Option<usize>,
        arguments: &[String],
    ) -> Result<(LocalProcesses, RankEnv), StartError> {
        let failed = |source| StartError { count: count - 1, source };
        let listener = TcpListener::bind((LOOPBACK, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let program = std::env::current_exe().map_err(failed)?;
        let mut processes = LocalProcesses { children: Vec::new() };
        for rank in 1..count {
            let mut command = Command::new(&program);
            command.arg("run").arg(run.path()).args(arguments);
            let numbers = [("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", count), ("MASTER_PORT", port.into())];
            command.envs(numbers.map(|(name, number)| (name, number.to_string()))).env("MASTER_ADDR", LOOPBACK);
            command.envs(threads.map(|threads| ("OMP_NUM_THREADS", threads.to_string())));
            for other in ["GLOO_SOCKET_IFNAME", "TORCHELASTIC_USE_AGENT_STORE"] {
                command.env_remove(other);
            }
            let log = plain_file::open_to_append(&run.rank_log(rank)).map_err(failed)?;
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
            end_with_parent(&mut command);
            processes.children.push(command.spawn().map_err(failed)?);
        }
        let (host, bind) = (LOOPBACK.to_owned(), Bind::Address(LOOPBACK.to_owned()));
        let (prefix, listener) = (RankEnv::PREFIX.to_owned(), Some(listener));
        Ok((processes, RankEnv { rank: 0, size: count, local_rank: 0, host, port, bind, prefix, listener }))
    }

    /// Returns a message if a process has ended without being told to.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.children.iter_mut().zip(1..).find_map(|(child, rank)| match child.try_wait() {
            Ok(Some(status)) => Some(format!("rank {rank} (process {}) ended with {status}; see its log", child.id())),
            _ => None,
        })
    }
}

/// Makes the process end when this one does, even when this one is killed.
#[cfg(target_os = "linux")]
fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before.
        if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec only `prctl` and `getppid` are called, which allocate nothing and take no lock.
    unsafe {
        command.pre_exec(ask);
    }
}

/// Does nothing: on other systems the process notices that rank 0 does not answer.
#[cfg(not(target_os = "linux"))]
fn end_with_parent(_: &mut Command) {}

impl Drop for LocalProcesses {
    fn drop(&mut self) {
        let begun = Instant::now();
        let mut live = true;
        while live && begun.elapsed() < LEAVE {
            live = self.children.iter_mut().any(|child| matches!(child.try_wait(), Ok(None)));
            std::thread::sleep(Duration::from_millis(20));
        }
        for child in &mut self.children {
            // A process that has ended cannot be killed, and need not be.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
