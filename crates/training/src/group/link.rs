//! Connecting the processes of a training, and starting those of one machine.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use tch::{Device, Tensor};
use valleyscope_runs::{RunFolder, plain_file};

use super::c10d::{Bind, Operation, ProcessGroup, Store};
use super::rank_env::{LOOPBACK, RankEnv};
use super::watch::{Watch, run_with_timeout};
use crate::error::TrainError;

/// The time limit for all processes to connect: those of a cluster do not start at once.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(300);
/// The time for which an ending process waits for the others to read its final message.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval between two checks of the others during an operation.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Link {
    /// The group for tensors in the processor's memory.
    pub(super) group: ProcessGroup,
    /// The group for tensors on a GPU, once all processes have reported one and NCCL.
    pub(super) device_group: OnceLock<Arc<ProcessGroup>>,
    pub(super) store: Arc<Store>,
    pub(super) watch: Arc<Watch>,
    pub(super) patience: Duration,
    /// The time at which the last operation ended.
    pub(super) ended: Mutex<Instant>,
    /// Whether operations belong to a step, during which waits are measured.
    pub(super) is_in_step: AtomicBool,
    /// The number of texts that rank 0 has shared.
    pub(super) texts: AtomicU64,
}

pub(super) fn lost(why: String) -> TrainError {
    TrainError::Lost(why)
}

/// Runs work that may block in a separate thread, which is abandoned if `check` fails meanwhile.
pub(super) fn run_interruptibly<V: Send + 'static>(
    work: impl FnOnce() -> V + Send + 'static,
    mut check: impl FnMut() -> Result<(), TrainError>,
) -> Result<V, TrainError> {
    let working = thread::spawn(work);
    while !working.is_finished() {
        check()?;
        thread::sleep(Duration::from_millis(10));
    }
    Ok(working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// Opens three connections to the store: for the group's texts, for the watch, and for final messages. A process with a
/// listener serves the store. c10d reports a failure within `limit`; if a silent program listens at the address, it
/// never does, and the attempt ends somewhat later.
pub(super) fn open_stores(
    rank_env: &RankEnv,
    listener: Option<TcpListener>,
    limit: Duration,
    check: &mut dyn FnMut() -> Result<(), TrainError>,
) -> Result<[Store; 3], TrainError> {
    let (host, port, prefix) = (rank_env.host.clone(), rank_env.port, rank_env.prefix.clone());
    let open = move || {
        let open = |of, listener| Store::open(&host, port, listener, &format!("{prefix}/{of}"), limit);
        Ok([open("group", listener)?, open("watch", None)?, open("watch", None)?])
    };
    let not_reached = |why: &str| {
        let (host, port) = (&rank_env.host, rank_env.port);
        lost(format!("cannot reach {host}:{port}, where the processes meet: {why}"))
    };
    let begun = Instant::now();
    // c10d, which gives up at `limit`, has 5 % more (15 s of `CONNECT_TIMEOUT`) to report why.
    let patience = limit + limit / 20;
    let opened = run_interruptibly(open, || {
        check()?;
        if begun.elapsed() < patience {
            return Ok(());
        }
        Err(not_reached(&format!(
            "nothing there has answered within {} s as rank 0 does; see that rank 0 runs, that MASTER_ADDR and MASTER_PORT \
             are the same for all processes, and that no other program listens at that port, or choose another",
            limit.as_secs_f64()
        )))
    });
    opened?.map_err(|error: String| not_reached(&error))
}

/// The key that a process sets when it has connected.
pub(super) fn connected_key(rank: usize) -> String {
    format!("here/{rank}")
}

pub(super) fn meet(store: &Store, rank: usize, size: usize) -> Result<(), TrainError> {
    let failed = |error| lost(format!("the store where the processes meet is lost: {error}"));
    store.set(&connected_key(rank), "").map_err(failed)?;
    let begun = Instant::now();
    for other in 0..size {
        while store.get(&connected_key(other)).map_err(failed)?.is_none() {
            if begun.elapsed() > CONNECT_TIMEOUT {
                let seconds = CONNECT_TIMEOUT.as_secs();
                return Err(lost(format!("rank {other} of {size} processes did not join within {seconds} s")));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

/// Blocks until the others of `size` processes have set their keys, for some seconds at most: the store ends with the
/// process that serves it.
pub(super) fn wait_for_others(store: &Store, size: usize, key: impl Fn(usize) -> String) {
    let begun = Instant::now();
    let is_set = |rank| store.get(&key(rank)).is_ok_and(|value| value.is_some());
    while begun.elapsed() < NOTICE_TIMEOUT && !(1..size).all(is_set) {
        thread::sleep(Duration::from_millis(20));
    }
}

impl Link {
    pub(super) fn wait_for_text(&self, key: &str) -> Result<String, TrainError> {
        let (store, key) = (Arc::clone(&self.store), key.to_owned());
        let wait = move || loop {
            match store.get(&key) {
                Ok(None) => thread::sleep(CHECK_INTERVAL),
                Ok(Some(text)) => return Ok(text),
                Err(error) => return Err(error),
            }
        };
        run_interruptibly(wait, || self.watch.check())?.map_err(|error| self.failed(&error))
    }

    /// Runs an operation on a tensor, or on a copy of it in the processor's memory, which Gloo needs.
    pub(super) fn exchange(
        &self,
        tensor: &mut Tensor,
        work: impl FnOnce(&ProcessGroup, &mut Tensor) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let group = match tensor.device() {
            Device::Cpu => Some(&self.group),
            _ => self.device_group.get().map(Arc::as_ref),
        };
        if let Some(group) = group.filter(|_| tensor.is_contiguous()) {
            return work(group, tensor);
        }
        let mut host = tensor.f_to_device(Device::Cpu)?.f_contiguous()?;
        work(&self.group, &mut host)?;
        Ok(tensor.f_copy_(&host)?)
    }

    /// Aborts the operations of GPUs, before which a process cannot end.
    pub(super) fn abort(&self) {
        let Some(group) = self.device_group.get().cloned() else { return };
        run_with_timeout(Duration::from_secs(5), move || group.abort());
    }

    /// Waits for an operation, and checks the other processes meanwhile. They may take longer than this one, as their
    /// parts of a step can be larger.
    pub(super) fn complete(
        &self,
        operation: Result<Operation<'_>, String>,
        patience: Option<Duration>,
    ) -> Result<(), TrainError> {
        self.watch.begin_operation();
        let begun = Instant::now();
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = patience.map(|patience| patience + 2 * ended.elapsed());
        let operation = operation.map_err(|error| self.failed(&error))?;
        while !operation.wait(CHECK_INTERVAL).map_err(|error| self.failed(&error))? {
            self.watch.check()?;
            if patience.is_some_and(|patience| begun.elapsed() > patience) {
                return Err(lost(self.watch.describe_delay(begun.elapsed())));
            }
        }
        *ended = Instant::now();
        if self.is_in_step.load(Ordering::Relaxed) {
            self.watch.add_wait(begun.elapsed());
        }
        Ok(())
    }

    pub(super) fn failed(&self, error: &str) -> TrainError {
        lost(self.watch.explain_lost_connection(error))
    }
}

/// The time that processes have to end before they are killed.
const TIME_TO_END: Duration = Duration::from_secs(5);

/// The processes of ranks 1 and up, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct LocalProcesses {
    children: Vec<Child>,
}

impl LocalProcesses {
    /// Starts the other processes of a training by `count` in all, each with `arguments` and this number of threads;
    /// returns this process's environment.
    pub(crate) fn start(
        run: &RunFolder,
        count: usize,
        threads: Option<usize>,
        arguments: &[String],
    ) -> anyhow::Result<(LocalProcesses, RankEnv)> {
        let failed = || format!("cannot start {} more processes", count - 1);
        let listener = TcpListener::bind((LOOPBACK, 0)).with_context(failed)?;
        let port = listener.local_addr().with_context(failed)?.port();
        let program = std::env::current_exe().with_context(failed)?;
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
            let log = plain_file::open_to_append(&run.rank_log(rank)).with_context(failed)?;
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
            end_with_parent(&mut command);
            processes.children.push(command.spawn().with_context(failed)?);
        }
        let (host, bind) = (LOOPBACK.to_owned(), Bind::Address(LOOPBACK.to_owned()));
        let (prefix, listener) = (RankEnv::PREFIX.to_owned(), Some(listener));
        Ok((processes, RankEnv { rank: 0, size: count, local_rank: 0, host, port, bind, prefix, listener }))
    }

    /// Describes a process that has ended without a request, if there is one.
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
        while live && begun.elapsed() < TIME_TO_END {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::c10d::Bind;

    #[test]
    fn gives_up_on_a_silent_listener() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let rank_env = RankEnv {
            rank: 1,
            size: 2,
            local_rank: 0,
            host: "127.0.0.1".to_owned(),
            port,
            bind: Bind::Address("127.0.0.1".to_owned()),
            prefix: "test".to_owned(),
            listener: None,
        };
        let begun = Instant::now();
        let refused = open_stores(&rank_env, None, Duration::from_secs(1), &mut || Ok(()));
        let error = refused.err().unwrap().to_string();
        assert!(error.contains(&format!("cannot reach 127.0.0.1:{port}, where the processes meet")), "{error}");
        assert!(error.contains("within 1 s") && error.contains("MASTER_PORT"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        // The connection succeeded: the listener has one to accept.
        assert!(silent.accept().is_ok());
    }
}
