//! The particles and mean paths of a branch are drawn pale on the landscape, on the plane and in space.

use egui::Theme;
use valleyscope::player::PlayerCommand;
use valleyscope_engine::quantity::Noise;

use crate::canvas_stage::{Shown, advance_to, until};
use crate::snapshots::harness;

#[test]
fn an_old_future_is_drawn_until_it_is_removed() {
    for in_space in [false, true] {
        let mut harness = harness(Shown::Landscape, Theme::Dark, [560.0, 420.0]);
        harness.state_mut().document.view.space = in_space;
        advance_to(&mut harness, 120);
        harness.state().player.send(PlayerCommand::Seek(30));
        until(&mut harness, "the past is shown", |stage| {
            stage.live.snapshot.as_ref().is_some_and(|snapshot| snapshot.step == 30)
        });
        harness.state_mut().document.spec_mut(0).noise = Noise::clamped(4.0).into();
        until(&mut harness, "there is an old future", |stage| {
            stage.live.snapshot.as_ref().is_some_and(|snapshot| snapshot.branches.len() == 1)
        });
        advance_to(&mut harness, 120);
        let with = harness.render().expect("it is drawn");
        let id = harness.state().live.snapshot.as_ref().expect("there is one").branches[0].id;
        harness.state().player.send(PlayerCommand::Remove(id));
        until(&mut harness, "it is removed", |stage| {
            stage.live.snapshot.as_ref().is_some_and(|snapshot| snapshot.branches.is_empty())
        });
        let without = harness.render().expect("it is drawn");
        // Left of the legend, which has an entry for it.
        let left = 300;
        let pixels = with.enumerate_pixels().filter(|(x, ..)| *x < left);
        let distance = |a: &image::Rgba<u8>, b: &image::Rgba<u8>| {
            (0..3).map(|channel| u32::from(a.0[channel].abs_diff(b.0[channel]))).max().unwrap_or(0)
        };
        let differing: Vec<u32> = pixels
            .map(|(x, y, pixel)| distance(pixel, without.get_pixel(x, y)))
            .filter(|distance| *distance > 12)
            .collect();
        assert!(differing.len() > 100, "{} pixels, in space: {in_space}", differing.len());
    }
}
