//! Draws the canvases with everything on them.

use std::sync::Arc;

use eframe::egui_wgpu;
use egui::{Painter, Pos2, Rect, Response, Ui, WidgetInfo};
use valleyscope_experiments::view::{SymLog, Viewport};

use super::super::glyphs;
use super::super::layout::CanvasLayout;
use super::super::legend::Legend;
use super::super::marker::rgb_of;
use super::super::means::{self, EnsembleMean};
use super::super::paint::{self, LandscapeCallback};
use super::super::projection::Projection;
use super::super::readout::{self, Readout};
use super::super::summary::summary;
use super::super::{axes, color_bar, marks, space_axes, titles};
use super::LandscapePanel;
use crate::app::branches::PALE;
use crate::app::{Document, Live};
use crate::gpu::{EnsembleKey, EnsembleStyle, Scene, SpaceScene};
use crate::player::trail_columns;

/// The width of mean paths, and of those of branches, in points.
const PATH: f32 = 2.0;
const PALE_PATH: f32 = 1.2;
/// The factor of the radius of a branch's particles.
const PALE_RADIUS: f32 = 0.8;

/// The view of a simulation on its canvas.
#[derive(Clone, Copy)]
struct PaneView<'a> {
    place: usize,
    /// The pane whose camera it has.
    framed: usize,
    scale: SymLog,
    /// The optimizers that have run away.
    left_out: &'a [u32],
    /// The name for screen readers.
    name: &'a str,
}

impl LandscapePanel {
    /// Draws all canvases with their titles and their colour bar.
    pub(super) fn draw_all(
        &mut self,
        ui: &mut Ui,
        canvases: &[(CanvasLayout, Response)],
        document: &mut Document,
        live: &mut Live,
    ) {
        self.keep_panes(document.count());
        let scale = self.scale(canvases, document, live);
        let titles = document.titles();
        for (place, (layout, response)) in canvases.iter().enumerate() {
            let framed = Self::framed_by(place, live);
            let left_out = self.panes[framed].framing.left_out(place);
            let title = layout.title.map(|area| (area, titles[place].as_str()));
            if let Some((area, title)) = title {
                titles::draw(ui, area, title, place, response.sense.senses_click(), live);
            }
            let name = title.map_or_else(|| "Landscape".to_owned(), |(_, title)| format!("Landscape {title}"));
            document.with_session(place, |document| {
                live.with_session(place, |live| {
                    let pane = PaneView { place, framed, scale, left_out: &left_out, name: &name };
                    self.draw(ui, response, layout, pane, document, live);
                });
            });
        }
        if let Some((layout, _)) = canvases.first()
            && let Some(bar) = layout.bar
        {
            let bar_ticks = color_bar::ticks(&scale, bar.height());
            color_bar::show(ui, bar, scale, &mut document.view, &layout.font, &bar_ticks);
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
        let PaneView { place, framed, scale, left_out, name } = pane;
        let canvas = layout.canvas;
        let viewport = self.viewport(framed, canvas);
        let landscape = document.spec.landscape.landscape();
        let projection = self.projection((place, framed), canvas, scale, document);
        let space_axes = match &projection {
            Projection::Plane(_) => None,
            Projection::Space(space) => Some(space_axes::of(space.view, &scale)),
        };
        let font = &layout.font;
        let painter = ui.painter().with_clip_rect(canvas);
        if let Some(axes) = &space_axes {
            space_axes::draw_walls(&painter, canvas, axes, ui.visuals());
        }
        let means = means::means(live, &projection, canvas);
        if self.render_state.is_some() {
            paint::lock(&self.panes[place].uploads).set_capacity(columns(document, live));
            let scene = self.scene(ui, (viewport, scale), (&projection, &means), document, live);
            self.paint(ui, canvas, place, scene);
        } else {
            marks::no_gpu(ui, canvas);
        }
        let legend = Legend::lay_out(ui, layout, document, live);
        match &space_axes {
            Some(_) if document.view.uv_frame => {
                space_axes::draw_uv(&painter, canvas, &projection, &landscape, &layout.body);
            }
            None if document.view.uv_frame => {
                axes::draw_uv(&painter, canvas, &viewport, &landscape, &layout.body, legend.area);
            }
            _ => {}
        }
        if let Some(axes) = &space_axes {
            space_axes::draw(&painter, canvas, axes, font, ui.visuals());
        }
        marks::draw_start(&painter, canvas, &projection, document);
        means::draw_pale(ui, canvas, &projection, document, live);
        means::draw(ui, canvas, document, &means);
        let particles: Vec<Pos2> = means.iter().map(|mean| mean.at).collect();
        let key_area = draw_glyphs(&painter, response, layout, &projection, document, live, &particles);
        marks::draw_run_away_note(ui, layout, document, left_out);
        if layout.has_axes && space_axes.is_none() {
            axes::draw(ui.painter(), canvas, &viewport, layout.labelled, font, ui.visuals());
        }
        if let Some(chosen) = legend.show(ui, canvas, live) {
            chosen.apply(document);
        }
        if let Some(pointer) = response.hover_pos()
            && !response.dragged()
            && let Some(xy) = projection.xy((pointer - canvas.min).into())
        {
            let taken = [legend.area, key_area];
            let readout = Readout::at(&landscape, xy);
            readout::draw(&painter, canvas, pointer, &readout, font, (&taken, &particles));
        }
        if response.has_focus() {
            let stroke = ui.visuals().selection.stroke;
            ui.painter().rect_stroke(canvas, 0.0, stroke, egui::StrokeKind::Inside);
        }
        response.widget_info(|| WidgetInfo {
            label: Some(name.to_owned()),
            current_text_value: Some(summary(document, live, &projection, left_out)),
            ..WidgetInfo::new(egui::Role::Canvas)
        });
    }

    /// Returns the scene of a canvas.
    fn scene(
        &self,
        ui: &Ui,
        (viewport, scale): (Viewport, SymLog),
        (projection, means): (&Projection, &[EnsembleMean]),
        document: &Document,
        live: &Live,
    ) -> Scene {
        let view = &document.view;
        let columns = columns(document, live);
        let pixels_per_point = ui.ctx().pixels_per_point();
        let ensembles = live.visible().filter_map(|ensemble| {
            let spec = document.spec.optimizers.iter().find(|spec| spec.id == ensemble.optimizer)?;
            let selected = live.selected.filter(|particle| particle.optimizer == spec.id);
            let nested = means.iter().find(|mean| mean.id == spec.id).map_or(1.0, |mean| mean.scale);
            Some(EnsembleStyle {
                key: EnsembleKey { session: paint::FIRST_SESSION, optimizer: spec.id },
                color: rgb_of(&document.spec.optimizers, spec.id),
                opacity: 1.0,
                trail_steps: u32::try_from(columns - 1).unwrap_or(view.trail_steps),
                trail_width: nested * view.trail_width,
                point_radius: nested * view.point_radius,
                path_width: if view.mean_path { PATH } else { 0.0 },
                selected: selected.and_then(|particle| u32::try_from(particle.particle).ok()),
            })
        });
        let ensembles = pale_ensembles(document, live).chain(ensembles).collect();
        let size_px = viewport.size_px.map(|points| (points * pixels_per_point).round());
        Scene {
            viewport: Viewport { size_px, ..viewport },
            landscape: document.spec.landscape.landscape(),
            scale,
            colormap: view.colormap,
            contours: if view.contours { SymLog::CONTOURS } else { 0 },
            pixels_per_point,
            ensembles,
            space: match projection {
                Projection::Plane(_) => None,
                Projection::Space(space) => {
                    Some(SpaceScene { orbit: space.view.orbit, heights: Arc::clone(&space.heights) })
                }
            },
        }
    }

    /// Draws a scene on the canvas of the pane at this place.
    fn paint(&self, ui: &Ui, canvas: Rect, place: usize, scene: Scene) {
        let callback = LandscapeCallback { pane: place, scene, uploads: Arc::clone(&self.panes[place].uploads) };
        ui.painter().add(egui_wgpu::Callback::new_paint_callback(canvas, callback));
    }
}

/// Returns the number of columns of the trails of a simulation.
fn columns(document: &Document, live: &Live) -> usize {
    let particles = live.snapshot.iter().flat_map(|snapshot| &snapshot.ensembles).map(|view| view.particles).sum();
    trail_columns(document.view.trail_steps as usize, particles)
}

/// Returns the styles of the ensembles of branches, which are drawn below all others.
fn pale_ensembles<'a>(document: &'a Document, live: &'a Live) -> impl Iterator<Item = EnsembleStyle> + 'a {
    let view = &document.view;
    live.pale().flat_map(move |(branch, session)| {
        live.visible_of(session).filter_map(move |ensemble| {
            let spec = document.spec.optimizers.iter().find(|spec| spec.id == ensemble.optimizer)?;
            Some(EnsembleStyle {
                key: EnsembleKey { session: branch.id, optimizer: spec.id },
                color: rgb_of(&document.spec.optimizers, spec.id),
                opacity: PALE,
                trail_steps: 0,
                trail_width: 0.0,
                point_radius: PALE_RADIUS * view.point_radius,
                path_width: if view.mean_path { PALE_PATH } else { 0.0 },
                selected: None,
            })
        })
    })
}

/// Draws the arrows on the selected particle, if they are shown, and returns the area of their key.
fn draw_glyphs(
    painter: &Painter,
    response: &Response,
    layout: &CanvasLayout,
    projection: &Projection,
    document: &Document,
    live: &Live,
    particles: &[Pos2],
) -> Rect {
    let Some(step) = live.step_trace().filter(|_| document.view.glyphs) else { return Rect::NOTHING };
    // A picture cannot be clicked or zoomed.
    let key = match layout.compact {
        true => glyphs::GlyphKey::None,
        false if response.sense.senses_click() => glyphs::GlyphKey::WithHints,
        false => glyphs::GlyphKey::Plain,
    };
    glyphs::draw(painter, layout.canvas, projection, step, &layout.font, key, particles)
}
