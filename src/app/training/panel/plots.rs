//! The plots of the chosen runs.

use std::sync::Arc;

use egui::Ui;
use valleyscope_experiments::view::Pen;
use valleyscope_runs::RunFolder;

use super::TrainingPanel;
use crate::app::training::charts::ChartAction;
use crate::app::training::export::{export_curves, export_table};
use crate::app::training::named_curves::NamedCurves;
use crate::app::training::names::{CurveFacts, Name, curve_facts, distinct};
use crate::app::training::pens::NEUTRAL;
use crate::app::training::plot_export::CurvesExport;
use crate::app::training::plotter::RunCurves;
use crate::app::training::scan_view::{self, ScanAction};
use crate::app::training::summary::Summary;
use crate::app::training::watcher::WatcherCommand;

/// The names of the drawn curves, with what they depend on.
pub(super) struct KnownNames {
    generation: u64,
    runs: Vec<Vec<RunFolder>>,
    names: Arc<[Name]>,
}

impl TrainingPanel {
    /// Returns the names of the drawn curves, which depend on the listed runs.
    fn curve_names(&mut self) -> Arc<[Name]> {
        let is_same = |known: &KnownNames| {
            let runs = self.drawn.iter().map(|drawn| &drawn.runs);
            known.generation == self.generation && known.runs.iter().eq(runs)
        };
        if !self.curve_names.as_ref().is_some_and(is_same) {
            let facts: Vec<CurveFacts> = self.drawn.iter().map(|drawn| self.curve_facts(drawn)).collect();
            let runs = self.drawn.iter().map(|drawn| drawn.runs.clone()).collect();
            self.curve_names = Some(KnownNames { generation: self.generation, runs, names: distinct(&facts).into() });
        }
        self.curve_names.as_ref().map_or_else(Arc::default, |known| Arc::clone(&known.names))
    }

    /// Collects the facts from which a curve is named.
    fn curve_facts(&self, drawn: &RunCurves) -> CurveFacts {
        let (first, runs) = (&drawn.runs[0], drawn.runs.len());
        match self.summary(first) {
            Some(summary) => curve_facts(summary, runs),
            None => CurveFacts { title: first.name(), folder: first.name(), runs, ..CurveFacts::default() },
        }
    }

    /// Returns the title that all curves share, if their names leave it out.
    fn left_out(&self, groups: &[NamedCurves<'_>]) -> Option<String> {
        let title = |group: &NamedCurves<'_>| Some(self.summary(&group.drawn.runs[0])?.title.clone());
        let first = title(groups.first()?)?;
        let is_left_out =
            groups.iter().all(|group| group.name.title.is_empty() && title(group).as_ref() == Some(&first));
        is_left_out.then_some(first)
    }

    fn named_curves<'a>(&self, drawn: &'a RunCurves, name: Name) -> NamedCurves<'a> {
        let first = &drawn.runs[0];
        NamedCurves { name, pen: self.pen(first), is_color_chosen: self.pens.chosen(first).is_some(), drawn }
    }

    fn pen(&self, run: &RunFolder) -> Pen {
        self.summary(run).map_or(Pen::new(NEUTRAL, 0), |summary| self.pens.of(summary))
    }

    /// Shows the curves of the chosen runs, or the last chosen scan.
    pub(super) fn plots(&mut self, ui: &mut Ui) {
        if self.selected.is_empty() {
            let text = if self.runs.is_empty() {
                "Curves appear here once a run has begun."
            } else {
                "Choose a run in the list, or several with their boxes, to see their curves."
            };
            ui.centered_and_justified(|ui| ui.weak(text));
            return;
        }
        let (plotted, chosen) = (self.plotted(), self.selected.len());
        if plotted.is_empty() {
            let text = match chosen {
                1 => "The chosen run does not match the search.".to_owned(),
                count => format!("None of the {count} chosen runs matches the search."),
            };
            ui.centered_and_justified(|ui| ui.weak(text));
            return;
        }
        let note =
            (plotted.len() < chosen).then(|| format!("The search matches {} of {chosen} chosen runs", plotted.len()));
        let names = self.curve_names();
        let named = self.drawn.iter().zip(names.iter());
        let groups: Vec<NamedCurves<'_>> = named.map(|(drawn, name)| self.named_curves(drawn, name.clone())).collect();
        // A scan has no curves; the last chosen one hides those of other runs.
        let scan = groups.iter().rev().find(|group| group.drawn.scan.is_some());
        let focus = self.selected.last();
        let scan = scan.filter(|group| group.drawn.runs.last() == focus);
        if let Some(scan) = scan.and_then(|group| group.drawn.scan.as_ref()) {
            let name = focus.and_then(|run| self.summary(run)).map_or_else(|| scan.title.clone(), Summary::in_full);
            let run = focus.cloned();
            let chosen = run.as_ref().map(|run| self.pens.of_scan(run)).unwrap_or_default();
            let shown = scan.recolored(&chosen);
            match scan_view::show(ui, &shown, &name, &chosen, &mut self.figure_layout) {
                Some(ScanAction::Export(file)) => {
                    let layout = self.figure_layout;
                    self.exports.begin(ui.ctx(), move || file.export(&shown, layout));
                }
                Some(ScanAction::Color(optimizer, color)) => {
                    if let Some(run) = run {
                        self.pens.choose_in_scan(&run, optimizer, color);
                    }
                }
                None => {}
            }
            return;
        }
        self.charts.aliases = Arc::clone(&self.aliases);
        let asked = self.charts.ui(ui, &groups, note.as_deref(), &mut self.figure_layout);
        match asked {
            Some(ChartAction::Differences) => self.show_differences(ui.ctx(), plotted),
            Some(ChartAction::Table) => self.exports.begin(ui.ctx(), move || export_table(&plotted)),
            Some(ChartAction::Figure(format)) => {
                let names = groups.iter().map(|group| (group.name.whole(), group.pen)).collect();
                let title = self.left_out(&groups);
                let picture = CurvesExport { title, names, runs: plotted, plots: self.charts.plots(&groups) };
                let layout = self.figure_layout;
                self.exports.begin(ui.ctx(), move || export_curves(picture, format, layout));
            }
            Some(ChartAction::Color(curve, color)) => {
                let runs = groups[curve].drawn.runs.clone();
                runs.iter().for_each(|run| self.pens.choose(run, color));
                self.sync_selection();
            }
            None => {}
        }
        if let Some((name, shown)) = self.charts.renamed.take() {
            self.threads().jobs.send(WatcherCommand::Alias(name, shown));
        }
    }
}
