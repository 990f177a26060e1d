//! Command-line options for the processes of a training, which start and join them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::Sharing;
use valleyscope_runs::{RunFolder, StopRequest};

use super::device::Devices;
use super::error::TrainError;
use super::follower::{Follower, RankLog};
use super::group::{Backend, Group, Joining, LocalProcesses, RankEnv};
use super::trained::trained;
use super::training::Ended;

/// Command-line options for the processes of a training.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct RankArguments {
    /// Train with N processes on this machine, which share each batch [default: as in the config]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    processes: Option<u16>,
    /// The network interface for connections to processes on other machines, such as eth0 [default: the loopback
    /// device, for processes of one machine]
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Abort when a rank is silent for this long, or takes this long plus twice the slowest other rank's time for its
    /// part of a step
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(5..))]
    timeout: u16,
    /// The backend by which GPUs exchange gradients and parameters
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
}

impl RankArguments {
    /// Reads this process's rank from torchrun, SLURM or another process of this program.
    pub(super) fn rank_env(&self) -> anyhow::Result<Option<RankEnv>> {
        let rank_env = RankEnv::read(self.interface.as_deref(), |name| std::env::var(name).ok())?;
        if let (Some(rank_env), Some(processes @ 2..)) = (&rank_env, self.processes) {
            bail!(
                "the environment says that this is process {} of {} (RANK, WORLD_SIZE), and --processes asks for {} more \
                 of each; leave --processes out where torchrun or srun starts them",
                rank_env.rank,
                rank_env.size,
                processes - 1
            );
        }
        Ok(rank_env)
    }

    /// Checks that a preset can be trained by this number of processes, before any is started.
    pub(super) fn check(&self, preset: &Preset, rank_env: Option<&RankEnv>) -> anyhow::Result<()> {
        let asked = rank_env.map(|rank_env| rank_env.size).or(self.processes.map(usize::from));
        let Some((count, workload)) = asked.zip(preset.workload()) else { return Ok(()) };
        workload.check_processes(count).map_err(anyhow::Error::msg)
    }

    fn joining(&self, sharing: Sharing) -> Joining {
        let patience = Duration::from_secs(u64::from(self.timeout));
        Joining { patience, backend: self.backend, divides_optimizer: sharing.shard_optimizer }
    }

    /// Joins the other processes as rank 0, after starting those that are to run on this machine.
    pub(super) fn lead(
        &self,
        run: &RunFolder,
        rank_env: &mut Option<RankEnv>,
        sharing: Sharing,
        stop: &StopRequest,
    ) -> anyhow::Result<(Group, Option<LocalProcesses>)> {
        if let Some(rank_env) = rank_env.take() {
            return Ok((Group::join(rank_env, self.joining(sharing), &mut || go_on(stop))?, None));
        }
        let count = self.processes.map_or(sharing.processes.get(), usize::from);
        if count == 1 {
            return Ok((Group::alone(), None));
        }
        let threads = share_processors(count);
        let timeout = self.timeout.to_string();
        let arguments = ["--timeout", &timeout, "--backend", self.backend.name()].map(str::to_owned);
        let (mut processes, rank_env) = LocalProcesses::start(run, count, threads, &arguments)?;
        let group = Group::join(rank_env, self.joining(sharing), &mut || {
            go_on(stop)?;
            processes.ended().map_or(Ok(()), |ended| Err(TrainError::Lost(ended)))
        });
        Ok((group?, Some(processes)))
    }

    /// Follows rank 0 to the end of the training.
    pub(super) fn follow(
        &self,
        folder: &Path,
        rank_env: RankEnv,
        devices: &Devices,
        stop: &StopRequest,
    ) -> anyhow::Result<Ended> {
        let (rank, local_rank) = (rank_env.rank, rank_env.local_rank);
        let log = RankLog::open(folder, rank);
        log.say(&format!("rank {rank} of {}, process {}", rank_env.size, std::process::id()));
        let joined = Group::join(rank_env, self.joining(Sharing::none()), &mut || go_on(stop));
        let group = Arc::new(joined.inspect_err(|error| log.say(&error.to_string()))?);
        let follower = Follower { group: Arc::clone(&group), devices, local_rank, stop: stop.clone(), log };
        let outcome = follower.preset().and_then(|preset| trained(&preset)?.follow(&follower));
        let error = outcome.as_ref().err().map(|error| format!("{error:#}"));
        if let Some(error) = &error {
            follower.log.say(error);
        }
        group.end(error.as_deref());
        outcome
    }
}

/// Fails if the run is to stop.
fn go_on(stop: &StopRequest) -> Result<(), TrainError> {
    if stop.is_raised() { Err(TrainError::Interrupted) } else { Ok(()) }
}

/// Divides the processors among the processes of this machine, unless the environment sets the number of threads;
/// returns that number.
fn share_processors(processes: usize) -> Option<usize> {
    if std::env::var_os("OMP_NUM_THREADS").is_some() {
        return None;
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = (processors / processes).max(1);
    tch::set_num_threads(threads as i32);
    Some(threads)
}
