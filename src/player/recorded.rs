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
use valleyscope_experiments::preset::{LandscapePreset, Preset};
use valleyscope_runs::plain_file;
use valleyscope_runs::plain_file::Links;

use super::trail::{Drawing, MeanPath, Trail};
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
    pub steps: Arc<[u64]>,
    /// The positions (x, y) of all particles at the first recorded step, then at the next one, and so on.
    positions: Vec<[f64; 2]>,
    /// The session that made the cloud, and the id of its optimizer there, if the file names them.
    pub session: Option<(Record, u32)>,
}

/// The reason why a file was not opened as recorded clouds.
#[derive(Debug, thiserror::Error)]
#[error("cannot open {}: {reason}", path.display())]
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
    /// The simulation in which the cloud was recorded, without external optimizers, if the file names it and another
    /// optimizer is left.
    pub fn preset(&self) -> Option<LandscapePreset> {
        let (record, _) = self.recording.session.as_ref()?;
        let mut spec = record.spec.clone();
        spec.optimizers.retain(|optimizer| optimizer.rule.rule.kind() != RuleKind::External);
        let name = self.recording.path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        (!spec.optimizers.is_empty()).then(|| LandscapePreset::new(format!("Recording {name}"), spec))
    }

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

    /// Reads the clouds of an NPZ file, as [`RecordedCloud::read_archive`] does.
    ///
    /// # Errors
    ///
    /// Fails where that fails, and where the file cannot be opened.
    pub fn read(path: &Path) -> Result<Vec<RecordedCloud>, RecordingError> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match plain_file::open(&path, Links::Followed) {
            Ok(file) => Self::read_archive(BufReader::new(file), &path),
            Err(error) => Err(RecordingError { path, reason: error.to_string() }),
        }
    }

    /// Reads the clouds of an NPZ archive, the contents of the file `path`. Its array `positions` (float32 or float64)
    /// has the shape (particles, steps + 1, 2), or, for several clouds, (clouds, steps + 1, particles, 2), as
    /// `valleyscope simulate` writes it. An array `step` (int64), if there is one, numbers the recorded steps. The
    /// preset in `spec`, if there is one, names the clouds.
    ///
    /// # Errors
    ///
    /// Fails for another type or shape, more than [`RecordedCloud::MOST_BYTES`] of positions, too many particles or
    /// clouds, steps that do not ascend, and a cloud without any finite position.
    pub fn read_archive(archive: impl Read + Seek, path: &Path) -> Result<Vec<RecordedCloud>, RecordingError> {
        read(archive, path).map_err(|reason| RecordingError { path: path.to_owned(), reason })
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
    let mut archive = NpzReader::new(archive).map_err(|error| format!("{error}; {HELP}"))?;
    let (of_type, shape) = archive.type_and_shape(POSITIONS).map_err(|error| match error {
        ArchiveError::Missing(_) => {
            let names: Vec<String> = archive.names().filter(|name| name.len() < 40).take(10).collect();
            format!("expected an array `{POSITIONS}`, found {}; {HELP}", names.join(", "))
        }
        error => format!("{error}; {HELP}"),
    })?;
    let layout = Layout::of(&shape)?;
    let [clouds, rows, particles] = layout.counts;
    let steps: Vec<u64> = match archive.array::<i64>(STEPS, &[rows]) {
        Ok(steps) => steps.into_iter().filter_map(|step| step.try_into().ok()).collect(),
        Err(ArchiveError::Missing(_)) => (0..rows as u64).collect(),
        Err(error) => return Err(format!("{error}; leave it out if all steps are recorded, from 0 on")),
    };
    if steps.len() < rows || !steps.is_sorted_by(|one, next| one < next) {
        return Err(format!("its `{STEPS}` do not ascend from 0 or a later step; number the recorded steps in order"));
    }
    let positions = match of_type.as_str() {
        f32::DESCR => archive.array::<f32>(POSITIONS, &shape).map(|all| layout.clouds_of(&all)),
        f64::DESCR => archive.array::<f64>(POSITIONS, &shape).map(|all| layout.clouds_of(&all)),
        other => {
            let expected = "float32 (<f4) or float64 (<f8) was expected; convert them with .astype(np.float64)";
            return Err(format!("its `{POSITIONS}` are of type {other}, where {expected}"));
        }
    };
    let positions = positions.map_err(|error| format!("{error}; save a copy made with np.ascontiguousarray"))?;
    let is_finite = |[x, y]: &[f64; 2]| x.is_finite() && y.is_finite();
    if let Some(lost) = positions.iter().position(|cloud| !cloud.iter().any(is_finite)) {
        return Err(format!("no position of cloud {lost} in `{POSITIONS}` is finite; check the program that wrote it"));
    }
    let preset = archive.text("spec").ok().and_then(|text| Preset::parse(&text, "spec").ok());
    let session = if let Some(Preset::Landscape(preset)) = preset { Some(preset.record()) } else { None };
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let (optimizers, steps) = (optimizers(session.as_ref(), clouds, &stem), Arc::<[u64]>::from(steps));
    let clouds = positions.into_iter().zip(optimizers).enumerate().map(|(index, (positions, (optimizer, id)))| {
        let (path, steps, session) = (path.to_owned(), Arc::clone(&steps), session.clone().zip(id));
        let recording = Arc::new(Recording { path, index, particles, steps, positions, session });
        RecordedCloud { optimizer, recording }
    });
    Ok(clouds.collect())
}

/// The numbers of clouds, recorded steps and particles of an array of positions, and the distances in it from each of
/// these to the next one.
struct Layout {
    counts: [usize; 3],
    strides: [usize; 3],
}

impl Layout {
    fn of(shape: &[usize]) -> Result<Layout, String> {
        const PARTICLES: usize = ParticleCount::MAX as usize;
        let bytes = shape.iter().try_fold(size_of::<f64>(), |bytes, side| bytes.checked_mul(*side));
        if bytes.is_none_or(|bytes| bytes > RecordedCloud::MOST_BYTES) {
            return Err(format!(
                "its `{POSITIONS}` of shape {shape:?} take more than the {} MiB as float64 that are read; record fewer \
                 steps or particles",
                RecordedCloud::MOST_BYTES >> 20
            ));
        }
        let (counts, strides) = match *shape {
            [particles, rows, 2] => ([1, rows, particles], [0, 1, rows]),
            [clouds, rows, particles, 2] => ([clouds, rows, particles], [rows * particles, particles, 1]),
            _ => ([0; 3], [0; 3]),
        };
        let [clouds, _, particles] = counts;
        if counts.contains(&0) || clouds > RecordedCloud::MOST || particles > PARTICLES {
            return Err(format!(
                "its `{POSITIONS}` have the shape {shape:?}, where (particles, steps + 1, 2) or (clouds, steps + 1, \
                 particles, 2) was expected, with 1 to {PARTICLES} particles and 1 to {} clouds; reshape or cut them",
                RecordedCloud::MOST
            ));
        }
        Ok(Layout { counts, strides })
    }

    /// Returns the positions of each cloud, step by step.
    fn clouds_of<E: Element + Into<f64>>(&self, all: &[E]) -> Vec<Vec<[f64; 2]>> {
        let (pairs, _) = all.as_chunks::<2>();
        let [clouds, rows, particles] = self.counts;
        let [of_cloud, of_row, of_particle] = self.strides;
        let cloud = |cloud: usize| {
            let each =
                (0..rows).flat_map(|row| (0..particles).map(move |particle| row * of_row + particle * of_particle));
            each.map(|at| pairs[cloud * of_cloud + at].map(Into::into)).collect()
        };
        (0..clouds).map(cloud).collect()
    }
}

/// Returns the optimizers as which clouds are shown, with their ids in the session that made them. Where the session
/// does not fit the clouds, these are named after the file.
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
    /// The step of the trail's last column; `None` for a trail that begins anew, as after a seek.
    pub(super) trail_end: Option<u64>,
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::export::NpzWriter;

    fn archive(write: impl FnOnce(&mut NpzWriter<'_, Cursor<Vec<u8>>>)) -> Cursor<Vec<u8>> {
        let mut written = Cursor::new(Vec::new());
        let mut npz = NpzWriter::new(&mut written);
        write(&mut npz);
        npz.finish().expect("memory takes all");
        Cursor::new(written.into_inner())
    }

    fn read(archive: Cursor<Vec<u8>>) -> Result<Vec<RecordedCloud>, String> {
        RecordedCloud::read_archive(archive, Path::new("some/walk.npz")).map_err(|error| error.to_string())
    }

    /// Reads an archive with an array `positions` of this shape, whose elements count from 0.
    fn counted(shape: &[usize]) -> Result<Vec<RecordedCloud>, String> {
        let count = shape.iter().product::<usize>();
        read(archive(|npz| npz.array("positions", shape, (0..count).map(|it| it as f64)).expect("memory takes all")))
    }

    #[test]
    fn positions_are_read_particle_by_particle_or_step_by_step() {
        let by_particle = counted(&[2, 3, 2]).expect("it is valid");
        let recording = &by_particle[0].recording;
        assert_eq!((by_particle.len(), recording.particles, &*recording.steps), (1, 2, &[0, 1, 2][..]));
        assert_eq!(recording.positions_at(1), [[2.0, 3.0], [8.0, 9.0]]);
        assert_eq!(recording.positions_at(100), [[4.0, 5.0], [10.0, 11.0]], "it stays at its last positions");
        assert_eq!(by_particle[0].optimizer.name.as_deref(), Some("walk, recorded"));
        let by_step = counted(&[2, 2, 3, 2]).expect("it is valid");
        assert_eq!(by_step[1].recording.positions_at(0), [[12.0, 13.0], [14.0, 15.0], [16.0, 17.0]]);
        assert_eq!(by_step[1].recording.positions_at(1)[0], [18.0, 19.0]);
        let names: Vec<_> = by_step.iter().filter_map(|cloud| cloud.optimizer.name.as_deref()).collect();
        assert_eq!(names, ["walk 1, recorded", "walk 2, recorded"]);
        assert!(by_step.iter().all(|cloud| cloud.recording.session.is_none()));
    }

    #[test]
    fn single_precision_and_numbered_steps_are_read() {
        let thinned = read(archive(|npz| {
            npz.array("step", &[2], [0_i64, 10]).expect("memory takes all");
            npz.array("positions", &[1, 2, 2], [0.5_f32, f32::NAN, 1.5, 2.5]).expect("memory takes all");
        }));
        let clouds = thinned.expect("a diverged particle is valid");
        let recording = &clouds[0].recording;
        assert_eq!(recording.last_step(), 10);
        assert!(recording.positions_at(9)[0][1].is_nan());
        assert_eq!(recording.positions_at(10), [[1.5, 2.5]]);
    }

    #[test]
    fn the_preset_of_a_recording_has_no_external_optimizers() {
        const SPEC: &str = r#"Landscape(version: 1, title: "Two", simulations: [(spec: (noise: 2.0, optimizers: [
            (id: 0, name: "own", rule: External(learning_rate: 0.1)), (id: 1, rule: Adam(learning_rate: 0.1)),
        ]))])"#;
        let of_spec = |spec: &str| {
            let clouds = read(archive(|npz| {
                npz.text("spec", spec).expect("memory takes all");
                npz.array("positions", &[2, 2, 3, 2], [0.0; 24]).expect("memory takes all");
            }));
            clouds.expect("it is valid")[0].preset()
        };
        let preset = of_spec(SPEC).expect("Adam is left");
        assert_eq!(preset.title, "Recording walk");
        let kinds: Vec<_> = preset.spec().optimizers.iter().map(|optimizer| optimizer.rule.rule.kind()).collect();
        assert_eq!((kinds, preset.spec().noise.noise().sigma), (vec![RuleKind::Adam], 2.0));
        assert_eq!(of_spec("none"), None);
    }

    #[test]
    fn refusals_state_what_was_expected_and_found() {
        let refused = |shape: &[usize], parts: &[&str]| {
            let error = counted(shape).expect_err("it is refused");
            assert!(error.starts_with("cannot open some/walk.npz: its `positions` "), "{error}");
            parts.iter().for_each(|part| assert!(error.contains(part), "{error} lacks {part}"));
        };
        refused(&[4, 5], &["[4, 5]", "(particles, steps + 1, 2)", "reshape"]);
        refused(&[4, 5, 3], &["[4, 5, 3]", "(particles, steps + 1, 2)"]);
        refused(&[4, 0, 2], &["[4, 0, 2]"]);
        refused(&[10_001, 1, 2], &["[10001, 1, 2]", "1 to 10000 particles"]);
        refused(&[17, 1, 1, 2], &["[17, 1, 1, 2]", "1 to 16 clouds"]);
        let of = |write: fn(&mut NpzWriter<'_, Cursor<Vec<u8>>>)| read(archive(write)).expect_err("it is refused");
        let text = of(|npz| npz.text("positions", "none").expect("memory takes all"));
        assert!(text.contains("[]"), "{text}");
        let whole = of(|npz| npz.array("positions", &[1, 1, 2], [1_i64, 2]).expect("memory takes all"));
        assert!(whole.contains("<i8") && whole.contains(".astype(np.float64)"), "{whole}");
        let lost = of(|npz| npz.array("positions", &[1, 1, 2], [f64::NAN, 2.0]).expect("memory takes all"));
        assert!(lost.contains("no position of cloud 0") && lost.contains("finite"), "{lost}");
        let missing = of(|npz| npz.array("losses", &[1], [1.0]).expect("memory takes all"));
        assert!(missing.contains("expected an array `positions`, found losses"), "{missing}");
        let steps = of(|npz| {
            npz.array("step", &[2], [3_i64, 3]).expect("memory takes all");
            npz.array("positions", &[1, 2, 2], [0.0; 4]).expect("memory takes all");
        });
        assert!(steps.contains("`step` do not ascend"), "{steps}");
        let foreign = read(Cursor::new(b"no archive".to_vec())).expect_err("it is refused");
        assert!(foreign.contains("does not begin like one") && foreign.contains("np.savez"), "{foreign}");
    }

    #[test]
    fn more_than_512_mib_are_refused_before_they_are_read() {
        let huge = Layout::of(&[10_000, 4_000, 2]).map(|layout| layout.counts).expect_err("it is refused");
        assert!(huge.contains("512 MiB") && huge.contains("[10000, 4000, 2]"), "{huge}");
        assert!(Layout::of(&[usize::MAX, usize::MAX, 2]).is_err());
        assert!(Layout::of(&[10_000, 3_300, 2]).is_ok());
    }
}
