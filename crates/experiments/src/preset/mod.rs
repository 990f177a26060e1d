//! Presets: experiments as RON files, with the kind of experiment as the top-level name.
//!
//! ```text
//! Landscape(
//!     version: 1,
//!     title: "Noise starves Adam",
//!     description: "One sentence for the menu.",
//!     simulation: (noise: 1.0, optimizers: [(id: 0, rule: Adam(learning_rate: 0.005))]),
//!     view: (follow: true),                                        // optional
//!     beside: [(set: [Noise(2.0)])],                               // optional
//!     lesson: [(text: "Without noise …", set: [Noise(0.0)])],      // optional
//!     changes: [(step: 100, set: Noise(2.0))],                     // optional
//! )
//! ```
//!
//! A phase diagram is a `Sweep(version: 1, title: …, sweep: (…))`, trainings are, for example,
//! `Mnist(version: 1, title: …, runs: […])`, and a scan of trainings is a `MnistScan(version: 1, title: …, scan: (…))`:
//! the variants of trainings come from [`for_each_workload`].
//!
//! Values of optional fields are written without `Some`. Unknown fields and out-of-range or contradictory values are
//! refused with their line and column, see [`Fault`].

mod beside;
mod builtin;
mod changed;
mod error;
mod explain;
mod fault;
mod lesson;
mod lesson_draft;
mod lexer;
mod library;
mod limits;
mod outline;
mod read;
mod set;
mod settings;
mod validate;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use crate::format_version::FormatVersion;
pub use beside::{Beside, LETTERS, TitledSimulation, titles_side_by_side};
pub use builtin::{BuiltIn, built_ins};
pub use changed::{changed_head, description as changed_description, is_made_title, split_changed, with_changes};
pub use error::PresetError;
pub use fault::Fault;
pub use lesson::{Claim, Comparison, LessonFigure, LessonMark, LessonStep, first_step_of_run, marks_at};
pub use lesson_draft::{BesideMisfit, LessonDraft};
pub use library::{Library, Loaded, PresetSource, UserPreset};

use valleyscope_engine::simulation::{Change, Record, Setting, SettingError, SimulationSpec};
use valleyscope_engine::spec_error::SpecError;
use valleyscope_engine::sweep::SweepSpec;
use valleyscope_runs::atomic_file::{Overwrite, write_file};

use crate::dataset::DataChoice;
use crate::view::ViewSettings;
use crate::workload::{Common, DeviceChoice, Workload, for_each_workload};

macro_rules! define_preset {
    ($($(#[$about:meta])* $kind:ident($preset:ty)),+ $(,)?) => {
        /// An experiment that can be repeated.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Preset {
            /// A simulation on the narrowing valley.
            Landscape(LandscapePreset),
            /// A phase diagram.
            Sweep(SweepPreset),
            $($(#[$about])* $kind($preset),)+
        }

        impl Preset {
            /// The kinds of presets that a worker trains.
            pub const WORKLOADS: &[&str] = &[$(stringify!($kind)),+];

            /// Returns the kind of experiment, which is the first word of its file.
            pub fn kind(&self) -> &'static str {
                match self {
                    Preset::Landscape(_) => "Landscape",
                    Preset::Sweep(_) => "Sweep",
                    $(Preset::$kind(_) => stringify!($kind),)+
                }
            }

            /// Returns the title and the description.
            fn words(&self) -> [&str; 2] {
                match self {
                    Preset::Landscape(preset) => [&preset.title, &preset.description],
                    Preset::Sweep(preset) => [&preset.title, &preset.description],
                    $(Preset::$kind(preset) => [&preset.title, &preset.description],)+
                }
            }

            /// Returns the title and the description, mutable.
            pub fn words_mut(&mut self) -> [&mut String; 2] {
                match self {
                    Preset::Landscape(preset) => [&mut preset.title, &mut preset.description],
                    Preset::Sweep(preset) => [&mut preset.title, &mut preset.description],
                    $(Preset::$kind(preset) => [&mut preset.title, &mut preset.description],)+
                }
            }

            /// Returns the workload that a worker trains; none for another kind of preset.
            pub fn workload(&self) -> Option<&dyn Workload> {
                match self {
                    Preset::Landscape(_) | Preset::Sweep(_) => None,
                    $(Preset::$kind(preset) => Some(preset),)+
                }
            }

            /// Returns the workload that a worker trains, mutable; none for another kind of preset.
            pub fn workload_mut(&mut self) -> Option<&mut dyn Workload> {
                match self {
                    Preset::Landscape(_) | Preset::Sweep(_) => None,
                    $(Preset::$kind(preset) => Some(preset),)+
                }
            }

            /// Returns its trainings, each as a preset of its own that a worker can train; none where it is another
            /// kind.
            pub fn trainings(&self) -> Vec<Preset> {
                match self {
                    Preset::Landscape(_) | Preset::Sweep(_) => Vec::new(),
                    $(Preset::$kind(preset) => preset.trainings().into_iter().map(Preset::$kind).collect(),)+
                }
            }
        }
    };
}
for_each_workload!(define_preset);

/// A simulation, with its view, lesson and recorded changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LandscapePreset {
    pub version: FormatVersion,
    /// The title in menus, one line.
    pub title: String,
    /// One sentence that describes what can be seen.
    #[serde(default)]
    pub description: String,
    pub simulation: SimulationSpec,
    /// The view; without it, opening the preset keeps the current view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<ViewSettings>,
    /// The simulations beside this one, on the same clock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// Numbered steps to walk a class through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lesson: Vec<LessonStep>,
    /// The changes during a recorded session, in the order of the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
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
    /// Returns a preset of just a simulation.
    pub fn new(title: impl Into<String>, simulation: SimulationSpec) -> Self {
        LandscapePreset {
            version: FormatVersion,
            title: title.into(),
            description: String::new(),
            simulation,
            view: None,
            beside: Vec::new(),
            lesson: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Returns the simulation with its recorded changes.
    pub fn record(&self) -> Record {
        Record { spec: self.simulation.clone(), changes: self.changes.clone() }
    }

    /// The number of steps of a preset that names none, as in the paper's runs.
    pub const DEFAULT_STEPS: u64 = 1000;

    /// Returns the steps after which the recorded session finally pauses; `None` where it continues.
    pub fn planned_steps(&self) -> Option<u64> {
        planned_steps(&self.record())
    }

    /// Returns the simulation with the settings in force at a step of the lesson, counted from 0: those of all
    /// steps up to it, so that going back in a lesson undoes what a step has set.
    pub fn simulation_at(&self, lesson_step: usize) -> Result<SimulationSpec, SettingError> {
        lesson_draft::simulation_at(&self.simulation, &self.lesson, lesson_step)
    }

    /// Returns the rule that the lesson breaks, if it breaks one, so that the preset could not be read again.
    pub fn lesson_misfit(&self) -> Option<SpecError> {
        lesson::check(self).err()
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

    pub fn title(&self) -> &str {
        self.words()[0]
    }

    pub fn description(&self) -> &str {
        self.words()[1]
    }

    /// Returns the fields that all trainings have; none for a scan, for a preset of several runs, and for other kinds.
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

    /// Returns the preset written in `text`. Errors name `origin`, usually a file, as the place.
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
        validate::check(self).map_err(|broken| PresetError::Invalid(broken.to_string()))?;
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
