//! Distinct names of curves in legends.
//!
//! Runs are named by their optimizers and the settings that differ, unless the user has given them a title, and by
//! their workloads if there are several.

use std::collections::{BTreeMap, BTreeSet};

use valleyscope_engine::optimizer::{RuleSpec, ShownSetting, differing};
use valleyscope_experiments::view::ticks::grouped;
use valleyscope_experiments::workload::STEPS;

use super::summary::Summary;
use crate::app::number;

/// The name of a curve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    /// The title; empty if none was given, or if all curves share it and are distinguished by a mark.
    pub title: String,
    /// The distinction from others of the same title; empty where none is needed. Without a title, at least the
    /// optimizer.
    pub mark: String,
}

impl Name {
    /// Returns the main part of the name, and the distinction if that is another text.
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

/// The facts from which a curve is named.
#[derive(Clone, Debug, Default)]
pub(super) struct CurveFacts {
    /// The title given by the user; empty where it is named by its settings.
    pub title: String,
    /// The workload, if it is known.
    pub family: Option<&'static str>,
    /// The optimizer, or the name that the preset gives to the run; empty where it is not known.
    pub optimizer: String,
    /// The settings to be named where they differ from those of others.
    pub settings: Vec<ShownSetting>,
    pub traits: Traits,
    /// The first run's folder.
    pub folder: String,
    /// The number of runs of which it is the mean.
    pub runs: usize,
}

/// The learning rate, batch size, steps, seed and fork in words, as far as they are known. They distinguish runs of
/// equal settings.
pub(super) type Traits = [Option<String>; 5];

/// The index of the seed among the traits.
const SEED: usize = 3;

/// Collects the facts about the curve of a run, or of the mean of several that begins with it.
pub(super) fn curve_facts(run: &Summary, runs: usize) -> CurveFacts {
    let [rate, batch_size, seed] = numbers(run);
    let steps = run.steps.filter(|_| !run.is_scan).map(|steps| format!("{} steps", grouped(steps)));
    CurveFacts {
        title: run.own_title().to_owned(),
        family: run.family,
        optimizer: optimizer(run).unwrap_or_default(),
        settings: run.shown.clone(),
        traits: [rate, batch_size, steps, seed, forked(run)],
        folder: run.run.name(),
        runs,
    }
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

/// Sets the texts of the settings of runs in a list so that they are distinct: the workload, if there are several, the
/// optimizer, the differences from other runs of its workload, and then the rest. A list cuts names at their ends. The
/// steps are shown with the status.
pub(super) fn set_distinct_settings(runs: &mut [Summary]) {
    let is_mixed = runs.iter().any(|run| run.family != runs[0].family);
    let mut families: BTreeMap<Family, Vec<usize>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        families.entry(run.family).or_default().push(index);
    }
    for members in families.into_values() {
        let of_list = |run: &Summary| run.shown.iter().filter(|it| it.meaning != STEPS).cloned().collect();
        let words = differing(&members.iter().map(|index| of_list(&runs[*index])).collect::<Vec<_>>());
        let numbers: Vec<_> = members.iter().map(|index| numbers(&runs[*index])).collect();
        for ((index, words), own) in members.into_iter().zip(words).zip(&numbers) {
            let run = &mut runs[index];
            let differs = |place: usize| numbers.iter().any(|other| other[place] != own[place]);
            let (differing, equal): (Vec<_>, Vec<_>) = own.iter().enumerate().partition(|(place, _)| differs(*place));
            let rest = [differing, equal].concat().into_iter().filter_map(|(_, word)| word.clone());
            let mut parts: Vec<String> = run.family.filter(|_| is_mixed).map(str::to_owned).into_iter().collect();
            parts.extend(optimizer(run).into_iter().chain(forked(run)).chain(words));
            for word in rest.chain(run.non_default_hyperparameters.iter().cloned()) {
                if !parts.contains(&word) {
                    parts.push(word);
                }
            }
            run.settings = parts.join(", ");
        }
    }
}

type Family = Option<&'static str>;

impl Summary {
    /// Returns the name of the run in a list as settings and title. The title comes first for a scan, which has many
    /// settings, and if the user has given it. The second is empty where no settings are known.
    pub fn heading(&self) -> [String; 2] {
        let settings = self.settings.clone();
        if settings.is_empty() || self.is_scan || !self.notes.title.is_empty() {
            [self.title.clone(), settings]
        } else {
            [settings, self.title.clone()]
        }
    }

    /// Returns the title of its curve: the user's, or the default title where no settings are known. Empty where its
    /// settings are enough.
    pub fn own_title(&self) -> &str {
        let has_settings = !self.optimizer.is_empty() && !self.is_scan;
        if has_settings { &self.notes.title } else { &self.title }
    }

    /// Returns the heading in one piece.
    pub fn in_full(&self) -> String {
        let [first, second] = self.heading();
        if second.is_empty() { first } else { format!("{first} ({second})") }
    }
}

/// Returns a distinct name for each curve. Curves of one title are distinguished by their optimizers, the settings that
/// differ among them, and where these are equal, by as few traits as possible, or else by their folders. A title shared
/// by all of several curves is left out. Curves without a title are named by their optimizers, and distinguished in the
/// same way. With several workloads, each name includes its own.
pub(super) fn distinct(curves: &[CurveFacts]) -> Vec<Name> {
    let is_common = curves.len() > 1 && curves.iter().all(|curve| curve.title == curves[0].title);
    let is_mixed = curves.iter().any(|curve| curve.family != curves[0].family);
    let words: Vec<Vec<String>> = curves.iter().map(|curve| name_parts(curve, curves, is_mixed)).collect();
    let names = curves.iter().zip(&words).map(|(curve, own)| {
        let both = curves.iter().zip(&words);
        let same: Vec<&CurveFacts> =
            both.filter(|(other, words)| other.title == curve.title && *words == own).map(|(other, _)| other).collect();
        let mut marks = distinguishing_traits(&same);
        let mark = |known: &CurveFacts, traits: &BTreeSet<usize>| -> Vec<String> {
            traits.iter().filter_map(|index| known.traits[*index].clone()).collect()
        };
        let twins = same.iter().filter(|other| mark(other, &marks) == mark(curve, &marks)).count();
        // The seed of one of them is not that of a mean.
        marks.retain(|index| *index != SEED || curve.runs == 1);
        let mut words = own.clone();
        words.extend(mark(curve, &marks));
        if twins > 1 {
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

/// Returns the parts of a curve's name: its workload if there are several, its optimizer, and the settings in which it
/// differs from others of its title.
fn name_parts(curve: &CurveFacts, curves: &[CurveFacts], is_mixed: bool) -> Vec<String> {
    let alike: Vec<&CurveFacts> = curves.iter().filter(|other| other.title == curve.title).collect();
    let settings: Vec<_> = alike.iter().map(|other| other.settings.clone()).collect();
    let place = alike.iter().position(|other| std::ptr::eq(*other, curve)).expect("a curve has its own title");
    let settings = differing(&settings).swap_remove(place);
    let needs_optimizer =
        curve.title.is_empty() || !settings.is_empty() || alike.iter().any(|other| other.optimizer != curve.optimizer);
    let family = curve.family.filter(|_| is_mixed).map(str::to_owned);
    let optimizer = Some(curve.optimizer.clone()).filter(|name| needs_optimizer && !name.is_empty());
    family.into_iter().chain(optimizer).chain(settings).collect()
}

/// Returns the first traits that together distinguish all of these, or all in which they differ where that is not
/// enough.
fn distinguishing_traits(same: &[&CurveFacts]) -> BTreeSet<usize> {
    let mut distinguishing_traits: BTreeSet<usize> = BTreeSet::new();
    for index in 0..same[0].traits.len() {
        let of = |known: &&CurveFacts| {
            distinguishing_traits.iter().map(|index| known.traits[*index].clone()).collect::<Vec<_>>()
        };
        let mut seen: Vec<_> = same.iter().map(of).collect();
        seen.sort();
        seen.dedup();
        if seen.len() == same.len() {
            break;
        }
        if same.iter().any(|other| other.traits[index] != same[0].traits[index]) {
            distinguishing_traits.insert(index);
        }
    }
    distinguishing_traits
}

/// Formats the hyperparameters of a rule that differ from their defaults.
pub(super) fn non_default_hyperparameters(rule: &RuleSpec) -> Vec<String> {
    let settings = rule.shown_settings(&RuleSpec::in_training(rule.kind()), |_| true).into_iter();
    settings.filter(|it| !it.is_usual && !it.words.is_empty()).map(|it| it.words).collect()
}

#[cfg(test)]
mod tests {
    use super::{CurveFacts, Name, distinct};
    use valleyscope_engine::optimizer::{RuleKind, RuleSpec, ShownSetting};

    fn known(title: &str, [optimizer, rate, batch, seed]: [&str; 4], folder: &str) -> CurveFacts {
        let traits = [Some(rate), Some(batch), None, Some(seed), None].map(|text| text.map(str::to_owned));
        let settings = vec![ShownSetting::new("learning_rate", rate), ShownSetting::new("batch", batch)];
        let (title, optimizer, folder) = (title.to_owned(), optimizer.to_owned(), folder.to_owned());
        CurveFacts { title, family: Some("MNIST"), optimizer, settings, traits, folder, runs: 1 }
    }

    /// Makes a curve of a training with this rule.
    fn of_rule(rule: RuleSpec, folder: &str) -> CurveFacts {
        let settings = rule.shown_settings(&RuleSpec::in_training(rule.kind()), |_| true);
        let known = known("", [rule.name(), "η 0.1", "batch 8", "seed 0"], folder);
        CurveFacts { settings: [settings, known.settings].concat(), ..known }
    }

    fn names(curves: &[CurveFacts]) -> Vec<String> {
        distinct(curves).iter().map(Name::whole).collect()
    }

    #[test]
    fn equal_titles_are_distinguished_by_the_fewest_traits() {
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
    fn equal_runs_are_distinguished_by_their_folders() {
        let traits = |seed| ["Adam", "η 0.1", "batch 8", seed];
        let twins = [known("A", traits("seed 0"), "x"), known("A", traits("seed 0"), "y")];
        assert_eq!(names(&twins), ["x", "y"]);
        let third = [twins[0].clone(), twins[1].clone(), known("A", traits("seed 1"), "z")];
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
    }

    #[test]
    fn curves_without_a_title_are_named_by_their_optimizer_and_differences() {
        let one = known("", ["Adam", "η 0.1", "batch 8", "seed 0"], "x");
        let other = known("", ["Adam", "η 0.1", "batch 8", "seed 1"], "y");
        let titled = known("Mine", ["Adam", "η 0.1", "batch 8", "seed 0"], "z");
        assert_eq!(names(std::slice::from_ref(&one)), ["Adam"]);
        assert_eq!(names(&[one.clone(), titled]), ["Adam", "Mine"]);
        assert_eq!(names(&[one.clone(), other]), ["Adam, seed 0", "Adam, seed 1"]);
        assert_eq!(names(&[one.clone(), CurveFacts { folder: "y".to_owned(), ..one }]), ["Adam, x", "Adam, y"]);
    }

    #[test]
    fn names_include_the_workload_if_there_are_several() {
        let mnist = known("", ["Adam", "η 0.1", "batch 8", "seed 0"], "x");
        let mut gpt2 = known("", ["FOCUS", "η 0.1", "batch 8", "seed 0"], "y");
        gpt2.family = Some("GPT-2");
        let titled = CurveFacts { title: "Mine".to_owned(), ..gpt2.clone() };
        assert_eq!(names(&[mnist.clone(), gpt2]), ["MNIST, Adam", "GPT-2, FOCUS"]);
        assert_eq!(names(&[mnist, titled]), ["MNIST, Adam", "Mine (GPT-2)"]);
    }

    #[test]
    fn a_mean_is_named_by_its_number_of_runs_without_a_seed() {
        let mean = CurveFacts { runs: 3, ..known("A", ["Adam", "η 0.1", "batch 8", "seed 0"], "x") };
        let one = known("A", ["Adam", "η 0.1", "batch 8", "seed 3"], "y");
        assert_eq!(names(std::slice::from_ref(&mean)), ["A (mean of 3)"]);
        assert_eq!(names(&[mean, one]), ["mean of 3", "seed 3"]);
    }
}
