//! The cameras of the canvases, the colour scale that they share, and their projections.

use egui::{Rect, Response, Ui};
use valleyscope_engine::landscape::Landscape;
use valleyscope_experiments::view::{SymLog, Viewport};

use super::super::interaction::CameraMove;
use super::super::layout::CanvasLayout;
use super::super::paint;
use super::super::projection::Projection;
use super::{LandscapePanel, Pane};
use crate::app::{Document, Live, Requests};

impl LandscapePanel {
    /// Returns the index of the pane whose camera is that of the canvas at this place.
    pub(super) fn framed_by(place: usize, live: &Live) -> usize {
        if live.has_own_cameras { place } else { 0 }
    }

    /// Handles the input on the canvases, and moves their cameras.
    pub(super) fn move_cameras(
        &mut self,
        ui: &Ui,
        canvases: &[(CanvasLayout, Response)],
        document: &mut Document,
        live: &mut Live,
        requests: &mut Requests,
    ) {
        self.keep_panes(document.count());
        if live.has_own_cameras && !self.had_own_cameras {
            let (camera, orbit) = (self.camera(), self.orbit());
            for (place, pane) in self.panes.iter_mut().enumerate() {
                document.with_session(place, |document| pane.framing.restore_view(document, camera, orbit));
            }
        }
        self.had_own_cameras = live.has_own_cameras;
        self.begin_framing(canvases.len(), document);
        let scale = self.scale(canvases, document, live);
        for (place, (_, response)) in canvases.iter().enumerate() {
            let is_used = response.clicked() || response.drag_started() || response.gained_focus();
            if is_used && canvases.len() > 1 {
                live.chosen = place;
            }
            let framed = Self::framed_by(place, live);
            let camera_move = document.with_session(place, |document| {
                live.with_session(place, |live| {
                    let projection = self.projection((place, framed), response.rect, scale, document);
                    let interaction = &mut self.panes[place].interaction;
                    interaction.tool = self.tool;
                    let camera_move = interaction.handle(ui, response, &projection, document, live, requests);
                    self.tool = interaction.tool;
                    camera_move
                })
            });
            let framing = &mut self.panes[framed].framing;
            match camera_move {
                CameraMove::Stay => {}
                CameraMove::Fit => framing.request_fit(),
                CameraMove::From(orbit) => framing.look_from(orbit),
                CameraMove::To(camera) => {
                    framing.look_at(camera);
                    document.view.follow = false;
                }
            }
        }
        self.update_framing(ui, canvases, document, live);
    }

    /// Begins the framing of the documents of `count` canvases that are new.
    pub(super) fn begin_framing(&mut self, count: usize, document: &mut Document) {
        self.keep_panes(count);
        for place in 0..count {
            let framing = &mut self.panes[place].framing;
            document.with_session(place, |document| framing.begin(document));
        }
    }

    /// Moves the cameras to what they are to show.
    pub(super) fn update_framing(
        &mut self,
        ui: &Ui,
        canvases: &[(CanvasLayout, Response)],
        document: &Document,
        live: &Live,
    ) {
        for (place, (_, response)) in canvases.iter().enumerate() {
            // In space, the part in view is a square.
            let aspect = if document.view.space { 1.0 } else { f64::from(response.rect.aspect_ratio()) };
            let places = if live.has_own_cameras { place..place + 1 } else { 0..canvases.len() };
            if Self::framed_by(place, live) == place {
                self.panes[place].framing.update(ui, document, live, places, aspect);
            }
        }
    }

    /// Removes the panes of simulations that are gone, and makes those that are missing.
    pub(super) fn keep_panes(&mut self, count: usize) {
        if self.panes.len() > count
            && let Some(render_state) = &self.render_state
        {
            paint::remove_from(render_state, count);
        }
        self.panes.resize_with(count, Pane::default);
    }

    /// Returns the viewport of a pane's camera on a canvas, in points.
    pub(super) fn viewport(&self, framed: usize, canvas: Rect) -> Viewport {
        Viewport { camera: self.panes[framed].framing.camera(), size_px: canvas.size().into() }
    }

    /// Returns the colour scale of the parts in view, which all canvases share.
    pub(super) fn scale(&mut self, canvases: &[(CanvasLayout, Response)], document: &Document, live: &Live) -> SymLog {
        if let Some(scale) = document.view.scale {
            return scale;
        }
        let landscapes: Vec<Landscape> = document.specs().map(|spec| spec.landscape.landscape()).collect();
        let view = |(place, landscape): (usize, _)| {
            let canvas = canvases.get(place).map_or(Rect::ZERO, |(layout, _)| layout.canvas);
            let viewport = self.viewport(Self::framed_by(place, live), canvas);
            let size_px = if document.view.space { [canvas.width(); 2] } else { viewport.size_px };
            (landscape, Viewport { size_px, ..viewport })
        };
        let views: Vec<(&Landscape, Viewport)> = landscapes.iter().enumerate().map(view).collect();
        self.auto_scale.update(&views)
    }

    /// Returns the mapping of the plane to the canvas at a place, whose camera is that of the pane `framed`.
    pub(super) fn projection(
        &mut self,
        (place, framed): (usize, usize),
        canvas: Rect,
        scale: SymLog,
        document: &Document,
    ) -> Projection {
        let (viewport, orbit) = (self.viewport(framed, canvas), self.panes[framed].framing.orbit());
        if !document.view.space {
            return Projection::Plane(viewport);
        }
        let landscape = document.spec.landscape.landscape();
        Projection::Space(self.panes[place].surface.projection(&landscape, &scale, viewport, orbit))
    }
}
