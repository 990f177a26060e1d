//! The fields of a spec as a generic form that a window can show.

use valleyscope_engine::optimizer::RuleSpec;
use valleyscope_engine::quantity::{BatchSize, Processes, RealQuantity, WholeQuantity};

use super::{Dataset, DeviceChoice, NotFinite, ScanOptimizer};
use crate::dataset::DataChoice;

/// Fields in sections.
pub type Form<'a> = Vec<Section<'a>>;

/// A group of fields.
pub struct Section<'a> {
    /// The heading; empty for a section without one.
    pub heading: &'static str,
    /// Whether the section is initially closed.
    pub folded: bool,
    pub fields: Vec<Field<'a>>,
}

impl<'a> Section<'a> {
    pub fn new(heading: &'static str, fields: Vec<Field<'a>>) -> Section<'a> {
        Section { heading, folded: false, fields }
    }

    pub fn folded(heading: &'static str, fields: Vec<Field<'a>>) -> Section<'a> {
        Section { heading, folded: true, fields }
    }
}

/// A field with its name and meaning.
pub struct Field<'a> {
    pub name: &'static str,
    pub help: &'static str,
    /// The field's path in the run, for errors of rules between fields and for labels; empty for a derived text.
    pub path: &'static str,
    pub value: Value<'a>,
}

/// The value of a field.
pub enum Value<'a> {
    Real(&'a mut dyn RealQuantity),
    Whole(&'a mut dyn WholeQuantity),
    Seed(&'a mut u64),
    Switch(&'a mut bool),
    Choice(Choice<'a>),
    Data(&'a mut DataChoice, &'static Dataset),
    Device(&'a mut DeviceChoice),
    /// An update rule and its hyperparameters.
    Rule(&'a mut RuleSpec),
    BatchSizes(&'a mut Vec<BatchSize>),
    Optimizers(&'a mut Vec<ScanOptimizer>),
    /// A text derived from the other fields.
    Note(String),
}

/// One of a few values.
pub struct Choice<'a> {
    pub names: Vec<&'static str>,
    pub chosen: Option<usize>,
    pub choose: Box<dyn FnMut(usize) + 'a>,
}

impl<'a> Field<'a> {
    pub fn new(name: &'static str, help: &'static str, value: Value<'a>) -> Field<'a> {
        Field { name, help, path: "", value }
    }

    /// Returns the field with this path in the run.
    pub(crate) fn at(self, path: &'static str) -> Field<'a> {
        Field { path, ..self }
    }

    pub(crate) fn real(name: &'static str, help: &'static str, value: &'a mut dyn RealQuantity) -> Field<'a> {
        Field::new(name, help, Value::Real(value))
    }

    pub(crate) fn whole(name: &'static str, help: &'static str, value: &'a mut dyn WholeQuantity) -> Field<'a> {
        Field::new(name, help, Value::Whole(value))
    }

    /// Returns a choice between values with names.
    pub(crate) fn choice<T: Copy + PartialEq>(
        name: &'static str,
        help: &'static str,
        value: &'a mut T,
        choices: &'static [(T, &'static str)],
    ) -> Field<'a> {
        let chosen = choices.iter().position(|(choice, _)| choice == value);
        let names = choices.iter().map(|(_, name)| *name).collect();
        let choose = Box::new(move |index: usize| *value = choices[index].0);
        Field::new(name, help, Value::Choice(Choice { names, chosen, choose }))
    }

    pub fn data(value: &'a mut DataChoice, dataset: &'static Dataset) -> Field<'a> {
        Field::new("Dataset", dataset.automatic, Value::Data(value, dataset)).at("data")
    }

    pub fn device(value: &'a mut DeviceChoice) -> Field<'a> {
        Field::new("Device", "What the worker has found on this machine", Value::Device(value)).at("device")
    }

    /// Returns the fields for the number of processes and, where there are several, for dividing the optimizer's
    /// memory.
    pub(crate) fn sharing(processes: &'a mut Processes, shard_optimizer: &'a mut bool) -> Vec<Field<'a>> {
        const PROCESSES: &str = "Processes on this machine that share each batch. Each has a part of the processor, or a GPU \
            of its own; the losses are those of one process, up to rounding.";
        const SHARD: &str = "Each process keeps the optimizer's memory for a part of the parameters only. For rules that step \
            each element by itself.";
        let several = processes.get() > 1;
        let shard =
            several.then(|| Field::new("Divide memory", SHARD, Value::Switch(shard_optimizer)).at("shard_optimizer"));
        let processes = Field::whole("Processes", PROCESSES, processes).at("processes");
        std::iter::once(processes).chain(shard).collect()
    }

    pub(crate) fn rule(value: &'a mut RuleSpec) -> Field<'a> {
        Field::new("Rule", "The update rule", Value::Rule(value)).at("optimizer")
    }

    pub(crate) fn at_nan(value: &'a mut NotFinite) -> Field<'a> {
        const AT_NAN: &[(NotFinite, &str)] = &[(NotFinite::GoOn, "go on"), (NotFinite::Stop, "stop")];
        Field::choice("At NaN", "When the loss is no finite number any more", value, AT_NAN).at("not_finite")
    }

    pub(crate) fn seed(help: &'static str, value: &'a mut u64) -> Field<'a> {
        Field::new("Seed", help, Value::Seed(value)).at("seed")
    }
}
