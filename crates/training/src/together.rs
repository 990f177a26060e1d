//! How the processes of a training are started, and how they end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::Sharing;
use valleyscope_runs::{
    Better, MetricId, MetricInfo, MetricScale, MetricSource, MetricValues, RunFolder, StopRequest, Unit,
};

use super::device::Devices;
use super::error::TrainError;
use super::follower::{Follower, RankLog};
use super::group::{Backend, Group, Joining, LocalProcesses, Place, Wait};
use super::worker::Ended;

/// The processes of a training.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Together {
    /// Train with so many processes on this machine, which share each batch [default: those of the config]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    processes: Option<u16>,
    /// The network interface for connections to processes on other machines, such as eth0 [default: the loopback device, for
    /// processes of one machine]
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// End when a process does not answer for so long, or does not come to the end of its part of a step for this and twice
    /// the time that another took for its own
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(5..))]
    timeout: u16,
    /// How GPUs exchange gradients and parameters
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
}

impl Together {
    /// The place that torchrun, SLURM or another process of this program has given this process.
    pub(super) fn place(&self) -> anyhow::Result<Option<Place>> {
        let place = Place::of_environment(self.interface.as_deref(), |name| std::env::var(name).ok())?;
        if let (Some(place), Some(processes @ 2..)) = (&place, self.processes) {
            bail!(
                "the environment says that this is process {} of {} (RANK, WORLD_SIZE), and --processes asks for {} more \
                 of each; leave --processes out where torchrun or srun starts them",
                place.rank,
                place.size,
                processes - 1
            );
        }
        Ok(place)
    }

    /// Checks that as many processes can train a preset together as are to, before any is started.
    pub(super) fn check(&self, preset: &Preset, place: Option<&Place>) -> anyhow::Result<()> {
        let asked = place.map(|place| place.size).or(self.processes.map(usize::from));
        let Some((count, workload)) = asked.zip(preset.workload()) else { return Ok(()) };
        workload.check_processes(count).map_err(anyhow::Error::msg)
    }

    fn joining(&self, sharing: Sharing) -> Joining {
        let patience = Duration::from_secs(u64::from(self.timeout));
        Joining { patience, backend: self.backend, divides_optimizer: sharing.shard_optimizer }
    }

    /// Meets the other processes as the one that leads, and starts them first where they are to be on this machine.
    pub(super) fn lead(
        &self,
        run: &RunFolder,
        place: &mut Option<Place>,
        sharing: Sharing,
        stop: &StopRequest,
    ) -> anyhow::Result<(Group, Option<LocalProcesses>)> {
        if let Some(place) = place.take() {
            return Ok((Group::join(place, self.joining(sharing), &mut || go_on(stop))?, None));
        }
        let count = self.processes.map_or(sharing.processes.get(), usize::from);
        if count == 1 {
            return Ok((Group::alone(), None));
        }
        let threads = share_processors(count);
        let timeout = self.timeout.to_string();
        let arguments = ["--timeout", &timeout, "--backend", self.backend.name()].map(str::to_owned);
        let (mut processes, place) = LocalProcesses::start(run, count, threads, &arguments)?;
        let group = Group::join(place, self.joining(sharing), &mut || {
            go_on(stop)?;
            processes.ended().map_or(Ok(()), |ended| Err(TrainError::Lost(ended)))
        });
        Ok((group?, Some(processes)))
    }

    /// Follows the process that leads, to the end of the training.
    pub(super) fn follow(
        &self,
        folder: &Path,
        place: Place,
        devices: &Devices,
        stop: &StopRequest,
    ) -> anyhow::Result<Ended> {
        let (rank, local_rank) = (place.rank, place.local_rank);
        let log = RankLog::open(folder, rank);
        log.say(&format!("rank {rank} of {}, process {}", place.size, std::process::id()));
        let joined = Group::join(place, self.joining(Sharing::none()), &mut || go_on(stop));
        let group = Arc::new(joined.inspect_err(|error| log.say(&error.to_string()))?);
        let follower = Follower { group: Arc::clone(&group), devices, local_rank, stop: stop.clone(), log };
        let outcome = follower.follow();
        let error = outcome.as_ref().err().map(|error| format!("{error:#}"));
        if let Some(error) = &error {
            follower.log.say(error);
        }
        group.end(error.as_deref());
        outcome
    }
}

/// An error where the run is to stop.
fn go_on(stop: &StopRequest) -> Result<(), TrainError> {
    if stop.is_raised() { Err(TrainError::Interrupted) } else { Ok(()) }
}

/// Gives each process of this machine as many threads, unless the environment says how many; returns them.
fn share_processors(processes: usize) -> Option<usize> {
    if std::env::var_os("OMP_NUM_THREADS").is_some() {
        return None;
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = (processors / processes).max(1);
    tch::set_num_threads(threads as i32);
    Some(threads)
}

/// Measures how the processes of a training wait for each other.
pub(super) struct Waits {
    group: Arc<Group>,
    before: Vec<Wait>,
    /// The fraction of its time that each process has waited lately; none where it has not been heard of twice.
    shares: Vec<Option<f64>>,
}

impl Waits {
    pub(super) fn new(group: Arc<Group>) -> Waits {
        let shares = vec![None; group.size()];
        Waits { group, before: Vec::new(), shares }
    }

    /// The metrics that it measures: none of a process alone.
    pub(super) fn metrics(&self) -> Vec<MetricInfo> {
        if self.group.is_alone() {
            return Vec::new();
        }
        let info = |metric: MetricId, title: &str, unit| MetricInfo {
            name: metric.name().to_owned(),
            title: title.to_owned(),
            unit,
            scale: MetricScale::Linear,
            better: Better::Neither,
            source: MetricSource::Training,
        };
        vec![
            info(MetricId::PROCESSES, "Processes", Unit::Exact),
            info(MetricId::WAIT_SHARE, "Wait for other processes", Unit::Fraction),
            info(MetricId::SLOWEST_RANK, "Slowest rank", Unit::Exact),
        ]
    }

    /// Begins to measure.
    pub(super) fn begin(&mut self) {
        self.before = self.group.waits();
    }

    /// The metrics of the last `seconds`, since this was asked before.
    pub(super) fn measure(&mut self, seconds: f64) -> MetricValues {
        if self.group.is_alone() {
            return MetricValues::default();
        }
        let now = self.group.waits();
        let own_share = ((now[0].waited_s - self.before[0].waited_s) / seconds).clamp(0.0, 1.0);
        // The others are heard of once a second: what is compared are times of their own clocks.
        for ((now, before), share) in now.into_iter().zip(&mut self.before).zip(&mut self.shares) {
            let passed = now.at_s - before.at_s;
            if passed > 0.0 {
                *share = (before.at_s > 0.0).then(|| (now.waited_s - before.waited_s) / passed).or(*share);
                *before = now;
            }
        }
        let mut values: MetricValues =
            [(MetricId::PROCESSES, self.group.size() as f64), (MetricId::WAIT_SHARE, own_share)].into();
        let shares: Option<Vec<f64>> = self.shares.iter().copied().collect();
        let least = shares.and_then(|shares| (0..shares.len()).min_by(|a, b| shares[*a].total_cmp(&shares[*b])));
        if let Some(slowest) = least {
            values.set(MetricId::SLOWEST_RANK, slowest as f64);
        }
        values
    }
}
