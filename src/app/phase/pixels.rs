//! The pixels that are pointed at and chosen, and the landscapes that correspond to them.

use egui::{Button, DragValue, Label, RichText, Ui};
use valleyscope_engine::landscape::StartPosition;
use valleyscope_engine::optimizer::{Decay, RatedRule, RuleKind, Schedule};
use valleyscope_engine::quantity::{LearningRate, ParticleCount};
use valleyscope_engine::setting::{SettingPath, SettingValue};
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec, StartSpec};
use valleyscope_engine::sweep::{Axis, Cell, Diagram, Metric, Quantity, SweepSpec};
use valleyscope_experiments::preset::{LandscapePreset, Preset};
use valleyscope_experiments::view::ticks::significant;

use super::diagram::TitledDiagram;
use super::map_picture::Together;
use super::map_view::{MapMarks, MapResponse};
use super::maps::together;
use super::{PhasePanel, readout};
use crate::app::landscape::controls::sliders::set_nearest;
use crate::app::shell::actions::{Action, LandscapeAction, Requests};
use crate::draw::{MapSide, shared_optimizers};
use crate::sweep::titles::axis_label;

/// A pixel of the present diagram or of one beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PanelPixel {
    pub pixel: [usize; 2],
    /// The number of the diagram beside the present one to which it belongs; none for the present one.
    pub compared: Option<u64>,
}

impl PhasePanel {
    /// Returns the diagram with this number beside the present one, if its results are in memory, or the present one.
    fn diagram_of(&self, compared: Option<u64>) -> Option<&TitledDiagram> {
        compared.map_or(Some(&self.diagrams.present), |number| self.diagrams.diagram(number))
    }

    /// Returns a pixel within its diagram, which may have been replaced by one of another size.
    fn within(&self, pixel: PanelPixel) -> Option<PanelPixel> {
        let shape = self.diagram_of(pixel.compared)?.spec().shape();
        Some(PanelPixel { pixel: [0, 1].map(|side| pixel.pixel[side].min(shape[side] - 1)), ..pixel })
    }

    /// Returns the marks on the map of a diagram: the chosen pixel and the one under the pointer, which may both be in
    /// another diagram.
    pub(super) fn marks(&self, compared: Option<u64>, pointed: Option<PanelPixel>) -> MapMarks {
        let here = |pixel: Option<PanelPixel>| {
            let pixel = self.within(pixel?)?;
            if pixel.compared == compared {
                return Some(pixel.pixel);
            }
            let [from, to] = [pixel.compared, compared].map(|number| self.diagram_of(number));
            same_pixel(from?.spec(), to?.spec(), pixel.pixel)
        };
        MapMarks { chosen: here(self.chosen), pointed: here(pointed) }
    }

    /// Executes the actions of the pointer and the keys on the map of a diagram.
    pub(super) fn take_response(
        &mut self,
        response: MapResponse,
        compared: Option<u64>,
        simulation: &SimulationSpec,
        requests: &mut Requests,
    ) {
        let Some(titled) = self.diagram_of(compared) else { return };
        let MapResponse { hovered, clicked, selected, moved, dragged } = response;
        // In a coarse picture, the pixel that represents its block.
        let known = |pixel: Option<[usize; 2]>| pixel.map(|pixel| titled.diagram.known_near(pixel).unwrap_or(pixel));
        let (clicked, selected) = (known(clicked), known(selected));
        if let Some(values) = dragged {
            let (mut moved, spec) = (simulation.clone(), titled.spec());
            for (of, value) in [&spec.rows.of, &spec.columns.of].into_iter().zip(values) {
                set_value(&mut moved, spec, of, value);
            }
            requests.actions.push(Action::Landscape(LandscapeAction::Set(Box::new(moved))));
        }
        let here = |pixel: [usize; 2]| PanelPixel { pixel, compared };
        self.hovered = hovered.map(here).or(self.hovered);
        self.chosen = moved.or(selected).or(clicked).map(here).or(self.chosen);
        if clicked.is_some() {
            self.show_landscape(requests);
        }
    }

    /// Requests the landscape of the chosen pixel.
    fn show_landscape(&self, requests: &mut Requests) {
        let Some(PanelPixel { pixel, compared }) = self.chosen.and_then(|chosen| self.within(chosen)) else { return };
        let Some(titled) = self.diagram_of(compared) else { return };
        let diagram = &titled.diagram;
        let Some(pixel) = diagram.known_near(pixel) else { return };
        let Some(cell) = diagram.cell(pixel) else { return };
        match landscape(diagram, &titled.title(), pixel, cell, self.style.metric) {
            Some(preset) => {
                requests.actions.push(Action::Open(Box::new(Preset::Landscape(preset))));
            }
            None => {
                let text =
                    "A landscape has two dimensions; this pixel has more, or external optimizers only.".to_owned();
                requests.actions.push(Action::Notify(text));
            }
        }
    }

    /// Shows the results of the pixel under the pointer, or else of the chosen one.
    pub(super) fn readout(&mut self, ui: &mut Ui, requests: &mut Requests) {
        self.chosen = self.chosen.and_then(|chosen| self.within(chosen));
        let read = self.hovered.and_then(|hovered| self.within(hovered)).or(self.chosen);
        self.pixel_choice(ui, read);
        if let Some(titled) = self.chosen.and_then(|chosen| self.diagram_of(chosen.compared)) {
            let dimension = titled.spec().dimension.get();
            let button = ui.add_enabled(dimension == 2, Button::new("Show this landscape"));
            let button = button
                .on_hover_text("Plays the landscape of this pixel, each optimizer at its best settings")
                .on_disabled_hover_text("Landscapes have two dimensions; this diagram has more.");
            if button.clicked() {
                self.show_landscape(requests);
            }
            ui.add_space(4.0);
        }
        let Some(PanelPixel { pixel, compared }) = read else {
            let text = "Point at the diagram to see a pixel's scores. Click it to play its landscape, click it with \
                        the other button to keep it here.";
            ui.add(Label::new(RichText::new(text).weak()).wrap());
            return;
        };
        let Some(titled) = self.diagram_of(compared) else { return };
        if let Some((_, title)) = self.compared().into_iter().find(|(other, _)| other.number == titled.number) {
            ui.add(Label::new(RichText::new(title).small().weak()).wrap());
        }
        let Together { shown, .. } = together(&self.diagrams, &self.comparison);
        let specs: Vec<&SweepSpec> = shown.iter().map(|shown| &**shown.diagram.spec()).collect();
        let optimizers = shared_optimizers(&specs);
        let index = shown.iter().position(|shown| shown.number == titled.number).unwrap_or_default();
        let colors: Vec<[u8; 3]> = optimizers[index].iter().map(|optimizer| optimizer.color).collect();
        let mut over = self.over;
        readout::show(ui, &titled.diagram, pixel, self.style.metric, &colors, &mut over);
        self.over = over;
    }

    /// Shows controls that choose a pixel without a pointer: in the diagram of the pixel that is read out.
    fn pixel_choice(&mut self, ui: &mut Ui, read: Option<PanelPixel>) {
        let is_none = read.is_none();
        let PanelPixel { pixel: mut chosen, compared } = read.unwrap_or(PanelPixel { pixel: [0; 2], compared: None });
        let Some(shape) = self.diagram_of(compared).map(|titled| titled.spec().shape()) else { return };
        ui.horizontal_wrapped(|ui| {
            let mut changed = false;
            let sides = [("Pixel: row", "Row of the pixel"), ("column", "Column of the pixel")];
            for ((label, name), (index, count)) in sides.into_iter().zip(chosen.iter_mut().zip(shape)) {
                ui.label(label);
                let drag = DragValue::new(index).range(0..=count - 1).speed(0.2);
                let drag = if is_none { drag.custom_formatter(|_, _| "–".to_owned()) } else { drag };
                changed |= ui.add(drag).accessible_name(name).changed();
            }
            if changed {
                self.chosen = Some(PanelPixel { pixel: chosen, compared });
            }
            if self.chosen.is_some() && ui.button("Clear").on_hover_text("Choose no pixel").clicked() {
                self.chosen = None;
            }
        });
    }
}

/// Returns the pixel of another sweep that corresponds to one of a sweep: that with the same values of row and column
/// where both vary the same quantities, else that in the same row and column where both have the same size.
fn same_pixel(from: &SweepSpec, to: &SweepSpec, pixel: [usize; 2]) -> Option<[usize; 2]> {
    let [row, column] = pixel;
    let values = [*from.rows.values().get(row)?, *from.columns.values().get(column)?];
    let is_of_same = from.rows.of == to.rows.of && from.columns.of == to.columns.of;
    if is_of_same { pixel_of(to, from, values) } else { (from.shape() == to.shape()).then_some(pixel) }
}

/// Returns the pixel with these values of row and column, if two sweeps have the same axes.
pub(super) fn pixel_of(sweep: &SweepSpec, other: &SweepSpec, [row, column]: [f64; 2]) -> Option<[usize; 2]> {
    let index = |axis: &Axis, other: &Axis, value: f64| {
        let position = MapSide(axis).position(value);
        (axis.of == other.of && (0.0..=1.0).contains(&position)).then(|| MapSide(axis).index(position))
    };
    Some([index(&sweep.rows, &other.rows, row)?, index(&sweep.columns, &other.columns, column)?])
}

/// The number of particles of each optimizer in the landscape of a pixel.
const PARTICLES: u64 = 100;

/// Returns the landscape of a pixel, with each optimizer at its best settings there; `None` in more than two
/// dimensions.
pub(super) fn landscape(
    diagram: &Diagram,
    title: &str,
    pixel: [usize; 2],
    cell: &Cell,
    metric: Metric,
) -> Option<LandscapePreset> {
    let spec = diagram.spec();
    let value = |axis: &Axis, value: f64| format!("{} {}", axis_label(spec, axis), significant(value, 4));
    let row = value(&spec.rows, diagram.rows()[pixel[0]]);
    let column = value(&spec.columns, diagram.columns()[pixel[1]]);
    Some(LandscapePreset {
        description: format!("A pixel of the diagram \"{title}\", each optimizer at its best settings there."),
        ..LandscapePreset::new(format!("{row}, {column}"), simulation(diagram, pixel, cell, metric)?)
    })
}

fn simulation(diagram: &Diagram, pixel: [usize; 2], cell: &Cell, metric: Metric) -> Option<SimulationSpec> {
    let spec = diagram.spec();
    let point = spec.point(pixel[0], pixel[1]);
    if point.dimension.get() > 2 {
        return None;
    }
    let all = point.optimizers.iter().zip(&spec.optimizers).enumerate();
    // The code of an external optimizer is not in the diagram.
    let own = all.filter(|(_, (_, optimizer))| optimizer.rule.kind() != RuleKind::External);
    let optimizers = own.map(|(index, (at_point, optimizer))| {
        let best = cell.score(index, metric).best;
        let (rate, variant) = (diagram.learning_rate(pixel, index, best), at_point.variant(best));
        OptimizerSpec {
            id: optimizer.id,
            name: optimizer.name.clone(),
            color: optimizer.color,
            enabled: true,
            rule: RatedRule {
                rule: variant.rule,
                learning_rate: LearningRate::clamped(rate),
                schedule: with_end_of(optimizer.schedule, variant.schedule),
            },
        }
    });
    let optimizers: Vec<OptimizerSpec> = optimizers.take(SimulationSpec::MAX_OPTIMIZERS).collect();
    if optimizers.is_empty() {
        return None;
    }
    let StartPosition { x, y } = spec.start();
    Some(SimulationSpec {
        landscape: point.landscape,
        noise: point.noise,
        seed: spec.seed,
        steps: Some(point.steps.get() as u64),
        particles: ParticleCount::clamped(PARTICLES),
        start: StartSpec { x, y, spread: spec.start_spread },
        temperature: None,
        optimizers,
    })
}

fn with_end_of(schedule: Schedule, other: Schedule) -> Schedule {
    match (schedule.decay, other.decay) {
        (Decay::Cosine { steps, .. }, Decay::Cosine { to, .. }) => {
            Schedule { decay: Decay::Cosine { to, steps }, ..schedule }
        }
        _ => schedule,
    }
}

/// Lists the settings of the landscape that an axis's quantity is: a hyperparameter is one of each optimizer of the
/// axis.
fn settings_of(simulation: &SimulationSpec, sweep: &SweepSpec, of: &Quantity) -> Vec<SettingValue> {
    let Quantity::Of(key, ids) = of else {
        return of.path().and_then(|path| simulation.setting(&SettingPath::new(path))).into_iter().collect();
    };
    let swept = sweep.optimizers.iter().filter(|optimizer| ids.contains(&optimizer.id));
    let kinds: Vec<RuleKind> = swept.map(|optimizer| optimizer.rule.kind()).collect();
    let meant = simulation.optimizers.iter().filter(|optimizer| kinds.contains(&optimizer.rule.rule.kind()));
    meant.filter_map(|optimizer| simulation.setting(&SettingPath::of_rule(optimizer.id, key))).collect()
}

/// Returns the value of an axis's quantity in the landscape, if it has one.
fn present_value(simulation: &SimulationSpec, sweep: &SweepSpec, of: &Quantity) -> Option<f64> {
    match of {
        Quantity::Steps => simulation.steps.map(|steps| steps as f64),
        Quantity::Dimension => Some(2.0),
        of => settings_of(simulation, sweep, of).first().map(|it| it.value),
    }
}

/// Returns the position of the landscape's settings on a diagram: values of row and column.
pub(crate) fn position_of(simulation: &SimulationSpec, sweep: &SweepSpec) -> Option<[f64; 2]> {
    let is_axis = [&sweep.rows.of, &sweep.columns.of].contains(&&Quantity::Dimension);
    if simulation.landscape.kind() != sweep.landscape.kind() || (sweep.dimension.get() > 2 && !is_axis) {
        return None;
    }
    let [row, column] = [&sweep.rows.of, &sweep.columns.of].map(|of| present_value(simulation, sweep, of));
    Some([row?, column?])
}

/// Sets an axis's quantity in the landscape to this value, within its range.
pub(super) fn set_value(simulation: &mut SimulationSpec, sweep: &SweepSpec, of: &Quantity, value: f64) {
    match of {
        Quantity::Steps => simulation.steps = Some(value.round().max(1.0) as u64),
        Quantity::Dimension => {}
        of => {
            for SettingValue { path, .. } in settings_of(simulation, sweep, of) {
                set_nearest(simulation, &path, value);
            }
        }
    }
}
