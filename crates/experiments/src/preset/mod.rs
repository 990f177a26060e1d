//! Presets: experiments as RON files, with the kind of experiment as the top-level name.
//!
//! ```text
//! Landscape(
//!     version: 1,
//!     title: "Noise starves Adam",
//!     description: "One sentence for the menu.",
//!     simulations: [
//!         (
//!             spec: (noise: 1.0, optimizers: [(id: 0, rule: Adam(learning_rate: 0.005))]),
//!             changes: [(step: 100, set: Noise(2.0))],             // optional
//!         ),
//!         (set: [Noise(2.0)]),                                     // optional: another one, on the same clock
//!     ],
//!     view: (follow: true),                                        // optional
//!     lesson: [(text: "Without noise …", set: [Noise(0.0)])],      // optional
//! )
//! ```
//!
//! A phase diagram is a `Sweep(version: 1, title: …, sweep: (…))`, trainings are, for example,
//! `Mnist(version: 1, title: …, runs: […])`, whose variants come from [`for_each_workload`], and a grid of trainings is a
//! `Grid(version: 1, title: …, base: Mnist(…), vary: […])`.
//!
//! Values of optional fields are written without `Some`. Unknown fields and out-of-range or contradictory values are
//! refused with their line and column, see [`Fault`].

mod explain;
mod grid;
mod lesson;
mod lesson_draft;
mod library;
mod listed;
mod outline;
mod read;
mod set;
mod simulations;
mod titles;

use std::path::Path;

use serde::{Deserialize, Serialize};
use valleyscope_engine::simulation::{Change, OptimizerSpec, Record, Setting, SimulationSpec};
use valleyscope_engine::spec_error::{SpecError, broken};
use valleyscope_engine::sweep::SweepSpec;
use valleyscope_runs::atomic_file::{Overwrite, write_file};

use super::dataset::DataChoice;
use super::view::{Orbit, ViewSettings};
use super::workload::{Common, DeviceChoice, Workload, for_each_workload};

pub use super::format_version::FormatVersion;
pub use grid::{GridPreset, Variation};
pub use lesson::{Claim, Comparison, LessonFigure, LessonMark, LessonStep, first_step_of_run, marks_at};
pub use lesson_draft::LessonDraft;
pub use library::{BuiltIn, Library, Loaded, PresetSource, UserPreset, built_ins, next_lesson};
pub use listed::{ListedSetting, SettingOwner};
pub use read::{Fault, PresetError, SHORT_NAMES, full_name};
use simulations::check_simulations;
pub use simulations::{LETTERS, PresetSimulation, TitledSimulation, titles_side_by_side};
pub use titles::{
    changed_head, changed_settings, description as changed_description, is_made_title, lists_changes, split_changed,
    with_changes,
};

macro_rules! define_preset {
    ($($(#[$about:meta])* $kind:ident($preset:ty)),+ $(,)?) => {
        /// An experiment that can be repeated.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Preset {
            /// A simulation on the narrowing valley.
            Landscape(LandscapePreset),
            /// A phase diagram.
            Sweep(SweepPreset),
            /// Trainings in which settings vary.
            #[serde(alias = "MnistScan")]
            Grid(GridPreset),
            $($(#[$about])* $kind($preset),)+
        }

        impl Preset {
            /// The kinds of presets that a worker trains.
            pub const WORKLOADS: &[&str] = &[$(stringify!($kind)),+];
            /// The kinds of presets that have trainings.
            pub const TRAININGS: &[&str] = &["Grid", $(stringify!($kind)),+];

            /// Returns the kind of experiment, which is the first word of its file.
            pub fn kind(&self) -> &'static str {
                match self {
                    Preset::Landscape(_) => "Landscape",
                    Preset::Sweep(_) => "Sweep",
                    Preset::Grid(_) => "Grid",
                    $(Preset::$kind(_) => stringify!($kind),)+
                }
            }

            /// Returns the title and the description.
            fn words(&self) -> [&str; 2] {
                match self {
                    Preset::Landscape(preset) => [&preset.title, &preset.description],
                    Preset::Sweep(preset) => [&preset.title, &preset.description],
                    Preset::Grid(preset) => [&preset.title, &preset.description],
                    $(Preset::$kind(preset) => [&preset.title, &preset.description],)+
                }
            }

            /// Returns the title and the description, mutable.
            pub fn words_mut(&mut self) -> [&mut String; 2] {
                match self {
                    Preset::Landscape(preset) => [&mut preset.title, &mut preset.description],
                    Preset::Sweep(preset) => [&mut preset.title, &mut preset.description],
                    Preset::Grid(preset) => [&mut preset.title, &mut preset.description],
                    $(Preset::$kind(preset) => [&mut preset.title, &mut preset.description],)+
                }
            }

            /// Returns the workload that a worker trains, of a grid that of its base; none for another kind of preset.
            pub fn workload(&self) -> Option<&dyn Workload> {
                match self {
                    Preset::Landscape(_) | Preset::Sweep(_) => None,
                    Preset::Grid(preset) => preset.base.workload(),
                    $(Preset::$kind(preset) => Some(preset),)+
                }
            }

            /// Returns the workload of [`Preset::workload`], mutable.
            pub fn workload_mut(&mut self) -> Option<&mut dyn Workload> {
                match self {
                    Preset::Landscape(_) | Preset::Sweep(_) => None,
                    Preset::Grid(preset) => preset.base.workload_mut(),
                    $(Preset::$kind(preset) => Some(preset),)+
                }
            }

            /// Returns its trainings, each as a preset of its own that a worker can train; none where it is another
            /// kind, and for a grid that cannot be trained.
            pub fn trainings(&self) -> Vec<Preset> {
                match self {
                    Preset::Landscape(_) | Preset::Sweep(_) => Vec::new(),
                    Preset::Grid(preset) => preset.combinations().unwrap_or_default(),
                    $(Preset::$kind(preset) => preset.trainings().into_iter().map(Preset::$kind).collect(),)+
                }
            }
        }
    };
}
for_each_workload!(define_preset);

/// Simulations side by side, with their view and a lesson.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LandscapePreset {
    pub version: FormatVersion,
    /// The title in menus, one line.
    pub title: String,
    /// One sentence that describes what can be seen.
    #[serde(default)]
    pub description: String,
    /// One to four simulations on one clock. The lesson sets the first one.
    pub simulations: Vec<PresetSimulation>,
    /// The view; without it, opening the preset keeps the current view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<ViewSettings>,
    /// Numbered steps to walk a class through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lesson: Vec<LessonStep>,
}

/// A phase diagram to compute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepPreset {
    pub version: FormatVersion,
    /// The title in menus, one line.
    pub title: String,
    /// One sentence that describes what can be seen.
    #[serde(default)]
    pub description: String,
    pub sweep: SweepSpec,
}

impl LandscapePreset {
    /// Makes a preset of a simulation alone.
    pub fn new(title: impl Into<String>, spec: SimulationSpec) -> Self {
        LandscapePreset {
            version: FormatVersion,
            title: title.into(),
            description: String::new(),
            simulations: vec![PresetSimulation::first(TitledSimulation::untitled(spec))],
            view: None,
            lesson: Vec::new(),
        }
    }

    /// Returns the first simulation with its recorded changes.
    pub fn record(&self) -> Record {
        Record { spec: self.spec().clone(), changes: self.simulations[0].changes.clone() }
    }

    /// The number of steps of a preset that names none, as in the paper's runs.
    pub const DEFAULT_STEPS: u64 = 1000;

    /// Returns the steps after which the recorded session finally pauses; `None` where it continues.
    pub fn planned_steps(&self) -> Option<u64> {
        planned_steps(&self.record())
    }
}

/// Returns the steps after which a session finally pauses; `None` where it continues.
pub fn planned_steps(session: &Record) -> Option<u64> {
    let mut planned = session.spec.steps;
    for change in &session.changes {
        if planned.is_some_and(|steps| change.step > steps) {
            break;
        }
        if let Setting::Steps(steps) = change.set {
            planned = steps;
        }
    }
    planned
}

impl Preset {
    /// The largest number of bytes of a preset's text: more than the record of many hours of dragging sliders.
    pub(crate) const LONGEST: u64 = 64 << 20;

    /// The largest number of characters of a title.
    pub(crate) const LONGEST_TITLE: usize = 100;
    /// The largest number of characters of a description.
    pub const LONGEST_DESCRIPTION: usize = 1000;

    /// Returns the trainings of a grid whose settings vary; another preset itself.
    pub fn base(&self) -> &Preset {
        if let Preset::Grid(grid) = self { &grid.base } else { self }
    }

    /// Checks the rules between fields, and returns the first that the preset breaks.
    pub fn check(&self) -> Result<(), SpecError> {
        check_preset(self)
    }

    pub fn title(&self) -> &str {
        self.words()[0]
    }

    pub fn description(&self) -> &str {
        self.words()[1]
    }

    /// Returns the fields that all trainings have, of a grid those of its base; none for a preset of several runs, and
    /// for other kinds.
    pub fn training(&self) -> Option<Common<'_>> {
        self.workload()?.training()
    }

    /// Returns the source of the data of its first training; none where it is another kind.
    pub fn data(&self) -> Option<&DataChoice> {
        self.workload().map(|workload| workload.data(0))
    }

    /// Returns the device of its training; none where it is another kind.
    pub fn device(&self) -> Option<DeviceChoice> {
        self.workload().map(Workload::device)
    }

    /// Returns the preset written in `text`. Errors name `origin`, usually a file.
    pub fn parse(text: &str, origin: &str) -> Result<Preset, PresetError> {
        read::parse(text, origin)
    }

    /// Returns the preset in a regular file, or one that a link leads to. For a path that a user has named, see
    /// [`Library::load_file`].
    pub fn read(path: &Path) -> Result<Preset, PresetError> {
        Preset::parse(&read::text_of_plain_file(path)?, &path.display().to_string())
    }

    /// Returns the preset as a file's text, which [`Preset::parse`] turns into an equal preset, bit for bit.
    pub fn to_ron(&self) -> String {
        let layout = ron::ser::PrettyConfig::new().new_line("\n").escape_strings(false);
        let body = read::format()
            .to_string_pretty(self, layout)
            .expect("a preset holds no value that RON cannot express, and is not nested deeply");
        let header = match self {
            Preset::Landscape(_) => HEADER,
            Preset::Sweep(_) => SWEEP_HEADER,
            _ => TRAINING_HEADER,
        };
        format!("{header}{body}\n")
    }

    /// Writes the preset to a file, as a whole or not at all. A preset that could not be read again is
    /// refused.
    pub fn write(&self, path: &Path, overwrite: Overwrite) -> Result<(), PresetError> {
        check_preset(self).map_err(|broken| PresetError::Invalid(broken.to_string()))?;
        write_file(path, overwrite, self.to_ron().as_bytes()).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => PresetError::Exists { path: path.to_owned() },
            _ => PresetError::Write { path: path.to_owned(), source },
        })
    }
}

const HEADER: &str = "\
// A preset for Valleyscope. Open it in the app, or run it with `valleyscope simulate FILE`.
// `valleyscope presets show lesson` prints one whose comments explain the fields.
";
const SWEEP_HEADER: &str = "\
// A preset for Valleyscope. Open it in the app, or run it with `valleyscope sweep FILE --out FOLDER`.
// `valleyscope presets show fig2a` prints one whose comments explain the fields.
";
const TRAINING_HEADER: &str = "\
// A preset for Valleyscope. Open it in the app, or run it with `valleyscope train FILE`.
// `valleyscope presets show mnist` and `… fig2cd` print presets whose comments explain the fields.
";

/// Checks the preset, and returns the first rule that it breaks.
fn check_preset(preset: &Preset) -> Result<(), SpecError> {
    SpecError::check_line("title", preset.title(), Preset::LONGEST_TITLE)?;
    SpecError::check_length("description", preset.description(), 0..=Preset::LONGEST_DESCRIPTION)?;
    match preset {
        Preset::Landscape(preset) => check_landscape(preset),
        Preset::Sweep(preset) => check_sweep(preset),
        Preset::Grid(preset) => preset.check(),
        training => training.workload().map_or(Ok(()), Workload::check),
    }
}

fn check_sweep(preset: &SweepPreset) -> Result<(), SpecError> {
    let sweep = &preset.sweep;
    for (index, optimizer) in sweep.optimizers.iter().enumerate() {
        if let Some(name) = &optimizer.name {
            SpecError::check_name(&format!("sweep.optimizers[{index}].name"), name, OptimizerSpec::LONGEST_NAME)?;
        }
    }
    sweep.check().map_err(|error| error.at("sweep"))
}

fn check_landscape(preset: &LandscapePreset) -> Result<(), SpecError> {
    check_simulations(&preset.simulations)?;
    if let Some(view) = &preset.view {
        check_view(view)?;
    }
    lesson::check(preset)
}

/// Checks the optimizers of the simulation at this path.
fn check_optimizers(path: &str, SimulationSpec { optimizers, .. }: &SimulationSpec) -> Result<(), SpecError> {
    const MOST: usize = SimulationSpec::MAX_OPTIMIZERS;
    if !(1..=MOST).contains(&optimizers.len()) {
        return broken(path, format!("must hold 1 to {MOST} optimizers, found {}", optimizers.len()));
    }
    for (index, optimizer) in optimizers.iter().enumerate() {
        if let Some(first) = optimizers[..index].iter().position(|other| other.id == optimizer.id) {
            return broken(
                format!("{path}[{index}].id"),
                format!("is {}, the same as `{path}[{first}].id`; each optimizer needs an id of its own", optimizer.id),
            );
        }
        if let Some(name) = &optimizer.name {
            SpecError::check_name(&format!("{path}[{index}].name"), name, OptimizerSpec::LONGEST_NAME)?;
        }
    }
    if optimizers.iter().all(|optimizer| !optimizer.enabled) {
        return broken(path, "must hold at least one optimizer with `enabled: true`, and all have `enabled: false`");
    }
    Ok(())
}

fn check_view(view: &ViewSettings) -> Result<(), SpecError> {
    const LARGEST: f64 = 1e12;
    if let Some(camera) = &view.camera {
        if let Some(axis) = camera.center.iter().position(|center| center.is_nan() || center.abs() > LARGEST) {
            let found = camera.center[axis];
            return broken("view.camera.center", format!("must be within ±{LARGEST:e}, found {found}"));
        }
        check_within("view.camera.width", camera.width, 1e-12, LARGEST)?;
        check_within("view.camera.lens.stretch", camera.lens.stretch, 1e-9, 1e9)?;
        let [cos, sin] = camera.lens.right;
        check_within("the length of view.camera.lens.right", cos.hypot(sin), 0.999, 1.001)?;
    }
    for (path, part) in view.inset.iter().flat_map(|inset| {
        let paths = ["view.inset.at[0]", "view.inset.at[1]", "view.inset.size[0]", "view.inset.size[1]"];
        paths.into_iter().zip(inset.at.into_iter().chain(inset.size))
    }) {
        check_within(path, f64::from(part), 0.0, 1.0)?;
    }
    if let Some(orbit) = &view.orbit {
        check_within("view.orbit.azimuth", orbit.azimuth, -360.0, 360.0)?;
        let (lowest, highest) = Orbit::ELEVATIONS.into_inner();
        check_within("view.orbit.elevation", orbit.elevation, lowest, highest)?;
    }
    if let Some(scale) = &view.scale {
        check_within("view.scale.linear", scale.linear, f64::MIN_POSITIVE, f64::MAX)?;
        check_within("view.scale.min", scale.min, f64::MIN, 0.0)?;
        check_within("view.scale.max", scale.max, f64::MIN_POSITIVE, f64::MAX)?;
        if scale.max < scale.linear {
            let (max, linear) = (scale.max, scale.linear);
            return broken("view.scale.max", format!("is {max}, less than `view.scale.linear`, which is {linear}"));
        }
    }
    let most_steps = f64::from(ViewSettings::MAX_TRAIL_STEPS);
    check_within("view.trail_steps", f64::from(view.trail_steps), 0.0, most_steps)?;
    check_within("view.trail_width", f64::from(view.trail_width), 0.0, 100.0)?;
    check_within("view.point_radius", f64::from(view.point_radius), 0.0, 100.0)
}

fn check_within(path: &str, value: f64, least: f64, most: f64) -> Result<(), SpecError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    // Plain numbers where they are short.
    let text =
        |end: f64| if end == 0.0 || (1e-3..1e6).contains(&end.abs()) { end.to_string() } else { format!("{end:e}") };
    broken(path, format!("must be a number from {} to {}, found {value}", text(least), text(most)))
}

/// Checks the recorded changes at this path.
fn check_changes(simulation: &SimulationSpec, changes: &[Change], path: &str) -> Result<(), SpecError> {
    let mut simulation = simulation.clone();
    for (index, change) in changes.iter().enumerate() {
        if let Some(before) = index.checked_sub(1).filter(|&before| changes[before].step > change.step) {
            return broken(
                format!("{path}[{index}].step"),
                format!(
                    "is {}, before `{path}[{before}].step`, which is {}; changes stand in the order of their steps",
                    change.step, changes[before].step
                ),
            );
        }
        check_setting(&mut simulation, &change.set, || format!("{path}[{index}].set"))?;
    }
    Ok(())
}

/// Checks that a setting fits an optimizer of `simulation`.
fn check_setting(
    simulation: &mut SimulationSpec,
    setting: &Setting,
    path: impl FnOnce() -> String,
) -> Result<(), SpecError> {
    simulation
        .apply(setting)
        .or_else(|error| broken(path(), format!("does not fit the simulation's optimizers: {error}")))
}
