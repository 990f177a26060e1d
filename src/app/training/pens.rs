//! A line for each run: the colour of its optimizer, in a shade and dashes that tell it from others that are shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use egui::{Color32, Theme};

use super::summary::Summary;
use crate::app::landscape::marker::background;
use crate::view::{Dash, Pen};

/// The colour of runs whose optimizer is not known, and of scans, which have several.
pub(super) const NEUTRAL: [u8; 3] = [150; 3];

/// The pens of the runs among those of their colours. A run keeps its own, unless another shown run has the same.
#[derive(Default)]
pub(super) struct Pens {
    numbers: BTreeMap<PathBuf, usize>,
}

impl Pens {
    /// The pens of the last session.
    pub(super) fn recall(numbers: BTreeMap<PathBuf, usize>) -> Pens {
        Pens { numbers }
    }

    /// The pens of those runs that the next session may find again.
    pub(super) fn memory(&self, is_there: impl Fn(&Path) -> bool) -> BTreeMap<PathBuf, usize> {
        self.numbers.iter().filter(|(run, _)| is_there(run)).map(|(run, number)| (run.clone(), *number)).collect()
    }

    /// Gives runs that are shown together distinct pens, as far as their colour has enough. The first runs keep theirs.
    pub(super) fn tell_apart(&mut self, shown: &[&Summary]) {
        let mut taken: Vec<([u8; 3], usize)> = Vec::new();
        for run in shown {
            let uses = |number: usize| taken.iter().filter(|pen| **pen == (run.color, number)).count();
            let own = self.numbers.get(run.run.path()).map(|number| number % Pen::COUNT);
            let number = own.filter(|number| uses(*number) == 0);
            let number = number.or_else(|| (0..Pen::COUNT).min_by_key(|number| uses(*number))).unwrap_or_default();
            taken.push((run.color, number));
            self.numbers.insert(run.run.path().to_owned(), number);
        }
    }

    pub(super) fn of(&self, run: &Summary) -> Pen {
        Pen::new(run.color, self.numbers.get(run.run.path()).copied().unwrap_or_default())
    }
}

/// The colour of a line on a theme's background.
pub(super) fn color(pen: Pen, theme: Theme) -> Color32 {
    let [red, green, blue] = pen.color_on(background(theme));
    Color32::from_rgb(red, green, blue)
}

/// The lengths of the dashes of a line and of the gaps between them, in points; none for a whole line.
pub(super) fn dash(pen: Pen) -> Option<[f32; 2]> {
    match pen.dash {
        Dash::Solid => None,
        Dash::Dashed => Some([5.0, 2.5]),
        Dash::Dotted => Some([2.0, 2.5]),
    }
}
