//! The triangle beside the map of winners: the pixels by the reasons for Adam's small steps.

use egui::accesskit::Role;
use egui::{Align2, Context, Pos2, Rect, Sense, TextStyle, Ui, UiBuilder, Vec2, WidgetInfo};
use valleyscope_engine::shares::Shares;
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_engine::sweep::Metric;
use valleyscope_experiments::view::Triangle;

use super::PhasePanel;
use super::map_view::{MapResponse, Margins};
use super::pixels::PanelPixel;
use crate::app::shell::actions::Requests;
use crate::app::shell::jobs::Job;
use crate::app::widgets::theme;
use crate::draw::{Canvas, Map, TriangleFrame, shared_optimizers};

/// The largest distance from the pointer to the pixel that it points at, in points.
const REACH: f32 = 12.0;
/// The smallest width of the area for which map and triangle are side by side; in a narrower one they share the height.
const WIDE: f32 = 620.0;

/// The shares of the present diagram that are being computed: its number and version, and the job.
#[derive(Default)]
pub(super) struct PendingShares {
    of: Option<[u64; 2]>,
    job: Option<Job<Option<Vec<Shares>>>>,
    /// The triangle that was drawn last, and what it shows.
    drawn: Option<(Drawn, Triangle)>,
}

/// The number and version of a triangle's diagram, whether that has shares, and the metric of the winners.
type Drawn = ([u64; 2], bool, Metric);

impl PhasePanel {
    /// Computes the shares of the present diagram in the background if the triangle is shown and they are unknown.
    pub(super) fn measure(&mut self, ctx: &Context) {
        let present = [self.diagrams.present.number, self.diagrams.version];
        if let Some(Ok(Some(shares))) = Job::take(&mut self.shares.job)
            && self.shares.of == Some(present)
        {
            self.diagrams.present.diagram.set_shares(shares);
        }
        let diagram = &self.diagrams.present.diagram;
        let is_wanted = self.style.map == Map::Triangle && !self.diagrams.is_running() && !diagram.has_shares();
        if !is_wanted || diagram.known_near([0, 0]).is_none() {
            // A job of no use would delay the next sweep.
            (self.shares.of, self.shares.job) = (None, None);
            return;
        }
        if self.shares.of == Some(present) {
            return;
        }
        let (diagram, pool) = (diagram.clone(), self.diagrams.pool());
        let job = Job::start(ctx, move |progress| pool.measure(&diagram, || progress.is_cancelled()));
        (self.shares.of, self.shares.job) = (Some(present), Some(job));
    }

    /// Draws the map of winners, and beside it the triangle.
    pub(super) fn map_and_triangle(
        &mut self,
        ui: &mut Ui,
        margins: Margins,
        pointed: Option<PanelPixel>,
        simulation: &SimulationSpec,
        requests: &mut Requests,
    ) {
        let area = ui.available_rect_before_wrap();
        let [map, triangle] = match area.width() >= WIDE {
            true => area.split_left_right_at_fraction(0.52).into(),
            false => area.split_top_bottom_at_fraction(0.52).into(),
        };
        ui.scope_builder(UiBuilder::new().max_rect(map), |ui| {
            self.map(ui, margins, None, pointed, simulation, requests);
        });
        ui.scope_builder(UiBuilder::new().max_rect(triangle), |ui| {
            let response = self.triangle(ui, pointed);
            self.take_response(response, None, simulation, requests);
        });
    }

    fn triangle(&mut self, ui: &mut Ui, pointed: Option<PanelPixel>) -> MapResponse {
        let marks = self.marks(None, pointed);
        let area = ui.available_rect_before_wrap();
        let response = ui.allocate_rect(area, Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Triangle of signal, noise and oscillation"));
        let canvas = Canvas { painter: ui.painter_at(area), style: theme::drawing(ui, &TextStyle::Small) };
        let frame = TriangleFrame::within(area.shrink(4.0), canvas.style.em);
        frame.draw(&canvas);
        let diagram = &self.diagrams.present.diagram;
        let present = [self.diagrams.present.number, self.diagrams.version];
        let wanted = (present, diagram.has_shares(), self.style.metric);
        self.shares.drawn.take_if(|(drawn, _)| *drawn != wanted);
        let (_, triangle) = self.shares.drawn.get_or_insert_with(|| (wanted, Triangle::of(diagram, self.style.metric)));
        let triangle = &*triangle;
        if triangle.points.is_empty() {
            let text = match (self.shares.job.is_some(), self.diagrams.is_running()) {
                (true, _) => "Measuring Adam’s gradients…",
                (false, true) => "Shown when the diagram is computed",
                (false, false) if diagram.has_shares() => "Adam diverges at all pixels",
                (false, false) => "Nothing is computed yet",
            };
            note(&canvas, frame.area(), text);
            return MapResponse::default();
        }
        let optimizers = shared_optimizers(&[diagram.spec()]).swap_remove(0);
        let colors: Vec<[u8; 3]> = optimizers.iter().map(|optimizer| optimizer.color).collect();
        frame.draw_pixels(&canvas, triangle, &colors);
        let hovered = response.hover_pos().and_then(|pointer| nearest(&frame, triangle, pointer));
        for pixel in [marks.chosen, marks.pointed, hovered].into_iter().flatten() {
            if let Some(shares) = diagram.shares(pixel) {
                frame.draw_ring(&canvas, shares);
            }
        }
        let response_to = MapResponse {
            hovered,
            clicked: hovered.filter(|_| response.clicked()),
            selected: hovered.filter(|_| response.secondary_clicked()),
            ..MapResponse::default()
        };
        // Beside the points, so that the text does not cover the pixel that is read.
        if hovered.is_some() {
            return response_to;
        }
        response.on_hover_text_at_pointer(
            "Each point is a pixel of the diagram, in the colour of its winner: paler where it is less certain. Its \
             position says why Adam’s step is small there: noise, oscillation between walls, or neither (signal).",
        );
        response_to
    }
}

/// Returns the pixel whose point is nearest to the pointer.
fn nearest(frame: &TriangleFrame, triangle: &Triangle, pointer: Pos2) -> Option<[usize; 2]> {
    let distances = triangle.points.iter().map(|point| (frame.at(point.shares).distance(pointer), point.pixel));
    let nearest = distances.min_by(|one, other| one.0.total_cmp(&other.0));
    nearest.filter(|(distance, _)| *distance <= REACH).map(|(_, pixel)| pixel)
}

fn note(canvas: &Canvas, area: Rect, text: &str) {
    let font = egui::FontId::proportional(canvas.style.em);
    let at = area.center() + Vec2::new(0.0, 0.2 * area.height());
    canvas.painter.text(at, Align2::CENTER_CENTER, text, font, canvas.style.text);
}
