//! Distinct names, colours and dashes of curves.
//!
//! Runs are named by their optimizers and the settings that differ, unless the user has given them a title, and by
//! their workloads where there are several.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use egui::{Color32, Theme};
use serde::{Deserialize, Serialize};
use valleyscope_engine::optimizer::{ShownSetting, differing, differing_by_key};
use valleyscope_engine::quantity::number_text;
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::view::{Dash, Pen};
use valleyscope_experiments::workload::STEPS;
use valleyscope_runs::{RunFolder, RunHistory};

use super::plotter::RunCurves;
use super::summary::Summary;
use crate::app::widgets::theme::background;
use crate::runs::{Format, RunFacts};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    /// Empty without a title, or if all curves have the same title and are distinguished by a mark.
    pub title: String,
    /// The text that distinguishes curves of the same title; empty if none is needed. Without a title, at least the
    /// optimizer.
    pub mark: String,
}

impl Name {
    /// The main part of the name, and the distinction if that is another text.
    pub(super) fn parts(&self) -> [&str; 2] {
        if self.title.is_empty() { [&self.mark, ""] } else { [&self.title, &self.mark] }
    }

    pub(super) fn whole(&self) -> String {
        match self.parts() {
            [only, ""] => only.to_owned(),
            [title, mark] => format!("{title} ({mark})"),
        }
    }
}

/// The facts by which a run or a curve is named.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CurveFacts {
    /// The title given by the user, or any title if no optimizer is known; empty where it is named by its settings.
    pub title: String,
    /// The workload, if it is known.
    pub family: Option<&'static str>,
    /// The optimizer, or the name that the preset gives to the run; empty where it is not known.
    pub optimizer: String,
    /// Whether the preset names the run, which is then distinguished only from others of that name.
    pub is_named: bool,
    /// The hyperparameters that differ from the rule's defaults, formatted; none of a run that the preset names.
    pub hyperparameters: Vec<String>,
    /// The settings to be named if they differ from those of others.
    pub settings: Vec<ShownSetting>,
    /// The settings that do not affect learning, to be named if all others are equal.
    pub bookkeeping: Vec<ShownSetting>,
    pub traits: Traits,
    /// The first run's folder.
    pub folder: String,
    /// Runs of which it is the mean.
    pub runs: usize,
}

/// The learning rate, batch size, steps, seed and fork as text, as far as they are known, in the order in which they
/// are tried as names. They distinguish runs of equal settings.
type Traits = [Option<String>; 5];

const SEED: usize = 3;

pub(super) fn traits(facts: &RunFacts, history: &RunHistory) -> Traits {
    let setting = |path: &str, word: &str| Some(format!("{word} {}", Format::Exact.text(facts.get(path)?)));
    [
        facts.number("learning_rate").map(|rate| format!("η {}", number_text(rate))),
        setting("batch_size", "batch"),
        history.steps().map(|steps| format!("{} steps", grouped(steps))),
        setting("seed", "seed"),
        history.forked().map(|forked| format!("forked at {}", grouped(forked.from_step))),
    ]
}

fn chosen_traits(traits: &Traits, chosen: &BTreeSet<usize>) -> Vec<String> {
    chosen.iter().filter_map(|index| traits[*index].clone()).collect()
}

/// Describes the settings of runs in a list, so that they are distinct: the workload, if there are several, the
/// optimizer, and the differences from other runs of its workload, or the learning rate and the batch size where
/// nothing differs. The steps are shown with the status.
pub(super) fn distinct_settings(runs: &[&CurveFacts]) -> Vec<String> {
    let is_mixed = runs.iter().any(|run| run.family != runs[0].family);
    let keys: Vec<_> = runs.iter().map(|run| (run.family, run.is_named.then_some(&run.optimizer))).collect();
    let texts = differing_by_key(&keys, &runs.iter().map(|run| of_list(run)).collect::<Vec<_>>());
    let differs = runs.iter().zip(&texts).filter(|(_, texts)| !texts.is_empty());
    let differing: BTreeSet<_> = differs.map(|(run, _)| run.family).collect();
    let settings = runs.iter().zip(texts).map(|(run, texts)| {
        let family = run.family.filter(|_| is_mixed).map(str::to_owned);
        let optimizer = Some(run.optimizer.clone()).filter(|optimizer| !optimizer.is_empty());
        let [rate, batch, .., fork] = run.traits.clone();
        // Workloads whose runs do not differ are described by the usual settings.
        let usual = rate.into_iter().chain(batch).chain(run.hyperparameters.iter().cloned());
        let usual = usual.filter(|_| !differing.contains(&run.family));
        let parts = family.into_iter().chain(optimizer).chain(fork).chain(texts).chain(usual);
        parts.collect::<Vec<_>>().join(", ")
    });
    settings.collect()
}

/// Lists the settings that are named in a list if they differ: without the steps, and with the seed.
fn of_list(run: &CurveFacts) -> Vec<ShownSetting> {
    let mut settings: Vec<ShownSetting> = run.settings.iter().filter(|it| it.meaning != STEPS).cloned().collect();
    let [rate, batch, _, seed, _] = run.traits.clone();
    for (meaning, text) in [(ShownSetting::LEARNING_RATE, rate), ("batch", batch), ("seed", seed)] {
        let text = text.filter(|text| settings.iter().all(|known| known.text != *text));
        settings.extend(text.map(|text| ShownSetting::new(meaning, text)));
    }
    settings
}

/// Makes a distinct name for each curve. Curves of one title are distinguished by their optimizers, the settings that
/// differ among them, and if these are equal, by as few traits as possible, or else by their folders. A title shared by
/// all of several curves is left out. Curves without a title are named by their optimizers, and distinguished in the
/// same way. With several workloads, each name includes its own.
pub(super) fn distinct(curves: &[CurveFacts]) -> Vec<Name> {
    let is_common = curves.len() > 1 && curves.iter().all(|curve| curve.title == curves[0].title);
    let is_mixed = curves.iter().any(|curve| curve.family != curves[0].family);
    let texts = name_parts(curves, is_mixed);
    let mut alike: HashMap<(&str, &[String]), Vec<usize>> = HashMap::new();
    for (index, (curve, texts)) in curves.iter().zip(&texts).enumerate() {
        alike.entry((&curve.title, texts)).or_default().push(index);
    }
    let mut names = vec![Name::default(); curves.len()];
    for ((title, texts), members) in alike {
        let same: Vec<&CurveFacts> = members.iter().map(|index| &curves[*index]).collect();
        for (index, marks) in members.into_iter().zip(marks(&same)) {
            let mark = texts.iter().cloned().chain(marks).collect::<Vec<_>>().join(", ");
            let title = if is_common && !mark.is_empty() { String::new() } else { title.to_owned() };
            names[index] = Name { title, mark };
        }
    }
    names
}

/// Lists the texts that distinguish curves of one name.
fn marks(same: &[&CurveFacts]) -> Vec<Vec<String>> {
    let chosen = distinguishing_traits(same);
    let all: Vec<Vec<String>> = same.iter().map(|curve| chosen_traits(&curve.traits, &chosen)).collect();
    let mut counts: HashMap<&[String], usize> = HashMap::new();
    all.iter().for_each(|traits| *counts.entry(traits).or_default() += 1);
    let bookkeeping = bookkeeping(same);
    let mark = |((curve, traits), bookkeeping): ((&&CurveFacts, &Vec<String>), Vec<String>)| {
        let mut own = curve.traits.clone();
        // The seed of a single run does not describe a mean.
        if curve.runs > 1 {
            own[SEED] = None;
        }
        let mut texts = chosen_traits(&own, &chosen);
        if counts[traits.as_slice()] > 1 {
            texts.extend(bookkeeping);
        }
        if curve.runs > 1 {
            texts.push(format!("mean of {}", curve.runs));
        }
        texts
    };
    same.iter().zip(&all).zip(bookkeeping).map(mark).collect()
}

/// Lists for each curve the settings that do not affect learning in which it differs from the others of its name, and
/// its folder if they do not distinguish it.
fn bookkeeping(same: &[&CurveFacts]) -> Vec<Vec<String>> {
    let texts = differing(&same.iter().map(|other| other.bookkeeping.clone()).collect::<Vec<_>>());
    let mut counts: HashMap<&[String], usize> = HashMap::new();
    texts.iter().for_each(|texts| *counts.entry(texts).or_default() += 1);
    let with_folder = |(curve, texts): (&&CurveFacts, &Vec<String>)| {
        let folder = (counts[texts.as_slice()] > 1).then(|| curve.folder.clone());
        texts.iter().cloned().chain(folder).collect()
    };
    same.iter().zip(&texts).map(with_folder).collect()
}

/// Lists the parts of the curves' names: the workload if there are several, the optimizer, and the settings in which a
/// curve differs from others of its title.
fn name_parts(curves: &[CurveFacts], is_mixed: bool) -> Vec<Vec<String>> {
    let keys: Vec<_> = curves.iter().map(|curve| (&curve.title, curve.is_named.then_some(&curve.optimizer))).collect();
    let settings: Vec<_> = curves.iter().map(|curve| curve.settings.clone()).collect();
    let parts = curves.iter().zip(differing_by_key(&keys, &settings)).map(|(curve, settings)| {
        let is_other = |other: &CurveFacts| other.title == curve.title && other.optimizer != curve.optimizer;
        let needs_optimizer = curve.title.is_empty() || !settings.is_empty() || curves.iter().any(is_other);
        let family = curve.family.filter(|_| is_mixed).map(str::to_owned);
        let optimizer = Some(curve.optimizer.clone()).filter(|name| needs_optimizer && !name.is_empty());
        family.into_iter().chain(optimizer).chain(settings).collect()
    });
    parts.collect()
}

/// Finds the first traits that together distinguish all of these, or all traits in which they differ if that is not
/// enough.
fn distinguishing_traits(same: &[&CurveFacts]) -> BTreeSet<usize> {
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    for (index, first) in same[0].traits.iter().enumerate() {
        let mut seen: Vec<_> = same.iter().map(|known| chosen_traits(&known.traits, &chosen)).collect();
        seen.sort();
        seen.dedup();
        if seen.len() == same.len() {
            break;
        }
        if same.iter().any(|other| other.traits[index] != *first) {
            chosen.insert(index);
        }
    }
    chosen
}

pub(super) struct NamedCurves<'a> {
    pub name: Name,
    pub pen: Pen,
    /// Whether the colour was chosen for the run.
    pub is_color_chosen: bool,
    pub drawn: &'a RunCurves,
}

/// The pens of the runs among those of the same colour, by the runs' folders. A run's pen stays, unless another shown
/// run has the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pens {
    numbers: BTreeMap<PathBuf, usize>,
    /// The colours that were chosen for runs.
    pub colors: BTreeMap<PathBuf, [u8; 3]>,
}

impl Pens {
    pub(super) fn of_runs(&self, is_there: impl Fn(&Path) -> bool) -> Pens {
        let mut pens = self.clone();
        pens.numbers.retain(|run, _| is_there(run));
        pens.colors.retain(|run, _| is_there(run));
        pens
    }

    pub(super) fn chosen(&self, run: &RunFolder) -> Option<[u8; 3]> {
        self.colors.get(run.path()).copied()
    }

    /// Chooses a colour for a run; `None` restores its optimizer's. Its line is solid and has exactly that colour.
    pub(super) fn choose(&mut self, run: &RunFolder, color: Option<[u8; 3]>) {
        match color {
            Some(color) => drop(self.colors.insert(run.path().to_owned(), color)),
            None => drop(self.colors.remove(run.path())),
        }
        self.numbers.insert(run.path().to_owned(), 0);
    }

    fn color(&self, run: &Summary) -> [u8; 3] {
        self.chosen(&run.run).unwrap_or(run.color)
    }

    /// Assigns distinct pens to runs that are shown together, as far as their colour has enough. The pens of the first
    /// runs stay.
    pub(super) fn assign_distinct(&mut self, shown: &[&Summary]) {
        let mut taken: Vec<([u8; 3], usize)> = Vec::new();
        for run in shown {
            let color = self.color(run);
            let uses = |number: usize| taken.iter().filter(|pen| **pen == (color, number)).count();
            let own = self.numbers.get(run.run.path()).map(|number| number % Pen::COUNT);
            let number = own.filter(|number| uses(*number) == 0);
            // If all pens are taken, dashed ones are repeated first.
            let last = |number: &usize| (uses(*number), if uses(*number) == 0 { *number } else { Pen::COUNT - number });
            let number = number.or_else(|| (0..Pen::COUNT).min_by_key(last)).unwrap_or_default();
            taken.push((color, number));
            self.numbers.insert(run.run.path().to_owned(), number);
        }
    }

    pub(super) fn of(&self, run: &Summary) -> Pen {
        Pen::new(self.color(run), self.numbers.get(run.run.path()).copied().unwrap_or_default())
    }
}

pub(super) fn rgb(pen: Pen, theme: Theme) -> [u8; 3] {
    pen.color_on(background(theme))
}

pub(super) fn color(pen: Pen, theme: Theme) -> Color32 {
    let [red, green, blue] = rgb(pen, theme);
    Color32::from_rgb(red, green, blue)
}

/// The lengths of a line's dashes and gaps, in points; `None` for a solid line.
pub(super) fn dash(pen: Pen) -> Option<[f32; 2]> {
    match pen.dash {
        Dash::Solid => None,
        Dash::Dashed => Some([5.0, 2.5]),
        Dash::Dotted | Dash::DashDotted => Some([2.0, 2.5]),
        Dash::LongDashed => Some([11.0, 3.0]),
        Dash::SparselyDashed => Some([3.5, 6.0]),
    }
}

#[cfg(test)]
mod tests {
    use super::{CurveFacts, Name, distinct};
    use valleyscope_engine::optimizer::{RuleKind, RuleSpec, ShownSetting};

    fn facts(title: &str, [optimizer, rate, batch, seed]: [&str; 4], folder: &str) -> CurveFacts {
        let [learning_rate, batch_size, seed] = [rate, batch, seed].map(|text| Some(text.to_owned()));
        let traits = [learning_rate, batch_size, None, seed, None];
        let settings = vec![ShownSetting::new("learning_rate", rate), ShownSetting::new("batch", batch)];
        let (title, optimizer, folder) = (title.to_owned(), optimizer.to_owned(), folder.to_owned());
        CurveFacts {
            title,
            family: Some("MNIST"),
            optimizer,
            settings,
            traits,
            folder,
            runs: 1,
            ..CurveFacts::default()
        }
    }

    fn of_rule(rule: RuleSpec, folder: &str) -> CurveFacts {
        let settings = rule.shown_settings(&RuleSpec::in_training(rule.kind()), |_| true);
        let known = facts("", [rule.name(), "η 0.1", "batch 8", "seed 0"], folder);
        CurveFacts { settings: [settings, known.settings].concat(), ..known }
    }

    fn names(curves: &[CurveFacts]) -> Vec<String> {
        distinct(curves).iter().map(Name::whole).collect()
    }

    #[test]
    fn only_equal_titles_are_told_apart_and_by_as_little_as_it_takes() {
        let adam = facts("A", ["Adam", "η 0.1", "batch 8", "seed 0"], "x");
        let focus = facts("A", ["FOCUS", "η 0.1", "batch 8", "seed 1"], "y");
        let slow = facts("A", ["Adam", "η 0.01", "batch 8", "seed 0"], "z");
        let other = facts("B", ["Adam", "η 0.1", "batch 8", "seed 0"], "x");
        assert_eq!(names(&[adam.clone(), other.clone()]), ["A", "B"]);
        assert_eq!(names(&[adam.clone(), focus.clone(), other]), ["A (Adam)", "A (FOCUS)", "B"]);
        assert_eq!(names(&[adam.clone(), focus.clone()]), ["Adam", "FOCUS"]);
        assert_eq!(names(&[adam, focus, slow]), ["Adam, η 0.1", "FOCUS, η 0.1", "Adam, η 0.01"]);
    }

    #[test]
    fn equal_runs_are_distinguished_by_their_folders() {
        let traits = |seed| ["Adam", "η 0.1", "batch 8", seed];
        let twins = [facts("A", traits("seed 0"), "x"), facts("A", traits("seed 0"), "y")];
        assert_eq!(names(&twins), ["x", "y"]);
        let third = [twins[0].clone(), twins[1].clone(), facts("A", traits("seed 1"), "z")];
        assert_eq!(names(&third), ["seed 0, x", "seed 0, y", "seed 1"]);
    }

    #[test]
    fn each_setting_that_differs_is_named_whether_it_is_a_default_or_not() {
        let [adam, focus] = [RuleKind::Adam, RuleKind::Focus].map(RuleSpec::in_training);
        let strong = adam.with("weight_decay", 0.1).expect("a weight decay");
        let of = |rules: &[RuleSpec]| names(&rules.iter().map(|rule| of_rule(*rule, "x")).collect::<Vec<_>>());
        assert_eq!(of(&[strong, focus]), ["Adam, ω 0.1", "FOCUS, ω 0.01"]);
        assert_eq!(of(&[adam, focus]), ["Adam", "FOCUS"]);
        let far = focus.with("gamma", 0.4).expect("an attraction");
        assert_eq!(of(&[focus, far]), ["FOCUS, γ 0.2", "FOCUS, γ 0.4"]);
        assert_eq!(of(&[adam, far]), ["Adam", "FOCUS, γ 0.4"]);
        assert_eq!(of(&[far]), ["FOCUS"]);
        // β₂ of Adam and of FOCUS are not compared.
        let slow = adam.with("beta2", 0.95).expect("a decay rate");
        assert_eq!(of(&[slow, focus]), ["Adam, β₂ 0.95", "FOCUS"]);
        let plain = RuleSpec::in_training(RuleKind::Sgd);
        let nesterov = plain.with("form", 1.0).expect("a form");
        assert_eq!(of(&[plain, nesterov]), ["SGD, momentum heavy ball", "SGD, Nesterov"]);
    }

    #[test]
    fn runs_of_a_given_name_are_told_apart_by_what_differs_among_them() {
        let [weak, strong] = [0.1, 0.2].map(|omega| {
            let rule = RuleSpec::in_training(RuleKind::Focus).with("weight_decay", omega).expect("a weight decay");
            CurveFacts { is_named: true, optimizer: "FOCUS, η 6e-4".to_owned(), ..of_rule(rule, "x") }
        });
        let adam = of_rule(RuleSpec::in_training(RuleKind::Adam), "y");
        assert_eq!(names(&[weak.clone(), adam.clone()]), ["FOCUS, η 6e-4", "Adam"]);
        assert_eq!(names(&[weak, strong, adam]), ["FOCUS, η 6e-4, ω 0.1", "FOCUS, η 6e-4, ω 0.2", "Adam"]);
    }

    #[test]
    fn settings_that_do_not_affect_learning_are_named_before_a_folder() {
        let of_device = |device: &str, folder: &str| CurveFacts {
            bookkeeping: vec![ShownSetting {
                is_usual: false,
                ..ShownSetting::new("device", format!("device {device}"))
            }],
            ..of_rule(RuleSpec::in_training(RuleKind::Adam), folder)
        };
        assert_eq!(
            names(&[of_device("Cpu", "x"), of_device("Cuda(0)", "y")]),
            ["Adam, device Cpu", "Adam, device Cuda(0)"]
        );
        let three = [of_device("Cpu", "x"), of_device("Cuda(0)", "y"), of_device("Cpu", "z")];
        assert_eq!(names(&three), ["Adam, device Cpu, x", "Adam, device Cuda(0)", "Adam, device Cpu, z"]);
    }

    #[test]
    fn curves_without_a_title_are_called_by_their_optimizer_and_what_differs() {
        let one = facts("", ["Adam", "η 0.1", "batch 8", "seed 0"], "x");
        let other = facts("", ["Adam", "η 0.1", "batch 8", "seed 1"], "y");
        let titled = facts("Mine", ["Adam", "η 0.1", "batch 8", "seed 0"], "z");
        assert_eq!(names(std::slice::from_ref(&one)), ["Adam"]);
        assert_eq!(names(&[one.clone(), titled]), ["Adam", "Mine"]);
        assert_eq!(names(&[one.clone(), other]), ["Adam, seed 0", "Adam, seed 1"]);
        assert_eq!(names(&[one.clone(), CurveFacts { folder: "y".to_owned(), ..one }]), ["Adam, x", "Adam, y"]);
    }

    #[test]
    fn where_workloads_differ_each_name_says_which_it_is() {
        let mnist = facts("", ["Adam", "η 0.1", "batch 8", "seed 0"], "x");
        let mut gpt2 = facts("", ["FOCUS", "η 0.1", "batch 8", "seed 0"], "y");
        gpt2.family = Some("GPT-2");
        let titled = CurveFacts { title: "Mine".to_owned(), ..gpt2.clone() };
        assert_eq!(names(&[mnist.clone(), gpt2]), ["MNIST, Adam", "GPT-2, FOCUS"]);
        assert_eq!(names(&[mnist, titled]), ["MNIST, Adam", "Mine (GPT-2)"]);
    }

    #[test]
    fn a_mean_says_of_how_many_and_no_seed() {
        let mean = CurveFacts { runs: 3, ..facts("A", ["Adam", "η 0.1", "batch 8", "seed 0"], "x") };
        let one = facts("A", ["Adam", "η 0.1", "batch 8", "seed 3"], "y");
        assert_eq!(names(std::slice::from_ref(&mean)), ["A (mean of 3)"]);
        assert_eq!(names(&[mean, one]), ["mean of 3", "seed 3"]);
    }
}
