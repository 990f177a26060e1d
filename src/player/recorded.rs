//! Recorded clouds: the positions of particles in an NPZ file, shown beside the ensembles of a simulation.

use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use valleyscope_engine::landscape::{Landscape, LandscapeSpec};
use valleyscope_engine::optimizer::{RuleKind, RuleSpec};
use valleyscope_engine::quantity::{ParticleCount, Temperature};
use valleyscope_engine::simulation::{
    Ensemble, History, OptimizerSpec, Record, Sample, Simulation, SimulationSpec, defaults,
};
use valleyscope_engine::terminal_escape::is_unseen;
use valleyscope_experiments::preset::Preset;
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::stage::{Drawing, MeanPath, Trail};
use crate::export::{ArchiveError, Element, NpzReader};

/// A cloud of a file, as it is shown beside the ensembles of a simulation.
#[derive(Clone, Debug)]
pub struct RecordedCloud {
    /// The cloud's id, name and colour among the optimizers, and the rule that made it, whose marker it has. The
    /// optimizer is disabled, as it is not simulated.
    pub optimizer: OptimizerSpec,
    pub recording: Arc<Recording>,
}

/// The positions of a cloud at the recorded steps.
#[derive(Debug)]
pub struct Recording {
    pub path: PathBuf,
    /// The index of the cloud in its file.
    pub index: usize,
    pub particles: usize,
    /// The recorded steps, ascending; at least one.
    pub steps: Vec<u64>,
    /// The positions (x, y) of all particles at the first recorded step, then at the next one, and so on.
    positions: Vec<[f64; 2]>,
    /// The session that made the cloud, and the id of its optimizer there, if the file names them.
    pub session: Option<(Record, u32)>,
}

/// The reason why a file was not opened as recorded clouds.
#[derive(Debug, thiserror::Error)]
#[error("cannot open {} as recorded clouds: {reason}", path.display())]
pub struct RecordingError {
    path: PathBuf,
    reason: String,
}

/// The array of positions, and that of the recorded steps.
const POSITIONS: &str = "positions";
const STEPS: &str = "step";
/// An array that results of a sweep have.
const OF_SWEEP: &str = "score";

impl RecordedCloud {
    /// The largest number of clouds that are shown together.
    pub const MOST: usize = 16;
    /// The largest size of all positions of a file as float64, in bytes.
    pub const MOST_BYTES: usize = 512 << 20;

    /// Returns whether a path is that of an NPZ file that holds no results of a sweep.
    pub fn is_at(path: &Path) -> bool {
        let is_npz = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"));
        let is_sweep = || {
            let archive = NpzReader::new(BufReader::new(plain_file::open(path, Links::Followed).ok()?)).ok()?;
            Some(archive.names().any(|name| name == OF_SWEEP))
        };
        is_npz && !path.is_dir() && is_sweep() != Some(true)
    }

    /// Reads the clouds of an NPZ file. Its array `positions` (float32 or float64) has the shape (particles,
    /// steps + 1, 2), or, for several clouds, (clouds, steps + 1, particles, 2), as `valleyscope simulate` writes it.
    /// An array `step` (int64), if there is one, numbers the recorded steps. The preset in `spec`, if there is one,
    /// names the clouds.
    ///
    /// # Errors
    ///
    /// Fails for another type or shape, more than [`RecordedCloud::MOST_BYTES`] of positions, too many particles or
    /// clouds, steps that do not ascend, and a cloud without any finite position.
    pub fn read(path: &Path) -> Result<Vec<RecordedCloud>, RecordingError> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let file = plain_file::open(&path, Links::Followed).map_err(|error| error.to_string());
        let clouds = file.and_then(|file| read(BufReader::new(file), &path));
        clouds.map_err(|reason| RecordingError { path, reason })
    }
}

impl Recording {
    pub fn last_step(&self) -> u64 {
        self.steps[self.steps.len() - 1]
    }

    /// Returns the index of the last recorded step up to this one, or of the first one.
    fn row(&self, step: u64) -> usize {
        self.steps.partition_point(|recorded| *recorded <= step).saturating_sub(1)
    }

    /// Returns the positions at a step: those of the last recorded one up to it.
    pub fn positions_at(&self, step: u64) -> &[[f64; 2]] {
        let first = self.row(step) * self.particles;
        &self.positions[first..first + self.particles]
    }
}

/// Reads the clouds of an archive, whose path names those without a preset.
fn read(archive: impl Read + Seek, path: &Path) -> Result<Vec<RecordedCloud>, String> {
    const HELP: &str = "an NPZ file is opened if it has `positions` of shape (particles, steps + 1, 2), as \
                        np.savez(file, positions=…) writes them, or the results of a sweep";
    let unreadable = |error: ArchiveError| format!("{error}; {HELP}");
    let mut archive = NpzReader::new(archive).map_err(unreadable)?;
    let (of_type, shape) = archive.type_and_shape(POSITIONS).map_err(|error| match error {
        ArchiveError::Missing(_) => {
            let names: Vec<String> = archive.names().filter(|name| name.len() < 40).take(10).collect();
            let found = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("expected an array `{POSITIONS}`, found {found}; {HELP}")
        }
        error => unreadable(error),
    })?;
    let layout = Layout::of(&shape)?;
    let steps = match archive.array::<i64>(STEPS, &[layout.rows]) {
        Ok(steps) => ascending(&steps)?,
        Err(ArchiveError::Missing(_)) => (0..layout.rows as u64).collect(),
        Err(error) => return Err(format!("{error}; leave it out if all steps are recorded, from 0 on")),
    };
    let positions = match of_type.as_str() {
        f32::DESCR => archive.array::<f32>(POSITIONS, &shape).map(|all| layout.clouds_of(&all)),
        f64::DESCR => archive.array::<f64>(POSITIONS, &shape).map(|all| layout.clouds_of(&all)),
        other => {
            return Err(format!(
                "its `{POSITIONS}` are of type {other}, where float32 (<f4) or float64 (<f8) was expected; convert them \
                 with .astype(np.float64)"
            ));
        }
    };
    let positions = positions.map_err(|error| format!("{error}; save a copy made with np.ascontiguousarray"))?;
    let is_finite = |[x, y]: &[f64; 2]| x.is_finite() && y.is_finite();
    if let Some(index) = positions.iter().position(|cloud| !cloud.iter().any(is_finite)) {
        return Err(format!(
            "no position of cloud {index} in `{POSITIONS}` is finite; check the program that wrote it"
        ));
    }
    let preset = archive.text("spec").ok().and_then(|text| Preset::parse(&text, "spec").ok());
    let session = match preset {
        Some(Preset::Landscape(preset)) => Some(preset.record()),
        _ => None,
    };
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let optimizers = optimizers(session.as_ref(), layout.clouds, &stem);
    let clouds = positions.into_iter().zip(optimizers).enumerate().map(|(index, (positions, (optimizer, id)))| {
        let session = session.clone().zip(id);
        let (path, particles, steps) = (path.to_owned(), layout.particles, steps.clone());
        let recording = Recording { path, index, particles, steps, positions, session };
        RecordedCloud { optimizer, recording: Arc::new(recording) }
    });
    Ok(clouds.collect())
}

/// The sizes of an array of positions.
struct Layout {
    clouds: usize,
    /// The number of recorded steps.
    rows: usize,
    particles: usize,
    /// Whether all steps of a particle follow each other.
    is_by_particle: bool,
}

impl Layout {
    fn of(shape: &[usize]) -> Result<Layout, String> {
        let layout = match *shape {
            [particles, rows, 2] => Layout { clouds: 1, rows, particles, is_by_particle: true },
            [clouds, rows, particles, 2] => Layout { clouds, rows, particles, is_by_particle: false },
            _ => {
                return Err(format!(
                    "its `{POSITIONS}` have the shape {shape:?}, where (particles, steps + 1, 2) or (clouds, steps + 1, \
                     particles, 2) was expected; transpose or reshape them"
                ));
            }
        };
        let Layout { clouds, rows, particles, .. } = layout;
        if shape.contains(&0) {
            return Err(format!(
                "its `{POSITIONS}` of shape {shape:?} are empty; record at least one step and particle"
            ));
        }
        let bytes = shape.iter().try_fold(size_of::<f64>(), |bytes, side| bytes.checked_mul(*side));
        if bytes.is_none_or(|bytes| bytes > RecordedCloud::MOST_BYTES) {
            let most = RecordedCloud::MOST_BYTES >> 20;
            return Err(format!(
                "its `{POSITIONS}` of shape {shape:?} take more than {most} MiB as float64, the most that is read; \
                 record fewer steps or particles"
            ));
        }
        if particles > ParticleCount::MAX as usize || clouds > RecordedCloud::MOST {
            return Err(format!(
                "its `{POSITIONS}` of shape {shape:?} have {clouds} clouds of {particles} particles, and at most {} of \
                 {} are shown; save fewer of them",
                RecordedCloud::MOST,
                ParticleCount::MAX
            ));
        }
        Ok(layout)
    }

    /// Returns the positions of each cloud, step by step.
    fn clouds_of<E: Element + Into<f64>>(&self, all: &[E]) -> Vec<Vec<[f64; 2]>> {
        let Layout { clouds, rows, particles, is_by_particle } = *self;
        let (pairs, _) = all.as_chunks::<2>();
        let at = |cloud: usize, row: usize, particle: usize| match is_by_particle {
            true => particle * rows + row,
            false => (cloud * rows + row) * particles + particle,
        };
        let cloud = |cloud: usize| {
            let rows = (0..rows).flat_map(|row| (0..particles).map(move |particle| (row, particle)));
            rows.map(|(row, particle)| pairs[at(cloud, row, particle)].map(Into::into)).collect()
        };
        (0..clouds).map(cloud).collect()
    }
}

/// Returns the recorded steps if they ascend from 0 or a later step.
fn ascending(steps: &[i64]) -> Result<Vec<u64>, String> {
    let all: Option<Vec<u64>> = steps.iter().map(|step| u64::try_from(*step).ok()).collect();
    all.filter(|all| all.is_sorted_by(|one, next| one < next)).ok_or_else(|| {
        format!("its `{STEPS}` do not ascend from 0 or a later step; number the recorded steps in their order")
    })
}

/// Returns the optimizers as which clouds are shown, with their ids in the session that made them. Where it does not fit
/// the clouds, these are named after the file.
fn optimizers(session: Option<&Record>, clouds: usize, stem: &str) -> Vec<(OptimizerSpec, Option<u32>)> {
    let shown = |name: &str, rule| {
        const ENDING: &str = ", recorded";
        let room = OptimizerSpec::LONGEST_NAME - ENDING.len();
        let name: String = name.chars().filter(|c| !is_unseen(*c)).take(room).chain(ENDING.chars()).collect();
        OptimizerSpec { id: 0, name: Some(name), color: None, enabled: false, rule }
    };
    let spec = session.map(|session| &session.spec);
    let simulated = spec.into_iter().flat_map(|spec| spec.optimizers.iter().zip(spec.distinct_names()));
    let simulated: Vec<_> = simulated.filter(|(optimizer, _)| optimizer.enabled).collect();
    if simulated.len() == clouds {
        return simulated.iter().map(|(optimizer, name)| (shown(name, optimizer.rule), Some(optimizer.id))).collect();
    }
    let rule = RuleSpec::on_plane(RuleKind::Sgd).rated(defaults::learning_rate());
    let name = |index: usize| if clouds == 1 { stem.to_owned() } else { format!("{stem} {}", index + 1) };
    (0..clouds).map(|index| (shown(&name(index), rule), None)).collect()
}

/// A recorded cloud beside the ensembles of a session, at the session's step.
#[derive(Clone)]
pub(super) struct RecordedEnsemble {
    pub(super) cloud: RecordedCloud,
    pub(super) ensemble: Ensemble,
    pub(super) drawing: Drawing,
    /// The diagnostics of the steps that the session has reached and the file holds, on the landscape in force.
    pub(super) history: History,
    /// The landscape and the temperature Θ of the history.
    measured: Option<(LandscapeSpec, Option<f64>)>,
    landscape: Landscape,
    /// The index of the recorded step whose positions the ensemble has, measured on the landscape.
    row: Option<usize>,
    /// The step of the trail's last column; `None` for a trail that begins anew.
    trail_end: Option<u64>,
}

impl RecordedEnsemble {
    pub(super) fn new(cloud: RecordedCloud) -> RecordedEnsemble {
        let OptimizerSpec { id, rule, .. } = cloud.optimizer;
        let ensemble = Ensemble::placed(id, rule, cloud.recording.particles);
        let drawing = Drawing { trail: Trail::new(&ensemble, 1), mean_path: MeanPath::new() };
        RecordedEnsemble {
            cloud,
            ensemble,
            drawing,
            history: History::default(),
            measured: None,
            landscape: LandscapeSpec::default().landscape(),
            row: None,
            trail_end: None,
        }
    }

    pub(super) fn is_of(&self, cloud: &RecordedCloud) -> bool {
        self.cloud.optimizer.id == cloud.optimizer.id && Arc::ptr_eq(&self.cloud.recording, &cloud.recording)
    }

    /// Makes the trail begin anew, as after a seek.
    pub(super) fn begin_trail(&mut self) {
        self.trail_end = None;
    }

    /// Goes to the step of a simulation that has reached `last_step`, with a trail of at most `columns` positions.
    pub(super) fn follow(&mut self, simulation: &Simulation, last_step: u64, columns: usize) -> Sample {
        self.measure_until(last_step, simulation.spec());
        let step = simulation.step();
        let first = step.saturating_sub(columns.saturating_sub(1) as u64);
        let next = match self.trail_end {
            Some(end) if end <= step && end + 1 >= first => end + 1,
            _ => {
                self.go_to(first);
                self.drawing.trail = Trail::new(&self.ensemble, columns);
                first + 1
            }
        };
        self.drawing.trail.set_capacity(columns);
        for step in next..=step {
            self.go_to(step);
            self.drawing.trail.push(&self.ensemble);
        }
        self.trail_end = Some(step);
        self.go_to(step);
        *self.ensemble.sample()
    }

    /// Extends the history to the last step reached. It begins anew with other settings, and after a session was cut.
    fn measure_until(&mut self, last_step: u64, spec: &SimulationSpec) {
        let own_rate = self.cloud.recording.session.is_some().then(|| self.ensemble.rule().learning_rate.get());
        let temperature = spec.temperature.map(Temperature::get).or(own_rate);
        let measured = Some((spec.landscape, temperature));
        if self.measured != measured || self.history.len() > last_step + 1 {
            self.measured = measured;
            self.landscape = spec.landscape.landscape();
            self.history = History::default();
            self.row = None;
        }
        for step in self.history.len()..=last_step.min(self.cloud.recording.last_step()) {
            self.go_to(step);
            self.history.push(*self.ensemble.sample(), temperature.unwrap_or(f64::NAN));
            self.drawing.mean_path.extend_to(step, self.ensemble.mean_position());
        }
    }

    fn go_to(&mut self, step: u64) {
        let row = self.cloud.recording.row(step);
        if self.row != Some(row) {
            self.row = Some(row);
            self.ensemble.place(self.cloud.recording.positions_at(step));
            self.ensemble.measure(&self.landscape);
        }
    }
}
