//! Draws the canvases with everything on them.

use std::sync::Arc;

use eframe::egui_wgpu;
use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align2, Button, Color32, Id, LayerId, Order, Painter, Pos2, Rect, Response, RichText, Stroke, TextStyle, Ui,
    UiBuilder, Vec2, WidgetInfo, pos2,
};
use valleyscope_engine::simulation::{OptimizerSpec, SimulationSpec, StepTrace};
use valleyscope_experiments::view::{Dash, SpaceView, SymLog, ViewSettings, Viewport};

use super::camera::start_xy;
use super::legend::{Legend, OverlayColors};
use super::paint::{LandscapeCallback, PaneKey};
use super::{CanvasLayout, LandscapePanel, color_bar, interaction, paint, particle, summary};
use crate::app::landscape::branches::BRANCH_OPACITY;
use crate::app::landscape::editor::Document;
use crate::app::landscape::live::Live;
use crate::app::widgets::icons::{color_of, draw_marker, marker_of, rgb_of};
use crate::app::widgets::plot::has_readouts;
use crate::app::widgets::theme;
use crate::draw::{Canvas, LandscapePainter, Projection, SpaceProjection, marker_shape, polylines, scales, space_axes};
use crate::gpu::{EnsembleKey, EnsembleStyle, Scene, SpaceScene};
use crate::player::{EnsembleView, trail_columns};

/// The width of mean paths, and of those of branches, in points.
const PATH_WIDTH: f32 = 2.0;
const BRANCH_PATH_WIDTH: f32 = 1.2;
/// The factor of the radius of a branch's particles.
const BRANCH_RADIUS: f32 = 0.8;

/// The view of a simulation on its canvas.
#[derive(Clone, Copy)]
struct PaneView<'a> {
    /// The index of the simulation and of its pane.
    index: usize,
    /// The pane whose camera it has.
    framed: usize,
    scale: SymLog,
    /// The optimizers that have run away.
    left_out: &'a [u32],
    /// The name for screen readers.
    name: &'a str,
    /// Whether it is the inset of the canvas.
    is_inset: bool,
}

impl LandscapePanel {
    /// Draws all canvases with their titles and their colour bar.
    pub(crate) fn draw_all(
        &mut self,
        ui: &mut Ui,
        canvases: &[(CanvasLayout, Response)],
        document: &mut Document,
        live: &mut Live,
    ) {
        self.keep_panes(document.count());
        let scale = self.scale(document, live);
        let titles = document.titles();
        for (index, (layout, response)) in canvases.iter().enumerate() {
            let framed = Self::framed_by(index, live);
            let left_out = self.panes[framed].framing.left_out(index);
            let title = layout.title.map(|area| (area, titles[index].as_str()));
            if let Some((area, title)) = title {
                draw_title(ui, area, title, index, response.sense.senses_click(), live);
            }
            let name = title.map_or_else(|| "Landscape".to_owned(), |(_, title)| format!("Landscape {title}"));
            let pane = PaneView { index, framed, scale, left_out: &left_out, name: &name, is_inset: false };
            self.draw(ui, response, layout, pane, document, live);
            if let Some(inset) = &layout.inset {
                let is_closed = inset.draw_frame(ui);
                let pane =
                    PaneView { left_out: &[], name: &format!("{name} along the valley"), is_inset: true, ..pane };
                self.draw(ui, &inset.response, &inset.layout, pane, document, live);
                if is_closed {
                    document.view.inset = None;
                }
            }
        }
        if let Some((layout, _)) = canvases.first()
            && let Some(bar) = layout.bar
        {
            color_bar::show_color_bar(ui, bar, scale, &mut document.view);
        }
    }

    /// Draws the landscape with its overlays.
    fn draw(
        &mut self,
        ui: &mut Ui,
        response: &Response,
        layout: &CanvasLayout,
        pane: PaneView<'_>,
        document: &mut Document,
        live: &mut Live,
    ) {
        let PaneView { index, framed, scale, left_out, name, is_inset } = pane;
        let canvas = layout.canvas;
        let spec = &live.with_recorded(document.spec(index));
        let landscape = spec.landscape.landscape();
        let projection = match self.inset_viewport(framed, canvas).filter(|_| is_inset) {
            Some(viewport) => Projection::Plane(viewport),
            None => self.projection((index, framed), canvas, scale, document),
        };
        let viewport = match &projection {
            Projection::Plane(viewport) => *viewport,
            Projection::Space(_) => self.viewport(framed, canvas),
        };
        let font = &layout.font;
        let outside = Canvas { painter: ui.painter().clone(), style: theme::drawing(ui, &TextStyle::Small) };
        let inside = Canvas { style: theme::drawing(ui, &TextStyle::Body), ..outside.clipped(canvas) };
        let painter = inside.painter.clone();
        let on =
            |canvas_with_style| LandscapePainter { canvas: canvas_with_style, panel: canvas, projection: &projection };
        let small = Canvas { style: outside.style, painter: painter.clone() };
        let space_axes = match &projection {
            Projection::Space(space) if layout.has_axes => Some(space_axes(space.view, &scale, small.style.em)),
            _ => None,
        };
        if let Some(axes) = &space_axes {
            on(&small).draw_walls(axes);
        }
        let means = ensemble_means(live, index, &projection, canvas);
        if self.render_state.is_some() {
            self.panes[index].keep_trails(columns(&document.view, live, index));
            let scene = self.scene(ui, (viewport, scale), (&projection, &means), document, live, index);
            self.paint(ui, canvas, (index, is_inset), scene);
        } else {
            draw_no_gpu_note(ui, canvas);
        }
        let pointed = response.hover_pos().and_then(|pointer| pointed_mean(&means, pointer));
        let legend = layout.has_legend.then(|| Legend::lay_out(ui, layout, (document, spec), live, pointed));
        let legend_area = legend.as_ref().map_or(Rect::NOTHING, |legend| legend.area);
        if document.view.uv_frame {
            // An inset has no room for the names at the ends of the axes.
            on(&inside).draw_uv_axes(&landscape, if is_inset { canvas } else { legend_area });
        }
        if let Some(axes) = &space_axes {
            on(&small).draw_space_axes(axes);
        }
        if let Some(inset) = &layout.inset
            && let Some(viewport) = self.inset_viewport(framed, inset.layout.canvas)
        {
            super::inset::draw_mark(&on(&small), viewport);
        }
        on(&small).draw_start(start_xy(spec), spec.start.spread.get());
        for view in live.shown_branches_of(index).flat_map(|branch| live.visible_of(&branch.session)) {
            let mean = EnsembleMean::of(view, &projection, canvas);
            mean.into_iter().for_each(|mean| mean.draw(&painter, &spec.optimizers, true));
        }
        means.iter().for_each(|mean| mean.draw(&painter, &spec.optimizers, false));
        let particles: Vec<Pos2> = means.iter().map(|mean| mean.at).collect();
        let colors = OverlayColors::of(ui.visuals());
        let key_area = match live.step_trace(index).filter(|_| document.view.glyphs) {
            Some(step) => draw_glyphs(&painter, response, layout, &projection, step, (colors, &particles)),
            None => Rect::NOTHING,
        };
        draw_run_away_note(ui, layout, spec, left_out);
        if layout.has_axes && matches!(projection, Projection::Plane(_)) {
            on(&outside).draw_plane_axes(layout.labelled, layout.title, is_inset);
        }
        if let Some(legend) = legend {
            legend.show(ui, canvas, document, live);
        }
        if layout.has_axes
            && let Some(pointer) = response.hover_pos()
            && !response.dragged()
            && has_readouts(ui.ctx())
            && let Some(xy) = projection.xy((pointer - canvas.min).into())
        {
            let inset_area = layout.inset.as_ref().map_or(Rect::NOTHING, |inset| inset.frame);
            let notices = LayerId::new(Order::Tooltip, Id::unique("notices"));
            let notices =
                ui.memory(|memory| memory.areas().is_visible(&notices).then(|| memory.area_rect(notices.id)).flatten());
            let taken = [legend_area, key_area, inset_area, notices.unwrap_or(Rect::NOTHING)];
            let at = (&landscape, xy);
            interaction::draw_readout(&painter, canvas, pointer, at, (font, colors), (&taken, &particles));
        }
        if response.has_focus() {
            let stroke = ui.visuals().selection.stroke;
            ui.painter().rect_stroke(canvas, 0.0, stroke, egui::StrokeKind::Inside);
        }
        response.widget_info(|| WidgetInfo {
            label: Some(name.to_owned()),
            current_text_value: Some(summary(spec, live, index, &projection, left_out)),
            ..WidgetInfo::new(egui::Role::Canvas)
        });
    }

    fn scene(
        &self,
        ui: &Ui,
        (viewport, scale): (Viewport, SymLog),
        (projection, means): (&Projection, &[EnsembleMean]),
        document: &Document,
        live: &Live,
        index: usize,
    ) -> Scene {
        let (spec, view) = (&live.with_recorded(document.spec(index)), &document.view);
        let columns = columns(view, live, index);
        let pixels_per_point = ui.ctx().pixels_per_point();
        let is_known = |id: &u32| spec.optimizers.iter().any(|optimizer| optimizer.id == *id);
        let ensembles = live.visible(index).map(|ensemble| ensemble.optimizer).filter(is_known).map(|id| {
            let selected = live.selected.filter(|particle| particle.optimizer == id);
            let nested = means.iter().find(|mean| mean.id == id).map_or(1.0, |mean| mean.scale);
            EnsembleStyle {
                opacity: 1.0,
                trail_steps: u32::try_from(columns - 1).unwrap_or(view.trail_steps),
                trail_width: nested * view.trail_width,
                point_radius: nested * view.point_radius,
                path_width: if view.mean_path { PATH_WIDTH } else { 0.0 },
                selected: selected.and_then(|particle| u32::try_from(particle.particle).ok()),
                ..pale_style(paint::OWN_SESSION, id, spec, view)
            }
        });
        // Branches are drawn below all others.
        let of_branches = live.shown_branches_of(index).flat_map(|branch| {
            let ids = live.visible_of(&branch.session).map(|ensemble| ensemble.optimizer);
            ids.filter(is_known).map(move |id| pale_style(branch.id, id, spec, view))
        });
        let ensembles = of_branches.chain(ensembles).collect();
        let size_px = viewport.size_px.map(|points| (points * pixels_per_point).round());
        let landscape = spec.landscape.landscape();
        let contours = if view.contours { viewport.contours(&landscape, &scale) } else { 0 };
        Scene {
            viewport: Viewport { size_px, ..viewport },
            landscape,
            scale,
            colormap: view.colormap,
            contours,
            pixels_per_point,
            ensembles,
            space: match projection {
                Projection::Plane(_) => None,
                Projection::Space(SpaceProjection { view: SpaceView { orbit, cover, .. }, heights }) => {
                    Some(SpaceScene { orbit: *orbit, cover: *cover, heights: Arc::clone(heights) })
                }
            },
        }
    }

    fn paint(&self, ui: &Ui, canvas: Rect, pane: PaneKey, scene: Scene) {
        let [main, inset] = self.panes[pane.0].all_uploads();
        let callback = LandscapeCallback { pane, scene, uploads: Arc::clone(if pane.1 { inset } else { main }) };
        ui.painter().add(egui_wgpu::Callback::new_paint_callback(canvas, callback));
    }
}

/// Returns the number of columns of the trails of a session.
fn columns(view: &ViewSettings, live: &Live, session: usize) -> usize {
    let ensembles = live.session(session).into_iter().flat_map(|session| &session.ensembles);
    trail_columns(view.trail_steps as usize, ensembles.map(|view| view.particles).sum())
}

/// Returns the style of an ensemble of a branch: faint, and without trails. `session` is the branch's number.
fn pale_style(session: u64, ensemble: u32, spec: &SimulationSpec, view: &ViewSettings) -> EnsembleStyle {
    EnsembleStyle {
        key: EnsembleKey { session, optimizer: ensemble },
        color: rgb_of(&spec.optimizers, ensemble),
        opacity: BRANCH_OPACITY,
        trail_steps: 0,
        trail_width: 0.0,
        point_radius: BRANCH_RADIUS * view.point_radius,
        path_width: if view.mean_path { BRANCH_PATH_WIDTH } else { 0.0 },
        selected: None,
    }
}

/// Draws the arrows on the selected particle, and returns the area of their key.
fn draw_glyphs(
    painter: &Painter,
    response: &Response,
    layout: &CanvasLayout,
    projection: &Projection,
    step: &StepTrace,
    (colors, particles): (OverlayColors, &[Pos2]),
) -> Rect {
    // A picture cannot be clicked or zoomed.
    let note = match response.sense.senses_click() {
        true => "Lengths are logarithmic; zoom in to see the step to scale.",
        false => "Lengths are logarithmic.",
    };
    let note = (!layout.compact).then_some(note);
    particle::draw_arrows(painter, layout.canvas, projection, step, (&layout.font, colors), note, particles)
}

/// The radius of the marker of a mean, in points.
const MEAN_RADIUS: f32 = 4.5;
/// The factor of the radius for branches.
const BRANCH_MEAN_RADIUS: f32 = 0.8;

/// The width of the light rim and the dark outline of a marker together, on each side of its edge, in points.
const RIM: f32 = 3.6;
/// The distance from a mean within which the pointer is on it, in points.
const POINTED: f32 = 14.0;

/// Returns the ensemble whose mean is nearest to the pointer, if it is near.
fn pointed_mean(means: &[EnsembleMean], pointer: Pos2) -> Option<u32> {
    let distance = |mean: &&EnsembleMean| mean.at.distance(pointer);
    let nearest = means.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    (distance(&nearest) <= POINTED).then_some(nearest.id)
}

/// The mean of a shown ensemble.
struct EnsembleMean {
    pub id: u32,
    pub at: Pos2,
    opacity: f32,
    /// The factor of the sizes of the ensemble's marks, trails and particles.
    pub scale: f32,
}

impl EnsembleMean {
    /// Returns the mean of an ensemble that has a position on the canvas or beside it.
    fn of(view: &EnsembleView, projection: &Projection, canvas: Rect) -> Option<EnsembleMean> {
        let mark = projection.mark(view.mean_path.last()?.map(f64::from))?;
        let at = mark.on(canvas);
        at.is_finite().then(|| EnsembleMean { id: view.optimizer, at, opacity: mark.opacity(), scale: 1.0 })
    }

    /// Draws the marker of the mean, that of a branch paler and smaller.
    fn draw(&self, painter: &Painter, optimizers: &[OptimizerSpec], is_branch: bool) {
        if !optimizers.iter().any(|spec| spec.id == self.id) {
            return;
        }
        let marker = marker_of(optimizers, self.id);
        let (opacity, radius) = match is_branch {
            true => ((1.5 * BRANCH_OPACITY).min(1.0) * self.opacity, BRANCH_MEAN_RADIUS * MEAN_RADIUS),
            false => (self.opacity, self.scale * MEAN_RADIUS),
        };
        let colors = [color_of(optimizers, self.id), Color32::BLACK, Color32::WHITE];
        let [fill, outline, rim] = colors.map(|color| color.gamma_multiply(opacity));
        if !is_branch {
            // A light rim around the dark outline stands out from all colours of the landscape.
            painter.add(marker_shape(marker, self.at, radius, rim, Stroke::new(RIM, rim)));
        }
        painter.add(draw_marker(marker, self.at, radius, fill, outline));
    }
}

/// Returns the means of the shown ensembles.
fn ensemble_means(live: &Live, session: usize, projection: &Projection, canvas: Rect) -> Vec<EnsembleMean> {
    let means = live.visible(session).filter_map(|view| EnsembleMean::of(view, projection, canvas));
    let mut means: Vec<EnsembleMean> = means.collect();
    let positions: Vec<Pos2> = means.iter().map(|mean| mean.at).collect();
    for (mean, scale) in means.iter_mut().zip(scales(&positions)) {
        mean.scale = scale;
    }
    means
}

/// Names the ensembles that have run away out of view: above the canvas, where the note covers nothing, or at the lower
/// end of a canvas that has no room around it.
fn draw_run_away_note(ui: &Ui, layout: &CanvasLayout, spec: &SimulationSpec, left_out: &[u32]) {
    let names: Vec<String> = left_out.iter().filter_map(|id| spec.name_of(*id)).collect();
    if names.is_empty() {
        return;
    }
    let text = format!("Run away: {}", names.join(", "));
    let (painter, canvas) = (ui.painter(), layout.canvas);
    let is_above = layout.has_axes;
    let color = if is_above { ui.visuals().warn_fg_color } else { Color32::from_rgb(255, 170, 120) };
    let mut job = LayoutJob::simple_singleline(text, layout.font.clone(), color);
    job.wrap =
        TextWrapping::truncate_at_width(if is_above { ABOVE_SHARE * canvas.width() } else { canvas.width() - 24.0 });
    let galley = painter.layout_job(job);
    let area = run_away_area(canvas, galley.size(), is_above);
    if !is_above {
        painter.rect_filled(area.expand(4.0), 4.0, Color32::from_black_alpha(165));
    }
    painter.galley(area.min, galley, color);
}

/// The share of the canvas's width that a note above it may take. The rest is left to the notes of the axes.
const ABOVE_SHARE: f32 = 0.7;

/// Returns the area of the note about ensembles that have run away.
fn run_away_area(canvas: Rect, size: Vec2, is_above: bool) -> Rect {
    let min = match is_above {
        true => pos2(canvas.right() - 24.0 - size.x, canvas.top() - 3.0 - size.y),
        false => pos2(canvas.left() + 12.0, canvas.bottom() - size.y - 10.0),
    };
    Rect::from_min_size(min, size)
}

/// Explains why there is no picture.
fn draw_no_gpu_note(ui: &Ui, canvas: Rect) {
    let visuals = ui.visuals();
    ui.painter().rect_filled(canvas, 0.0, visuals.extreme_bg_color);
    let text = "The landscape cannot be drawn: no graphics adapter was found. Everything else works.";
    let font = TextStyle::Body.resolve(ui.style());
    let color = visuals.weak_text_color();
    let galley = ui.painter().layout(text.to_owned(), font, color, (canvas.width() - 24.0).max(80.0));
    let at = pos2(canvas.left() + 12.0, canvas.center().y + 0.2 * canvas.height());
    ui.painter().with_clip_rect(canvas).galley(at, galley, color);
}

/// The distance of a title from the left end of its landscape, the length of the sample of a line, and the distance of
/// the words from it, in points.
const TITLE_INDENT: f32 = 14.0;
const TITLE_SAMPLE: f32 = 22.0;
const TITLE_GAP: f32 = 6.0;

/// Draws the title of the landscape of this index, after a line dashed as its curves in the plots. Where the title can
/// be clicked, a click chooses the landscape's settings for the controls.
fn draw_title(ui: &mut Ui, area: Rect, title: &str, index: usize, can_be_clicked: bool, live: &mut Live) {
    // The name of the vertical axis is left of it.
    let area = area.with_min_x((area.left() + TITLE_INDENT).min(area.right()));
    let (sample, area) = area.split_left_right_at_x((area.left() + TITLE_SAMPLE).min(area.right()));
    let area = area.with_min_x((area.left() + TITLE_GAP).min(area.right()));
    let stroke = Stroke::new(1.6, ui.visuals().text_color());
    let line = vec![sample.left_center(), sample.right_center()];
    ui.painter().add(polylines(&[line], stroke, Dash::SIDE_BY_SIDE[index]));
    if !can_be_clicked {
        let font = egui::TextStyle::Body.resolve(ui.style());
        let painter = ui.painter().with_clip_rect(area);
        painter.text(area.left_center(), Align2::LEFT_CENTER, title, font, ui.visuals().strong_text_color());
        return;
    }
    ui.scope_builder(UiBuilder::new().id_salt(("title", index)).max_rect(area), |ui| {
        ui.set_clip_rect(area.intersect(ui.clip_rect()));
        ui.spacing_mut().button_padding.y = 0.0;
        let button = Button::selectable(live.chosen == index, RichText::new(title).strong()).truncate();
        if ui.add(button).on_hover_text(format!("{title}\nClick to show its settings in the controls.")).clicked() {
            live.chosen = index;
        }
    });
}

#[cfg(test)]
mod tests {
    use egui::{Rect, pos2, vec2};

    use super::run_away_area;

    #[test]
    fn the_note_about_ensembles_out_of_view_covers_nothing_of_a_canvas_with_room_around_it() {
        let canvas = Rect::from_min_size(pos2(60.0, 20.0), vec2(140.0, 110.0));
        let area = run_away_area(canvas, vec2(98.0, 12.0), true);
        assert!(!area.intersects(canvas) && area.left() > canvas.left() && area.right() < canvas.right(), "{area:?}");
        assert!(canvas.contains_rect(run_away_area(canvas, vec2(98.0, 12.0), false)));
    }
}
