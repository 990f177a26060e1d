//! The frame of a plot: axes with their ticks, the grid, and the gestures that move it.

use egui::{FontId, Rangef, Response, TextStyle, Ui, Vec2, WidgetInfo, vec2};
use egui_plot::{AxisHints, GridMark, Plot, PlotTransform, PlotUi, VLine};
use valleyscope_experiments::view::AxisScale;
use valleyscope_experiments::view::ticks::{Tick, Ticks};

use super::zoom::Gesture;
use crate::app::theme;

/// The distances between labels beside each other and above each other, in points.
const BESIDE: f64 = 46.0;
const ABOVE: f64 = 28.0;
/// The approximate size of a plot's axes, in points.
const AXES: Vec2 = vec2(66.0, 24.0);
const GUTTER: f32 = 46.0;
/// The space at the right for half of the last label, in points.
const RIGHT: f32 = 10.0;

/// A tick of an axis, and its label.
type LabelledMark = (GridMark, String);

/// An axis of a plot, with its range in places on its scale.
#[derive(Clone, Debug)]
pub(in crate::app) struct PlotAxis {
    pub scale: AxisScale,
    pub range: [f64; 2],
    /// Ticks at these values rather than at round ones.
    pub marks: Option<Vec<Tick>>,
}

/// A plot of some size, before curves are drawn into it.
pub(in crate::app) struct PlotFrame {
    pub axes: [PlotAxis; 2],
    pub size: Vec2,
    /// True for each axis that can be dragged and zoomed.
    pub is_moved: [bool; 2],
    /// The pointer's place on the horizontal axis, in this plot or in one beside it.
    pub pointer: Option<f64>,
}

/// A plot that has been drawn.
pub(in crate::app) struct ShownPlot {
    pub response: Response,
    pub transform: PlotTransform,
    /// The pointer's places.
    pub pointer: Option<[f64; 2]>,
    pub gesture: Gesture,
}

impl PlotAxis {
    /// Makes an axis with ticks at round values.
    pub(in crate::app) fn new(scale: AxisScale, range: [f64; 2]) -> PlotAxis {
        PlotAxis { scale, range, marks: None }
    }

    /// Returns the ticks of an axis of `length` points.
    fn labelled(&self, length: f32, apart: f64) -> Vec<LabelledMark> {
        let round = || Ticks::placed(self.scale, self.range, f64::from(length), apart);
        let ticks = self.marks.clone().unwrap_or_else(round).into_iter();
        let placed = ticks.map(|tick| (self.scale.place(tick.value), tick.label));
        let marks: Vec<(f64, String)> = placed.filter(|(place, _)| place.is_finite()).collect();
        // The distance to its neighbour determines how strongly the plot draws a tick.
        let gap = |index: usize| {
            let from = |other: Option<&(f64, String)>| other.map_or(1e9, |mark| (mark.0 - marks[index].0).abs());
            from(index.checked_sub(1).and_then(|before| marks.get(before))).min(from(marks.get(index + 1)))
        };
        let gaps: Vec<f64> = (0..marks.len()).map(gap).collect();
        let marks = marks.into_iter().zip(gaps);
        marks.map(|((value, label), step_size)| (GridMark { value, step_size }, label)).collect()
    }

    fn hints(hints: AxisHints<'static>, marks: Vec<LabelledMark>, font: FontId) -> AxisHints<'static> {
        hints.tick_label_font(font).label_spacing(Rangef::new(1.0, 2.0)).formatter(move |mark, _| {
            marks.iter().find(|(known, _)| known.value == mark.value).map_or_else(String::new, |(_, text)| text.clone())
        })
    }
}

impl PlotFrame {
    /// Returns the approximate size of the curves' area, in points.
    pub(in crate::app) fn area(size: Vec2) -> Vec2 {
        size - AXES
    }

    /// Shows the plot with the contents that `draw` adds.
    pub(in crate::app) fn show<'p>(
        &self,
        ui: &mut Ui,
        plot: Plot<'p>,
        draw: impl FnOnce(&mut PlotUi<'p>) + 'p,
    ) -> ShownPlot {
        let [x, y] = [0, 1].map(|axis: usize| self.axes[axis].range);
        let (cursor, pointer) = (ui.visuals().weak_text_color(), self.pointer);
        let shown = self.framed(ui, plot).show(ui, move |plot| {
            plot.set_plot_bounds_x(x[0]..=x[1]);
            plot.set_plot_bounds_y(y[0]..=y[1]);
            draw(plot);
            if let Some(pointer) = pointer {
                plot.vline(VLine::new("pointer", pointer).color(cursor).width(1.0).allow_hover(false));
            }
        });
        let place = |at| shown.transform.value_from_position(at);
        let pointer = shown.response.hover_pos().map(place).map(|place| [place.x, place.y]);
        let gesture = if self.is_moved[0] {
            Gesture::of(ui, &shown.response, shown.transform.bounds(), [x, y], pointer)
        } else {
            Gesture::default()
        };
        ShownPlot { response: shown.response, transform: shown.transform, pointer, gesture }
    }

    fn framed<'p>(&self, ui: &Ui, plot: Plot<'p>) -> Plot<'p> {
        let font = TextStyle::Small.resolve(ui.style());
        let area = PlotFrame::area(self.size);
        let [x, y] = &self.axes;
        let marks = [x.labelled(area.x, BESIDE), y.labelled(area.y, ABOVE)];
        let grid = |marks: &[LabelledMark]| -> Vec<GridMark> { marks.iter().map(|(mark, _)| *mark).collect() };
        let (x_grid, y_grid) = (grid(&marks[0]), grid(&marks[1]));
        let width = self.size.x - RIGHT - self.overhang(ui, &font, &marks[0]);
        let [x_marks, y_marks] = marks;
        plot.width(width)
            .height(self.size.y)
            .show_x(false)
            .show_y(false)
            .allow_drag(self.is_moved)
            .allow_zoom(self.is_moved)
            .allow_boxed_zoom(self.is_moved[0])
            .allow_scroll(false)
            .allow_axis_zoom_drag(false)
            .allow_double_click_reset(false)
            .grid_spacing(Rangef::new(1.0, 60.0))
            .grid_fade(0.9)
            .grid_color(ui.visuals().weak_text_color().gamma_multiply(0.35))
            .x_grid_spacer(move |_| x_grid.clone())
            .y_grid_spacer(move |_| y_grid.clone())
            .custom_x_axes(vec![PlotAxis::hints(AxisHints::new_x(), x_marks, font.clone())])
            .custom_y_axes(vec![PlotAxis::hints(AxisHints::new_y().min_thickness(GUTTER), y_marks, font)])
    }

    /// Returns how far the last label of the horizontal axis exceeds the space for it.
    fn overhang(&self, ui: &Ui, font: &FontId, marks: &[LabelledMark]) -> f32 {
        let Some((mark, label)) = marks.last() else { return 0.0 };
        let [from, to] = self.axes[0].range;
        let width = theme::text_width(ui, font, label);
        let before_end = (to - mark.value) / (to - from) * f64::from(PlotFrame::area(self.size).x);
        (0.5 * width - before_end as f32 - RIGHT).max(0.0)
    }
}

impl ShownPlot {
    /// Sets the accessible name of the plot, and its description as the value.
    pub(in crate::app) fn describe(&self, label: &str, words: impl Fn() -> String) {
        self.response.widget_info(|| WidgetInfo {
            label: Some(label.to_owned()),
            current_text_value: Some(words()),
            ..WidgetInfo::new(egui::Role::Figure)
        });
    }
}
