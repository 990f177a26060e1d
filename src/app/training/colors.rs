//! A colour for each run, the same wherever it is shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use egui::{Color32, Ui};

use crate::app::landscape::marker::line_color;

/// Easily told apart, by readers with red-green deficiency too.
const PALETTE: [[u8; 3]; 10] = [
    [57, 134, 229],
    [232, 126, 35],
    [38, 160, 105],
    [201, 79, 146],
    [222, 180, 30],
    [128, 98, 214],
    [66, 188, 208],
    [196, 62, 56],
    [140, 150, 60],
    [150, 105, 75],
];

#[derive(Default)]
pub struct Colors {
    given: BTreeMap<PathBuf, usize>,
}

impl Colors {
    /// The colours of the last session.
    pub fn recall(given: BTreeMap<PathBuf, usize>) -> Colors {
        Colors { given: given.into_iter().map(|(run, color)| (run, color % PALETTE.len())).collect() }
    }

    /// The colours of those runs that the next session may find again.
    pub fn memory(&self, is_there: impl Fn(&Path) -> bool) -> BTreeMap<PathBuf, usize> {
        self.given.iter().filter(|(run, _)| is_there(run)).map(|(run, color)| (run.clone(), *color)).collect()
    }

    /// Gives a colour to each run that has none, one that is the least used.
    pub fn give<'r>(&mut self, runs: impl IntoIterator<Item = &'r Path>) {
        for run in runs {
            if !self.given.contains_key(run) {
                let used = |color: &usize| self.given.values().filter(|given| *given == color).count();
                let color = (0..PALETTE.len()).min_by_key(used).unwrap_or_default();
                self.given.insert(run.to_owned(), color);
            }
        }
    }

    /// As it is printed.
    pub fn plain(&self, run: &Path) -> [u8; 3] {
        PALETTE[self.given.get(run).copied().unwrap_or_default()]
    }

    pub fn of(&self, ui: &Ui, run: &Path) -> Color32 {
        let [red, green, blue] = self.plain(run);
        line_color(Color32::from_rgb(red, green, blue), ui.theme())
    }
}
