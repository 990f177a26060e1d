//! Distinct names of curves in legends.

use std::collections::{BTreeMap, BTreeSet};

use super::summary::Summary;
use crate::app::number;
use crate::optimizer::{Hyperparameter, RuleSpec};
use crate::view::ticks::grouped;

/// The name of a curve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    /// Empty where none was given, or where all curves have the same title and are distinguished by a mark.
    pub title: String,
    /// The distinction from others of the same title; empty where none is needed. Without a title, at least the
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

/// The facts about a curve.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The title given by the user; empty where it is named by its settings.
    pub title: String,
    pub traits: Traits,
    /// The first run's folder.
    pub folder: String,
    /// Runs of which it is the mean.
    pub runs: usize,
}

/// Workload, optimizer, unusual hyperparameters, learning rate, batch size, steps, seed and fork in words, as far as they
/// are known.
pub(super) type Traits = [Option<String>; 8];

// The indices of these among the traits.
const WORKLOAD: usize = 0;
const OPTIMIZER: usize = 1;
const UNUSUAL: usize = 2;
const SEED: usize = 6;

/// The traits that distinguish this run from others.
pub(super) fn traits(run: &Summary) -> Traits {
    let [rate, batch_size, seed] = numbers(run);
    [
        run.family.map(str::to_owned),
        optimizer(run),
        Some(run.unusual.join(", ")).filter(|words| !words.is_empty()),
        rate,
        batch_size,
        run.steps.filter(|_| !run.is_scan).map(|steps| format!("{} steps", grouped(steps))),
        seed,
        forked(run),
    ]
}

fn forked(run: &Summary) -> Option<String> {
    run.forked.as_ref().map(|forked| format!("forked at {}", grouped(forked.from_step)))
}

fn optimizer(run: &Summary) -> Option<String> {
    let several = if run.is_scan { "scan of " } else { "" };
    Some(format!("{several}{}", run.optimizer)).filter(|_| !run.optimizer.is_empty())
}

fn numbers(run: &Summary) -> [Option<String>; 3] {
    [
        run.learning_rate.map(|rate| format!("η {}", number::text(rate))),
        run.batch_size.map(|size| format!("batch {size}")),
        run.seed.map(|seed| format!("seed {seed}")),
    ]
}

/// Sets the texts of the settings of runs in a list so that they are distinct: the workload, where there are several,
/// the optimizer, the differences from other runs of its workload, and then the rest. A list cuts names at their ends.
/// The steps are shown with the status.
pub(super) fn word_settings(runs: &mut [Summary]) {
    let is_mixed = runs.iter().any(|run| run.family != runs[0].family);
    let mut seen = Seen::default();
    runs.iter().for_each(|run| seen.add(run));
    for run in runs {
        let (own, shared) = seen.hyperparameters(run);
        let (differing, equal) = seen.numbers(run);
        let family = run.family.filter(|_| is_mixed).map(str::to_owned);
        let words = family
            .into_iter()
            .chain(optimizer(run))
            .chain(forked(run))
            .chain(own)
            .chain(differing)
            .chain(equal)
            .chain(shared);
        run.settings = words.collect::<Vec<_>>().join(", ");
    }
}

type Family = Option<&'static str>;

/// Counts of the settings of the runs of a list.
#[derive(Default)]
struct Seen {
    /// The learning rates, batch sizes and seeds of a workload's runs.
    numbers: BTreeMap<Family, [BTreeSet<Option<String>>; 3]>,
    /// The number of runs of a workload with an optimizer.
    runs: BTreeMap<(Family, String), usize>,
    /// The number of them with an unusual hyperparameter.
    uses: BTreeMap<(Family, String, String), usize>,
}

impl Seen {
    fn add(&mut self, run: &Summary) {
        for (seen, number) in self.numbers.entry(run.family).or_default().iter_mut().zip(numbers(run)) {
            seen.insert(number);
        }
        *self.runs.entry((run.family, run.optimizer.clone())).or_default() += 1;
        for word in &run.unusual {
            *self.uses.entry((run.family, run.optimizer.clone(), word.clone())).or_default() += 1;
        }
    }

    /// The unusual hyperparameters that not all runs with the same optimizer have, and those that all have.
    fn hyperparameters(&self, run: &Summary) -> (Vec<String>, Vec<String>) {
        let runs = self.runs[&(run.family, run.optimizer.clone())];
        let uses = |word: &String| self.uses[&(run.family, run.optimizer.clone(), word.clone())];
        run.unusual.iter().cloned().partition(|word| uses(word) < runs)
    }

    /// The numbers in which runs of the workload differ, and those in which they do not.
    fn numbers(&self, run: &Summary) -> (Vec<String>, Vec<String>) {
        let differs = self.numbers[&run.family].each_ref().map(|seen| seen.len() > 1);
        let words = numbers(run).into_iter().zip(differs);
        let (differing, equal): (Vec<_>, Vec<_>) = words.partition(|(_, differs)| *differs);
        let words = |of: Vec<(Option<String>, bool)>| of.into_iter().filter_map(|(word, _)| word).collect();
        (words(differing), words(equal))
    }
}

impl Summary {
    /// The name of the run in a list: its settings and then its title, or the other way round for a scan, which has
    /// many settings, and where the user has given it a title. The second is empty where no settings are known.
    pub fn heading(&self) -> [String; 2] {
        let settings = self.settings.clone();
        if settings.is_empty() || self.is_scan || !self.notes.title.is_empty() {
            [self.title.clone(), settings]
        } else {
            [settings, self.title.clone()]
        }
    }

    /// The title of its curve: the one that the user has given it, or where no settings are known, whatever it is
    /// called. Empty where its settings say enough.
    pub fn own_title(&self) -> &str {
        let has_settings = !self.optimizer.is_empty() && !self.is_scan;
        if has_settings { &self.notes.title } else { &self.title }
    }

    /// The heading in one piece.
    pub fn in_full(&self) -> String {
        let [first, second] = self.heading();
        if second.is_empty() { first } else { format!("{first} ({second})") }
    }
}

/// A name for each. Curves of one title are distinguished by as few traits as possible, or else by their folders. A
/// title shared by all of several curves is left out. Those without a title are named by their optimizers, and
/// distinguished in the same way. Where there are several workloads, each name includes its own.
pub(super) fn distinct(curves: &[Known]) -> Vec<Name> {
    let is_common = curves.len() > 1 && curves.iter().all(|curve| curve.title == curves[0].title);
    let is_mixed = curves.iter().any(|curve| curve.traits[WORKLOAD] != curves[0].traits[WORKLOAD]);
    let names = curves.iter().map(|curve| {
        let alike: Vec<&Known> = curves.iter().filter(|other| other.title == curve.title).collect();
        let mut marks = telling(&alike);
        if curve.title.is_empty() {
            marks.insert(OPTIMIZER);
        }
        if is_mixed {
            marks.insert(WORKLOAD);
        }
        let mark = |known: &Known, traits: &BTreeSet<usize>| -> Vec<String> {
            traits.iter().filter_map(|index| known.traits[*index].clone()).collect()
        };
        let same = alike.iter().filter(|other| mark(other, &marks) == mark(curve, &marks)).count();
        // The seed of one of them is not that of a mean.
        marks.retain(|index| *index != SEED || curve.runs == 1);
        let mut words = mark(curve, &marks);
        if same > 1 {
            words.push(curve.folder.clone());
        }
        if curve.runs > 1 {
            words.push(format!("mean of {}", curve.runs));
        }
        let mark = words.join(", ");
        let title = if is_common && !mark.is_empty() { String::new() } else { curve.title.clone() };
        Name { title, mark }
    });
    names.collect()
}

/// The first traits that together distinguish all of these, or all in which they differ where that is not enough.
fn telling(alike: &[&Known]) -> BTreeSet<usize> {
    let mut telling: BTreeSet<usize> = BTreeSet::new();
    for index in 0..alike[0].traits.len() {
        let of = |known: &&Known| telling.iter().map(|index| known.traits[*index].clone()).collect::<Vec<_>>();
        let mut seen: Vec<_> = alike.iter().map(of).collect();
        seen.sort();
        seen.dedup();
        if seen.len() == alike.len() {
            break;
        }
        if alike.iter().any(|other| other.traits[index] != alike[0].traits[index]) {
            telling.insert(index);
        }
    }
    // One whose hyperparameters are the usual ones is known by its optimizer.
    if telling.contains(&UNUSUAL) {
        telling.insert(OPTIMIZER);
    }
    telling
}

/// The hyperparameters of a rule that are not its usual ones, in words.
pub(super) fn unusual(rule: &RuleSpec) -> Vec<String> {
    let usual = RuleSpec::in_training(rule.kind());
    let differing =
        rule.hyperparameters().zip(usual.hyperparameters()).filter(|((_, value), (_, usual))| value != usual);
    let word = |(of, value): (&Hyperparameter, f64)| match of.choices().get(value as usize) {
        Some(choice) => choice.words.to_owned(),
        None => format!("{} {}", of.symbol, number::text(value)),
    };
    differing.map(|(set, _)| word(set)).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Known, Name, UNUSUAL, WORKLOAD, distinct};

    fn known(title: &str, [optimizer, rate, batch, seed]: [&str; 4], folder: &str) -> Known {
        let traits = [Some("MNIST"), Some(optimizer), None, Some(rate), Some(batch), None, Some(seed), None];
        let traits = traits.map(|text| text.map(str::to_owned));
        Known { title: title.to_owned(), traits, folder: folder.to_owned(), runs: 1 }
    }

    fn names(curves: &[Known]) -> Vec<String> {
        distinct(curves).iter().map(Name::whole).collect()
    }

    #[test]
    fn only_equal_titles_are_told_apart_and_by_as_little_as_it_takes() {
        let adam = known("A", ["Adam", "η 0.1", "batch 8", "seed 0"], "x");
        let focus = known("A", ["FOCUS", "η 0.1", "batch 8", "seed 1"], "y");
        let slow = known("A", ["Adam", "η 0.01", "batch 8", "seed 0"], "z");
        let other = known("B", ["Adam", "η 0.1", "batch 8", "seed 0"], "x");
        assert_eq!(names(&[adam.clone(), other.clone()]), ["A", "B"]);
        assert_eq!(names(&[adam.clone(), focus.clone(), other]), ["A (Adam)", "A (FOCUS)", "B"]);
        assert_eq!(names(&[adam.clone(), focus.clone()]), ["Adam", "FOCUS"]);
        assert_eq!(names(&[adam, focus, slow]), ["Adam, η 0.1", "FOCUS, η 0.1", "Adam, η 0.01"]);
    }

    #[test]
    fn what_differs_in_nothing_is_told_apart_by_its_folder() {
        let traits = |seed| ["Adam", "η 0.1", "batch 8", seed];
        let twins = [known("A", traits("seed 0"), "x"), known("A", traits("seed 0"), "y")];
        assert_eq!(names(&twins), ["x", "y"]);
        let third = [twins[0].clone(), twins[1].clone(), known("A", traits("seed 1"), "z")];
        assert_eq!(names(&third), ["seed 0, x", "seed 0, y", "seed 1"]);
    }

    #[test]
    fn unusual_hyperparameters_stand_behind_their_optimizer() {
        let usual = known("A", ["FOCUS", "η 0.1", "batch 8", "seed 0"], "x");
        let mut strong = usual.clone();
        strong.traits[UNUSUAL] = Some("γ 0.4".to_owned());
        assert_eq!(names(&[usual, strong]), ["FOCUS", "FOCUS, γ 0.4"]);
    }

    #[test]
    fn curves_without_a_title_are_called_by_their_optimizer_and_what_differs() {
        let one = known("", ["Adam", "η 0.1", "batch 8", "seed 0"], "x");
        let other = known("", ["Adam", "η 0.1", "batch 8", "seed 1"], "y");
        let titled = known("Mine", ["Adam", "η 0.1", "batch 8", "seed 0"], "z");
        assert_eq!(names(std::slice::from_ref(&one)), ["Adam"]);
        assert_eq!(names(&[one.clone(), titled]), ["Adam", "Mine"]);
        assert_eq!(names(&[one.clone(), other]), ["Adam, seed 0", "Adam, seed 1"]);
        assert_eq!(names(&[one.clone(), Known { folder: "y".to_owned(), ..one }]), ["Adam, x", "Adam, y"]);
    }

    #[test]
    fn where_workloads_differ_each_name_says_which_it_is() {
        let mnist = known("", ["Adam", "η 0.1", "batch 8", "seed 0"], "x");
        let mut gpt2 = known("", ["FOCUS", "η 0.1", "batch 8", "seed 0"], "y");
        gpt2.traits[WORKLOAD] = Some("GPT-2".to_owned());
        let titled = Known { title: "Mine".to_owned(), ..gpt2.clone() };
        assert_eq!(names(&[mnist.clone(), gpt2]), ["MNIST, Adam", "GPT-2, FOCUS"]);
        assert_eq!(names(&[mnist, titled]), ["MNIST, Adam", "Mine (GPT-2)"]);
    }

    #[test]
    fn a_mean_says_of_how_many_and_no_seed() {
        let mean = Known { runs: 3, ..known("A", ["Adam", "η 0.1", "batch 8", "seed 0"], "x") };
        let one = known("A", ["Adam", "η 0.1", "batch 8", "seed 3"], "y");
        assert_eq!(names(std::slice::from_ref(&mean)), ["A (mean of 3)"]);
        assert_eq!(names(&[mean, one]), ["mean of 3", "seed 3"]);
    }
}
