//! A follower: a process of a training that follows rank 0, which writes the run.
//!
//! Rank 0 has the trainer and the run's folder, and broadcasts each order before a step; all ranks have the same
//! training. The group adds up the flat gradients in one all-reduce. All ranks get the same bits, so parameters stay
//! equal without comparison.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::plain_file;
use valleyscope_runs::{RunFolder, StopRequest, now};

use super::device::Devices;
use super::error::TrainError;
use super::group::{Group, Order};
use super::live::LiveSettings;
use super::shared_state::{give_parts, share_state};
use super::training::{Ended, TrainedSpec, Training};

/// The context of a following process.
pub(crate) struct Follower<'a> {
    pub group: Arc<Group>,
    pub devices: &'a Devices,
    /// The number of this process among those of its machine.
    pub local_rank: usize,
    pub stop: StopRequest,
    pub log: RankLog,
}

/// The log of a following process, in the run's folder if this machine has it, and on standard error.
pub(crate) struct RankLog {
    file: Option<File>,
}

impl RankLog {
    pub(crate) fn open(folder: &Path, rank: usize) -> RankLog {
        // On another machine there may be no such folder.
        let run = RunFolder::open(folder).ok();
        RankLog { file: run.and_then(|run| plain_file::open_to_append(&run.rank_log(rank)).ok()) }
    }

    pub(crate) fn say(&self, message: &str) {
        let line = format!("{} {}\n", now().strftime("%Y-%m-%dT%H:%M:%SZ"), visible(message));
        match &self.file {
            // Failing to write the log does not end a training.
            Some(file) => drop((&*file).write_all(line.as_bytes())),
            None => eprint!("{line}"),
        }
    }
}

/// Keys of the texts that rank 0 shares before the first step.
const CONFIG: &str = "config";
const DATA: &str = "data";

/// The text that replaces the data's fingerprint if the run is stopped before it has begun.
const STOPPED: &str = "";

/// Shares the config of the run with the other processes.
pub(super) fn share_config(group: &Group, text: &str) -> Result<(), TrainError> {
    group.share_text(CONFIG, text).map(drop)
}

/// Shares the fingerprint of the data with the other processes, once rank 0 has prepared them.
pub(super) fn share_data(group: &Group, fingerprint: &str) -> Result<(), TrainError> {
    group.share_text(DATA, fingerprint).map(drop)
}

/// Signals the other processes that the run is stopped before it has begun.
pub(super) fn share_stop(group: &Group) -> Result<(), TrainError> {
    group.share_text(DATA, STOPPED)?;
    group.leave_together();
    Ok(())
}

impl Follower<'_> {
    /// Receives the preset that rank 0 trains.
    pub(super) fn preset(&self) -> anyhow::Result<Preset> {
        let text = self.group.share_text(CONFIG, "")?;
        Ok(Preset::parse(&text, "the config of rank 0")?)
    }

    /// Takes part in the training of a spec, which rank 0 leads, until it ends.
    pub(super) fn run<S: TrainedSpec>(&self, spec: &S) -> anyhow::Result<Ended> {
        let device = self.devices.open(spec.common().device, self.local_rank)?;
        let backend = self.group.meet_on_devices(device)?;
        // Rank 0 has downloaded and prepared the data.
        let expected = self.group.share_text(DATA, "")?;
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
        let mut live = LiveSettings::new(spec.clone());
        let settings = share_state(&self.group, &mut training, None, &BTreeMap::new())?;
        live.adopt(&mut training, settings)?;
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
                Order::Change => live.receive(&self.group, &mut training)?,
                Order::End => break Ended::Finished,
                Order::Fail => break Ended::NotFinite,
            }
        };
        self.log.say(&format!("ended after step {}", training.step()));
        Ok(ended)
    }
}
