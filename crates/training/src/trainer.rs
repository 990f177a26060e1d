//! Runs a training of any workload: steps, events, evaluations, checkpoints, commands.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, bail};
use valleyscope_engine::terminal_escape::visible;
use valleyscope_experiments::workload::{Course, NotFinite, RunSpec};
use valleyscope_runs::checkpoint::orphans;
use valleyscope_runs::{
    Checkpoint, CheckpointOrigin, Event, MetricId, MetricInfo, MetricValues, RunCommand, RunSession, SessionError,
    SettingChange, Started, StopRequest,
};

use super::checkpoint::{self, OwnedTensors};
use super::device::Usage;
use super::error::{CheckpointError, TrainError};
use super::follower::{like_whole, own_parts, share_state, state_with, whole_state};
use super::group::{Group, Order, WaitMetrics};
use super::losses::{LossSpikes, LossWindow, StepWork};
use super::optimizer::FlatOptimizer;
use super::probe::Probe;
use super::training::{Check, Ended, LiveSettings, Training};

const CHECKPOINTS: &str = "cannot save or read a checkpoint";

pub(crate) struct Trainer<'a, T: Training> {
    pub(super) course: Course,
    pub(super) live: LiveSettings<T::Spec>,
    pub(super) run: &'a mut T,
    pub(super) session: &'a mut RunSession,
    stop: &'a StopRequest,
    origin: CheckpointOrigin,
    best: Option<(u64, f64)>,
    window: LossWindow,
    warned: bool,
    spikes: LossSpikes,
    saved: Option<u64>,
    /// The steps after which settings were changed. Their checkpoints stay until the run finishes.
    changed: Vec<u64>,
    /// The tensors of the checkpoint from which the run resumes, until the other processes have received their parts.
    restored: Option<OwnedTensors>,
    received: ReceivedCommands,
    pub(super) instruments: Instruments,
    /// The processes that train together, led by this one.
    pub(super) group: Arc<Group>,
}

/// Measurements common to all trainings, besides the training's own metrics.
pub(crate) struct Instruments {
    probe: Probe,
    pub(super) usage: Usage,
    waits: WaitMetrics,
}

impl Instruments {
    pub(super) fn new(run: &impl Training, usage: Usage, waits: WaitMetrics) -> Result<Instruments, TrainError> {
        let (parameters, layout, _) = run.optimized();
        Ok(Instruments { probe: Probe::new(layout, parameters)?, usage, waits })
    }

    /// Lists the metrics that they measure of a training with this optimizer.
    pub(crate) fn metrics(&self, optimizer: &FlatOptimizer) -> impl Iterator<Item = MetricInfo> {
        self.usage.metrics().into_iter().chain(self.waits.metrics()).chain(self.probe.metrics(optimizer))
    }
}

/// Commands received during a step, to be carried out after it.
#[derive(Default)]
struct ReceivedCommands {
    commands: Vec<(String, RunCommand)>,
    /// The error after which no more commands can be received.
    failure: Option<SessionError>,
}

impl<'a, T: Training> Trainer<'a, T> {
    pub(crate) fn new(
        spec: T::Spec,
        run: &'a mut T,
        session: &'a mut RunSession,
        stop: &'a StopRequest,
        origin: CheckpointOrigin,
        instruments: Instruments,
        group: Arc<Group>,
    ) -> Self {
        Trainer {
            course: spec.common().course,
            live: LiveSettings::new(spec),
            run,
            session,
            stop,
            origin,
            best: None,
            window: LossWindow::default(),
            warned: false,
            spikes: LossSpikes::default(),
            saved: None,
            changed: Vec::new(),
            restored: None,
            received: ReceivedCommands::default(),
            instruments,
            group,
        }
    }

    /// Goes back to the newest readable checkpoint, with a warning for each unreadable one. A run without checkpoints
    /// starts again at step 0; a run with unusable checkpoints does not, as that would lose its training.
    ///
    /// It records its description again if `again` is given.
    pub(crate) fn resume(&mut self, again: Option<Started>, mut warnings: Vec<String>) -> anyhow::Result<()> {
        let mut wall_s = 0.0;
        let mut unusable = Vec::new();
        let like = like_whole(&self.group, self.run)?;
        let expected = state_with(self.run, &like);
        for step in checkpoint::steps(self.session.run()).context(CHECKPOINTS)?.into_iter().rev() {
            let forked = self.session.before().forked();
            match checkpoint::load(self.session.run(), step, forked, &self.origin, &expected) {
                Ok((checkpoint, tensors)) => {
                    let step_work = self.restore_settings(&checkpoint)?;
                    let own = own_parts(&self.group, &tensors)?;
                    self.run.restore(step, &checkpoint.progress(), &own)?;
                    self.restored = self.group.divides_optimizer().then_some(tensors);
                    self.best = checkpoint.best;
                    self.window = LossWindow::restored(&checkpoint, step_work);
                    self.saved = Some(step);
                    wall_s = checkpoint.wall_s;
                    break;
                }
                Err(error) => unusable.push(format!("the checkpoint of step {step} cannot be used: {error}")),
            }
        }
        if let (None, Some(forked)) = (self.saved, self.session.before().forked()) {
            bail!("{}", forked.lost(unusable.first()));
        }
        if let (None, Some(newest)) = (self.saved, unusable.first()) {
            bail!(
                "{newest}, and neither can an older one; start a new run, or delete all files checkpoint-* of this one \
                 to train it from the beginning"
            );
        }
        if self.saved.is_none() && (self.session.before().may_have_checkpoints() || self.saves_nothing()) {
            if !orphans(self.session.run()).unwrap_or_default().is_empty() {
                bail!(
                    "the run has tensors of checkpoints without the files checkpoint-*.ron that say what they are; put \
                     those back, or delete all files checkpoint-* to train it from the beginning"
                );
            }
            let gone = match self.session.before().checkpoints() {
                [] => "there is no checkpoint",
                _ => "the run's checkpoints are gone",
            };
            warnings.push(format!("{gone}; it begins again at step 0"));
        }
        warnings.extend(unusable);
        warnings.extend(self.undone_changes());
        let before = self.session.before().until(self.run.step());
        self.course.steps = before.steps().unwrap_or(self.course.steps);
        self.changed = before.changes().iter().map(|(step, _)| *step).collect();
        self.session.resume(self.run.step(), wall_s)?;
        if let Some(started) = again {
            let started = Started { steps: self.course.steps, ..started };
            self.session.record(self.run.step(), Event::Started(started))?;
        }
        for message in warnings {
            self.session.record(self.run.step(), Event::Warning { message })?;
        }
        Ok(())
    }

    /// Trains to the end, or until a request to stop.
    pub(crate) fn go(&mut self) -> anyhow::Result<Ended> {
        let ended = match self.train() {
            Err(error) if matches!(error.downcast_ref(), Some(TrainError::Interrupted)) => {
                self.handle_commands()?;
                self.save()?;
                Ended::Stopped
            }
            outcome => outcome?,
        };
        self.order(if ended == Ended::NotFinite { Order::Fail } else { Order::End })?;
        Ok(ended)
    }

    fn train(&mut self) -> anyhow::Result<Ended> {
        checkpoint::clear(self.session.run());
        if self.run.step() == 0 && self.saved.is_none() {
            self.run.start()?;
        }
        share_state(&self.group, self.run, self.restored.take(), self.live.changed())?;
        self.session.begin_training();
        self.instruments.waits.begin();
        if self.lacks_evaluation() {
            self.evaluate()?;
        }
        while self.run.step() < self.course.steps {
            if self.is_probed(self.run.step() + 1) {
                let (parameters, ..) = self.run.optimized();
                self.instruments.probe.begin(parameters)?;
            }
            let loss = self.with_all(Order::Step, T::advance)?;
            let course = self.course;
            let step = self.run.step();
            let last = step == self.course.steps;
            self.window.add(loss, self.step_work())?;
            let due = |every: u64| last || step.is_multiple_of(every);
            if due(course.log_every) {
                let finite = self.log()?;
                if !finite && course.not_finite == NotFinite::Stop {
                    // A checkpoint of this step would replace a good one, and could not be continued.
                    return Ok(Ended::NotFinite);
                }
            }
            if let Some(measure) = self.run.measured() {
                self.session.record(step, Event::Measure(measure))?;
            }
            let begun = self.session.wall_s();
            // Before the evaluation, which may save a checkpoint: later events are lost when the worker is killed.
            if course.sample_every.is_some_and(due) {
                self.sample()?;
            }
            if due(course.eval_every) {
                self.evaluate()?;
            }
            if due(course.checkpoint_every) {
                self.save()?;
            }
            // The rate of training counts only steps.
            self.window.wall_s += self.session.wall_s() - begun;
            if (self.handle_commands()? || self.stop.is_raised()) && self.run.step() < self.course.steps {
                self.save()?;
                return Ok(Ended::Stopped);
            }
        }
        self.save()?;
        self.changed.clear();
        self.tidy()?;
        Ok(Ended::Finished)
    }

    pub(super) fn step_work(&self) -> StepWork {
        StepWork { amount: self.run.rate().1, operations: self.instruments.usage.step_operations }
    }

    /// Whether the point of the training curve after this step includes the costlier metrics: the first and then every
    /// tenth does.
    fn is_probed(&self, step: u64) -> bool {
        step.is_multiple_of(self.course.log_every) && (step / self.course.log_every) % 10 == 1
    }

    /// Broadcasts an order to all processes. Stops if one of them was asked to stop, for example by the system that
    /// started it.
    pub(super) fn order(&mut self, order: Order) -> Result<(), TrainError> {
        let (_, is_asked_to_stop) = self.group.order(order, self.stop.is_raised())?;
        if is_asked_to_stop {
            self.stop.raise();
        }
        Ok(())
    }

    /// Runs work of all processes together. Only a single process can be interrupted.
    fn with_all<V>(
        &mut self,
        order: Order,
        work: impl FnOnce(&mut T, &mut Check<'_>) -> Result<V, TrainError>,
    ) -> Result<V, TrainError> {
        if self.group.is_alone() {
            return self.interruptibly(work);
        }
        self.order(order)?;
        work(self.run, &mut || Ok(()))
    }

    /// Runs work that a request to stop interrupts with [`TrainError::Interrupted`].
    fn interruptibly<V>(
        &mut self,
        work: impl FnOnce(&mut T, &mut Check<'_>) -> Result<V, TrainError>,
    ) -> Result<V, TrainError> {
        let Trainer { run, session, stop, received, .. } = self;
        work(run, &mut || {
            received.listen(session);
            if stop.is_raised() || received.is_to_stop() { Err(TrainError::Interrupted) } else { Ok(()) }
        })
    }

    /// Whether the step from which the run resumes was evaluated, but the event is lost.
    fn lacks_evaluation(&self) -> bool {
        let step = self.run.step();
        let due = step > 0 && (step == self.course.steps || step.is_multiple_of(self.course.eval_every));
        let before = self.session.before();
        let last = before.evaluated().into_iter().filter_map(|info| Some(before.latest_at(info.metric()?)?.0));
        // The run that this one was forked from has evaluated the common step.
        let last = last.chain(before.forked().map(|forked| forked.from_step)).max();
        due && last.is_none_or(|last| last < step)
    }

    /// Adds a point to the training curve; returns whether its loss is finite.
    fn log(&mut self) -> anyhow::Result<bool> {
        let step = self.run.step();
        let window = &self.window;
        let loss = window.mean()?;
        let diagnostics = self.run.point()?;
        // Read after the device has finished.
        let now = self.session.wall_s();
        let (rate, _) = self.run.rate();
        let mut point = MetricValues::from([(MetricId::LOSS, loss)]);
        diagnostics.iter().for_each(|(metric, value)| point.set(metric, value));
        point.set(rate, window.work.amount / (now - window.wall_s));
        let waits = self.instruments.waits.measure(now - window.wall_s);
        waits.iter().for_each(|(metric, value)| point.set(metric, value));
        if self.is_probed(step) {
            let usage = self.instruments.usage.measure(window.work.operations, now - window.wall_s);
            let (parameters, _, optimizer) = self.run.optimized();
            let probed = self.instruments.probe.end(parameters, optimizer)?;
            usage.iter().chain(probed.iter()).for_each(|(metric, value)| point.set(metric, value));
        }
        self.session.record(step, Event::Train(point))?;
        self.window = LossWindow::beginning(now);
        if !loss.is_finite() && !self.warned {
            self.warned = true;
            let first = self.run.first_not_finite()?;
            let first = first.map_or_else(String::new, |name| format!("; `{name}` is the first that is not finite"));
            self.warn(format!("the training loss is {loss}: the run has diverged{first}"))?;
        }
        if let Some(spike) = self.spikes.next(loss) {
            self.warn(spike)?;
        }
        Ok(loss.is_finite())
    }

    /// Records a warning, in the events and in the log.
    fn warn(&mut self, message: String) -> anyhow::Result<()> {
        let step = self.run.step();
        eprintln!("step {step}: {}", visible(&message));
        Ok(self.session.record(step, Event::Warning { message })?)
    }

    fn evaluate(&mut self) -> anyhow::Result<()> {
        let step = self.run.step();
        let evaluation = self.with_all(Order::Evaluate, T::evaluate)?;
        let loss = evaluation.iter().next().map_or(f64::NAN, |(_, loss)| loss);
        if loss.is_finite() && self.best.is_none_or(|(_, best)| loss < best) {
            self.best = Some((step, loss));
            // The checkpoint of this step lacks the evaluation.
            self.saved = None;
        }
        self.session.record(step, Event::Eval(evaluation))?;
        // A new best model must be saved.
        if self.best.is_some_and(|(best, _)| best == step) { self.save() } else { Ok(()) }
    }

    /// Records the text that the model generates at intervals. A diverged model that cannot generate one continues
    /// training.
    fn sample(&mut self) -> anyhow::Result<()> {
        let Some(request) = self.run.usual_sample() else { return Ok(()) };
        match self.interruptibly(|run, check| run.sample(&request, run.step(), check)) {
            Ok(text) => Ok(self.session.record(self.run.step(), Event::Sample { text })?),
            Err(TrainError::Interrupted) => Err(TrainError::Interrupted.into()),
            Err(error) => self.warn(format!("no sample: {error}")),
        }
    }

    /// Gathers the tensors of a checkpoint if the processes have parts of them.
    fn whole_state(&mut self) -> Result<Option<OwnedTensors>, TrainError> {
        if !self.group.divides_optimizer() {
            return Ok(None);
        }
        self.order(Order::Gather)?;
        whole_state(&self.group, self.run).map(Some)
    }

    fn saves_nothing(&self) -> bool {
        self.course.checkpoint_every == 0
    }

    /// Saves a checkpoint, unless this step has one.
    fn save(&mut self) -> anyhow::Result<()> {
        self.save_with(self.live.changed().clone())
    }

    /// Saves a checkpoint with these changed settings, unless this step has one.
    pub(super) fn save_with(&mut self, settings: BTreeMap<String, f64>) -> anyhow::Result<()> {
        let step = self.run.step();
        if self.saved == Some(step) || self.saves_nothing() {
            return Ok(());
        }
        // A run must never resume from a later step than its curve reaches.
        self.session.sync()?;
        let mut checkpoint = Checkpoint::new(
            step,
            self.session.wall_s(),
            self.run.optimized().2.progress(),
            self.best,
            self.origin.clone(),
        );
        checkpoint.since = self.window.saved()?;
        checkpoint.settings = settings;
        let whole = self.whole_state()?;
        let tensors = whole.as_ref().map_or_else(|| self.run.tensors(), |whole| state_with(self.run, whole).tensors);
        let saved = checkpoint::save(checkpoint, self.session.run(), tensors);
        let file = match saved {
            Err(CheckpointError::File { path, source }) => return Err(self.session.failure(path, source).into()),
            saved => saved.context(CHECKPOINTS)?,
        };
        self.saved = Some(step);
        self.session.record(step, Event::Checkpoint { file })?;
        self.tidy()
    }

    /// Removes the checkpoints that are no longer needed.
    fn tidy(&self) -> anyhow::Result<()> {
        let is_kept = |step: u64| {
            self.best.is_some_and(|(best, _)| best == step)
                || self.course.keep_every.is_some_and(|every| step.is_multiple_of(every))
                || self.changed.contains(&step)
        };
        checkpoint::tidy(self.session.run(), self.run.step(), is_kept).context(CHECKPOINTS)
    }

    /// Carries out the commands; returns whether one was to stop.
    fn handle_commands(&mut self) -> anyhow::Result<bool> {
        let mut stop = false;
        loop {
            // Commands may have arrived while a text was generated.
            let commands = self.received.take(self.session)?;
            if commands.is_empty() {
                return Ok(stop);
            }
            stop |= commands.iter().any(|(_, command)| *command == RunCommand::Stop);
            for (id, command) in commands {
                self.handle_command(&id, command, stop)?;
            }
        }
    }

    /// Carries out one command. A run that is to stop generates no text first.
    fn handle_command(&mut self, id: &str, command: RunCommand, is_to_stop: bool) -> anyhow::Result<()> {
        let step = self.run.step();
        let (ok, message) = match command {
            RunCommand::Stop => {
                self.save()?;
                (true, format!("stopped after step {step}"))
            }
            RunCommand::Save if self.saves_nothing() => {
                (false, "the run saves no checkpoints, as `checkpoint_every` is 0".to_owned())
            }
            RunCommand::Save => {
                self.save()?;
                (true, format!("saved step {step}"))
            }
            RunCommand::SetSteps { n } if n > step => {
                self.course.steps = n;
                return Ok(self.session.answer_steps(id, n)?);
            }
            RunCommand::SetSteps { n } => {
                (false, format!("expected more than the {step} steps that were taken, found {n}"))
            }
            RunCommand::Set { settings } => self.change_settings(settings)?,
            RunCommand::Sample(_) if is_to_stop => (false, "the run is to stop".to_owned()),
            RunCommand::Sample(request) => {
                let checked = request.check().map_err(|error| TrainError::Refused(error.to_string()));
                match checked.and_then(|()| self.interruptibly(|run, check| run.sample(&request, step, check))) {
                    Ok(text) => {
                        self.session.record(step, Event::Sample { text })?;
                        (true, "the text is written".to_owned())
                    }
                    Err(error) => (false, error.to_string()),
                }
            }
        };
        Ok(self.session.answer(id, ok, &message)?)
    }
}

impl ReceivedCommands {
    fn listen(&mut self, session: &mut RunSession) {
        match session.commands() {
            Ok(commands) => self.commands.extend(commands),
            Err(error) => self.failure = Some(error),
        }
    }

    fn is_to_stop(&self) -> bool {
        self.failure.is_some() || self.commands.iter().any(|(_, command)| *command == RunCommand::Stop)
    }

    fn take(&mut self, session: &mut RunSession) -> Result<Vec<(String, RunCommand)>, SessionError> {
        self.listen(session);
        self.failure.take().map_or_else(|| Ok(std::mem::take(&mut self.commands)), Err)
    }
}

impl<T: Training> Trainer<'_, T> {
    /// Carries out a command to change settings: saves a checkpoint of the training before the change, records the
    /// change, and continues with it. Refused settings change nothing. Returns the answer.
    fn change_settings(&mut self, settings: BTreeMap<String, f64>) -> anyhow::Result<(bool, String)> {
        let (step, before, mut settings) = (self.run.step(), self.live.changed().clone(), settings);
        let steps = settings.get(SettingChange::STEPS).copied();
        if let Some(steps) = steps.filter(|steps| *steps <= step as f64) {
            return Ok((false, format!("expected more than the {step} steps that were taken, found {steps}")));
        }
        // A command `SetSteps` changes the end of the run and not the spec.
        let steps = steps.filter(|steps| *steps != self.course.steps as f64);
        if steps.is_none() {
            settings.remove(SettingChange::STEPS);
        }
        let mut changes = match self.live.adopt(self.run, settings.clone()) {
            Err(TrainError::Refused(why)) => return Ok((false, why)),
            outcome => outcome?,
        };
        if let Some(steps) = steps {
            changes.retain(|change| change.name != SettingChange::STEPS);
            changes.push(SettingChange::of_steps(self.course.steps, steps));
        }
        if changes.is_empty() {
            return Ok((true, "these settings are in force already".to_owned()));
        }
        self.save_with(before)?;
        self.changed.push(step);
        let message = format!("{} after step {step}", SettingChange::list(&changes));
        self.session.record(step, Event::Changed { changes })?;
        self.order(Order::Change)?;
        let text = serde_json::to_string(&settings).expect("numbers and names are text");
        self.group.share_text(&text)?;
        self.course.steps = steps.map_or(self.course.steps, |steps| steps as u64);
        self.count_operations();
        Ok((true, message))
    }

    /// Restores the settings that were in force after the step of the checkpoint from which the run resumes: those of
    /// the checkpoint, and those that were changed after it was saved. Returns the work of a step before the
    /// checkpoint.
    fn restore_settings(&mut self, checkpoint: &Checkpoint) -> Result<StepWork, TrainError> {
        self.put_back(checkpoint.settings.clone())?;
        let work = self.step_work();
        let since = self.session.before().changes().iter().filter(|(step, _)| *step == checkpoint.step);
        self.put_back(since.map(|(_, change)| (change.name.clone(), change.now)).collect())?;
        Ok(work)
    }

    fn put_back(&mut self, settings: BTreeMap<String, f64>) -> Result<(), TrainError> {
        self.live.adopt(self.run, settings).map_err(|error| match error {
            TrainError::Refused(why) => TrainError::Refused(format!(
                "the settings that were changed while the run was trained cannot be used: {why}"
            )),
            other => other,
        })?;
        self.count_operations();
        Ok(())
    }

    fn undone_changes(&self) -> Option<String> {
        let step = self.run.step();
        let undone = self.session.before().changes().iter().filter(|(at, _)| *at > step);
        let undone: Vec<String> = undone.map(|(at, change)| format!("{} of step {at}", change.text())).collect();
        (!undone.is_empty()).then(|| {
            let list = undone.join(", ");
            format!("the run goes back to step {step}, which undoes {list}; set that again if it is still wanted")
        })
    }

    fn count_operations(&mut self) {
        self.instruments.usage.step_operations = self.live.step_operations(&self.group);
    }
}
