//! A process of a training that follows rank 0, which writes the run.
//!
//! Rank 0 has the trainer and the run's folder, and sends each order before a step; all ranks have the same training.
//! The group adds up the gradients, flat, in one all-reduce. All ranks get the same bits, so parameters stay equal
//! without being compared.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::plain_file;
use valleyscope_runs::{RunFolder, StopRequest, Timestamp};

use super::device::Devices;
use super::error::TrainError;
use super::group::{Group, Order};
use super::shared_state::{give_parts, share_state};
use super::training::{TrainedSpec, Training, trained};
use super::worker::Ended;

/// What a process that follows works with.
pub struct Follower<'a> {
    pub group: Arc<Group>,
    pub devices: &'a Devices,
    /// The number of this process among those of its machine.
    pub local_rank: usize,
    pub stop: StopRequest,
    pub log: RankLog,
}

/// The log of a process that follows, in the run's folder where this machine has it, and on its standard error.
pub struct RankLog {
    file: Option<File>,
}

impl RankLog {
    pub fn open(folder: &Path, rank: usize) -> RankLog {
        // On another machine the run may be in no folder.
        let run = RunFolder::open(folder).ok();
        RankLog { file: run.and_then(|run| plain_file::open_to_append(&run.rank_log(rank)).ok()) }
    }

    pub fn say(&self, message: &str) {
        let line = format!("{} {}\n", Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ"), visible(message));
        match &self.file {
            // A log that cannot be written is no reason to end a training.
            Some(file) => drop((&*file).write_all(line.as_bytes())),
            None => eprint!("{line}"),
        }
    }
}

/// The keys of what rank 0 says to all before the first step.
pub(super) mod key {
    pub(crate) const CONFIG: &str = "config";
    pub(crate) const DATA: &str = "data";
    pub(crate) const PROGRESS: &str = "progress";
}

/// What rank 0 says in place of the data's fingerprint where the run is stopped before it has begun.
const STOPPED: &str = "";

/// Tells the other processes the config of the run.
pub(super) fn share_config(group: &Group, text: &str) -> Result<(), TrainError> {
    group.share_text(key::CONFIG, text).map(drop)
}

/// Tells the other processes which data are to be used, when they are there.
pub(super) fn share_data(group: &Group, fingerprint: &str) -> Result<(), TrainError> {
    group.share_text(key::DATA, fingerprint).map(drop)
}

/// Tells the other processes that the run is stopped before it has begun.
pub(super) fn share_stop(group: &Group) -> Result<(), TrainError> {
    group.share_text(key::DATA, STOPPED)?;
    group.leave_together();
    Ok(())
}

impl Follower<'_> {
    /// Takes part in the training that rank 0 leads, to its end.
    pub fn follow(&self) -> anyhow::Result<Ended> {
        let text = self.group.share_text(key::CONFIG, "")?;
        let preset = Preset::parse(&text, "the config of rank 0")?;
        trained(&preset)?.follow(self)
    }

    /// Takes part in a training.
    pub(super) fn run<S: TrainedSpec>(&self, spec: &S) -> anyhow::Result<Ended> {
        let device = self.devices.open(spec.common().device, self.local_rank)?;
        let backend = self.group.meet_on_devices(device)?;
        // Rank 0 has downloaded and prepared them before.
        let expected = self.group.share_text(key::DATA, "")?;
        if expected == STOPPED {
            self.group.leave_together();
            return Ok(Ended::Stopped);
        }
        let obtained = spec.obtain(&mut |line| self.log.say(line), &|| self.stop.is_raised());
        let obtained = obtained.map_err(anyhow::Error::from_boxed)?.ok_or(TrainError::Interrupted)?;
        if obtained.fingerprint != expected {
            let (source, found) = (obtained.source, obtained.fingerprint);
            bail!(
                "this process has other data than rank 0: expected the fingerprint {expected}, found {found} in {source}; \
                 give all machines the same data"
            );
        }
        let mut training = spec.begin(obtained.data, device)?;
        training.join(Arc::clone(&self.group))?;
        share_state(&self.group, &mut training, None)?;
        self.log.say(&format!(
            "training on {} from step {}, over {}",
            self.devices.describe(device),
            training.step(),
            backend.name()
        ));
        let mut never = || Ok(());
        let ended = loop {
            match self.group.order(Order::Step, self.stop.is_raised())?.0 {
                Order::Step => drop(training.advance(&mut never)?),
                Order::Evaluate => drop(training.evaluate(&mut never)?),
                Order::Gather => give_parts(&self.group, &training)?,
                Order::End => break Ended::Finished,
                Order::Fail => break Ended::NotFinite,
            }
        };
        self.log.say(&format!("ended after step {}", training.step()));
        Ok(ended)
    }
}
