//! Assigns a pen to each run: the colour of its optimizer or a chosen one, in a shade and dashes that distinguish it
//! from other shown runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use egui::{Color32, Theme};
use valleyscope_experiments::view::{Dash, Pen};
use valleyscope_runs::RunFolder;

use super::summary::Summary;
use crate::app::landscape::marker::background;

/// The colour of runs whose optimizer is unknown, and of scans, which have several.
pub(super) const NEUTRAL: [u8; 3] = [150; 3];

/// The pens of the runs among those of the same colour. A run keeps its own, unless another shown run has the same.
#[derive(Default)]
pub(super) struct Pens {
    numbers: BTreeMap<PathBuf, usize>,
    /// The colours that were chosen for runs.
    colors: BTreeMap<PathBuf, [u8; 3]>,
    /// The colours that were chosen for the optimizers of scans.
    scans: BTreeMap<PathBuf, ScanColors>,
}

/// The colours that were chosen for the optimizers of a scan, by their names.
pub(super) type ScanColors = BTreeMap<String, [u8; 3]>;

impl Pens {
    /// Restores the pens and the chosen colours of the last session.
    pub(super) fn restore(
        numbers: BTreeMap<PathBuf, usize>,
        colors: BTreeMap<PathBuf, [u8; 3]>,
        scans: BTreeMap<PathBuf, ScanColors>,
    ) -> Pens {
        Pens { numbers, colors, scans }
    }

    /// Returns the pens of those runs that the next session may find again.
    pub(super) fn numbers(&self, is_there: impl Fn(&Path) -> bool) -> BTreeMap<PathBuf, usize> {
        self.numbers.iter().filter(|(run, _)| is_there(run)).map(|(run, number)| (run.clone(), *number)).collect()
    }

    /// Returns the chosen colours of those runs that the next session may find again.
    pub(super) fn colors(&self, is_there: impl Fn(&Path) -> bool) -> BTreeMap<PathBuf, [u8; 3]> {
        self.colors.iter().filter(|(run, _)| is_there(run)).map(|(run, color)| (run.clone(), *color)).collect()
    }

    /// Returns the chosen colours of those scans that the next session may find again.
    pub(super) fn scans(&self, is_there: impl Fn(&Path) -> bool) -> BTreeMap<PathBuf, ScanColors> {
        self.scans.iter().filter(|(run, _)| is_there(run)).map(|(run, colors)| (run.clone(), colors.clone())).collect()
    }

    /// Returns the colours that were chosen for the optimizers of a scan.
    pub(super) fn of_scan(&self, run: &RunFolder) -> ScanColors {
        self.scans.get(run.path()).cloned().unwrap_or_default()
    }

    /// Chooses a colour for an optimizer of a scan; `None` restores its usual one.
    pub(super) fn choose_in_scan(&mut self, run: &RunFolder, optimizer: String, color: Option<[u8; 3]>) {
        let colors = self.scans.entry(run.path().to_owned()).or_default();
        match color {
            Some(color) => drop(colors.insert(optimizer, color)),
            None => drop(colors.remove(&optimizer)),
        }
    }

    /// Returns the colour that was chosen for a run.
    pub(super) fn chosen(&self, run: &RunFolder) -> Option<[u8; 3]> {
        self.colors.get(run.path()).copied()
    }

    /// Chooses a colour for a run; `None` restores its optimizer's. Its line is solid and has that colour itself.
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

    /// Gives runs that are shown together distinct pens, as far as their colour has enough. The first runs keep theirs.
    pub(super) fn assign_distinct(&mut self, shown: &[&Summary]) {
        let mut taken: Vec<([u8; 3], usize)> = Vec::new();
        for run in shown {
            let color = self.color(run);
            let uses = |number: usize| taken.iter().filter(|pen| **pen == (color, number)).count();
            let own = self.numbers.get(run.run.path()).map(|number| number % Pen::COUNT);
            let number = own.filter(|number| uses(*number) == 0);
            // Where all pens are taken, dashed ones are repeated first.
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

/// Returns the red, green and blue of a line on a theme's background.
pub(super) fn rgb(pen: Pen, theme: Theme) -> [u8; 3] {
    pen.color_on(background(theme))
}

/// Returns the colour of a line on a theme's background.
pub(super) fn color(pen: Pen, theme: Theme) -> Color32 {
    let [red, green, blue] = rgb(pen, theme);
    Color32::from_rgb(red, green, blue)
}

/// Returns the lengths of a line's dashes and gaps, in points; `None` for a solid line.
pub(super) fn dash(pen: Pen) -> Option<[f32; 2]> {
    match pen.dash {
        Dash::Solid => None,
        Dash::Dashed => Some([5.0, 2.5]),
        Dash::Dotted | Dash::DashDotted => Some([2.0, 2.5]),
        Dash::LongDashed => Some([11.0, 3.0]),
        Dash::SparselyDashed => Some([3.5, 6.0]),
    }
}
