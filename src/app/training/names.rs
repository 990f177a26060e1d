//! What curves are called in legends, so that no two are called the same.

use super::watcher::Summary;
use crate::app::number;

/// What a curve is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    pub title: String,
    /// What tells it from others of the same title; empty where that takes nothing.
    pub mark: String,
}

impl Name {
    pub fn whole(&self) -> String {
        if self.mark.is_empty() { self.title.clone() } else { format!("{} ({})", self.title, self.mark) }
    }
}

/// What is known of a curve.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub title: String,
    /// Optimizer, learning rate, batch size, seed, as far as they are known.
    pub traits: [Option<String>; 4],
    /// The first run's folder.
    pub folder: String,
    /// Runs of which it is the mean.
    pub runs: usize,
}

/// What tells this run from others.
pub fn traits(run: &Summary) -> [Option<String>; 4] {
    [
        Some(run.optimizer.clone()).filter(|optimizer| !optimizer.is_empty()),
        run.learning_rate.map(|rate| format!("η {}", number::text(rate))),
        run.batch_size.map(|size| format!("batch {size}")),
        run.seed.map(|seed| format!("seed {seed}")),
    ]
}

/// A name for each. Curves of one title are told apart by as few traits as it takes, or else by their folders.
pub fn distinct(curves: &[Known]) -> Vec<Name> {
    let mut names: Vec<Name> =
        curves.iter().map(|curve| Name { title: curve.title.clone(), mark: String::new() }).collect();
    for (index, curve) in curves.iter().enumerate() {
        let alike: Vec<&Known> = curves.iter().filter(|other| other.title == curve.title).collect();
        let mut marks = telling(&alike);
        let mark = |known: &Known, traits: &[usize]| -> Vec<String> {
            traits.iter().filter_map(|index| known.traits[*index].clone()).collect()
        };
        let same = alike.iter().filter(|other| mark(other, &marks) == mark(curve, &marks)).count();
        // The seed of one of them is not that of a mean.
        marks.retain(|index| *index < 3 || curve.runs == 1);
        let mut words = mark(curve, &marks);
        if same > 1 {
            words.push(curve.folder.clone());
        }
        if curve.runs > 1 {
            words.push(format!("mean of {}", curve.runs));
        }
        names[index].mark = words.join(", ");
    }
    names
}

/// The first traits that together tell all of these apart, or all in which they differ where that is not enough.
fn telling(alike: &[&Known]) -> Vec<usize> {
    let mut telling: Vec<usize> = Vec::new();
    for index in 0..alike[0].traits.len() {
        let of = |known: &&Known| telling.iter().map(|index| known.traits[*index].clone()).collect::<Vec<_>>();
        let mut seen: Vec<_> = alike.iter().map(of).collect();
        seen.sort();
        seen.dedup();
        if seen.len() == alike.len() {
            break;
        }
        if alike.iter().any(|other| other.traits[index] != alike[0].traits[index]) {
            telling.push(index);
        }
    }
    telling
}

#[cfg(test)]
mod tests {
    use super::{Known, Name, distinct};

    fn known(title: &str, traits: [&str; 4], folder: &str) -> Known {
        let traits = traits.map(|text| Some(text.to_owned()));
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
        assert_eq!(names(&[adam.clone(), other]), ["A", "B"]);
        assert_eq!(names(&[adam.clone(), focus.clone()]), ["A (Adam)", "A (FOCUS)"]);
        assert_eq!(names(&[adam, focus, slow]), ["A (Adam, η 0.1)", "A (FOCUS, η 0.1)", "A (Adam, η 0.01)"]);
    }

    #[test]
    fn what_differs_in_nothing_is_told_apart_by_its_folder() {
        let traits = |seed| ["Adam", "η 0.1", "batch 8", seed];
        let twins = [known("A", traits("seed 0"), "x"), known("A", traits("seed 0"), "y")];
        assert_eq!(names(&twins), ["A (x)", "A (y)"]);
        let third = [twins[0].clone(), twins[1].clone(), known("A", traits("seed 1"), "z")];
        assert_eq!(names(&third), ["A (seed 0, x)", "A (seed 0, y)", "A (seed 1)"]);
    }

    #[test]
    fn a_mean_says_of_how_many_and_no_seed() {
        let mean = Known { runs: 3, ..known("A", ["Adam", "η 0.1", "batch 8", "seed 0"], "x") };
        let one = known("A", ["Adam", "η 0.1", "batch 8", "seed 3"], "y");
        assert_eq!(names(std::slice::from_ref(&mean)), ["A (mean of 3)"]);
        assert_eq!(names(&[mean, one]), ["A (mean of 3)", "A (seed 3)"]);
    }
}
