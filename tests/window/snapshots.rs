//! Compares pictures of panels with those in `tests/snapshots`.
//!
//! They are drawn by Mesa's Vulkan driver for the processor. `UPDATE_SNAPSHOTS=true cargo test --test window snapshots`
//! makes them anew after a wanted change; look at them before they are committed.

use egui::Theme;
use egui_kittest::wgpu::WgpuTestRenderer;
use egui_kittest::{Harness, SnapshotOptions};
use valleyscope::player::PlayerCommand;
use valleyscope_engine::simulation::ParticleId;

use crate::canvas_stage::{Shown, Stage, advance_to, install_font, render_state, three_optimizers};

/// Makes panels whose pictures are drawn.
pub fn harness(shown: Shown, theme: Theme, size: [f32; 2]) -> Harness<'static, Stage> {
    let graphics = render_state();
    let mut stage = Stage::new(three_optimizers(30), shown, Some(&graphics));
    stage.document.view.follow = false;
    Harness::builder()
        .with_size(size)
        .with_theme(theme)
        .with_context_setup(install_font)
        .renderer(WgpuTestRenderer::from_render_state(graphics))
        .build_ui_state(|ui: &mut egui::Ui, stage: &mut Stage| stage.frame(ui), stage)
}

fn compare(harness: &mut Harness<'_, Stage>, name: &str) {
    harness.snapshot_options(name, &SnapshotOptions::new().threshold(1.0).max_failed_pixels(10));
}

#[test]
fn landscape_with_three_ensembles() {
    let mut harness = harness(Shown::Landscape, Theme::Dark, [560.0, 420.0]);
    harness.state().player.send(PlayerCommand::TrailLength(60));
    advance_to(&mut harness, 150);
    compare(&mut harness, "landscape");
}

#[test]
fn formulas_of_a_focus_particle() {
    let mut harness = harness(Shown::Formulas, Theme::Light, [420.0, 520.0]);
    // One step only, as results keep the places that the widest numbers so far have left.
    advance_to(&mut harness, 39);
    let particle = ParticleId { optimizer: 2, particle: 4 };
    harness.state_mut().live.selected = Some(particle);
    harness.state().player.send(PlayerCommand::Select(Some(particle)));
    advance_to(&mut harness, 40);
    compare(&mut harness, "formulas");
}

#[test]
fn diagnostics_after_some_steps() {
    let mut harness = harness(Shown::Diagnostics, Theme::Light, [520.0, 560.0]);
    advance_to(&mut harness, 150);
    compare(&mut harness, "diagnostics");
}
