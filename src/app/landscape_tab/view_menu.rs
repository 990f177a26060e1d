//! The landscape's entries of the View menu.

use egui::Ui;
use valleyscope_engine::parameter::{Extent, Parameter};
use valleyscope_engine::quantity::OutOfRange;
use valleyscope_experiments::view::{Colormap, ViewSettings};

use crate::app::boxes::{check_box, radio_button};
use crate::app::controls::{Adjustable, Control};
use crate::app::landscape::{FIRST_SCALE, color_scale, colormap_name};
use crate::app::number;

/// Shows the drawing settings of the landscape.
pub(super) fn show(ui: &mut Ui, view: &mut ViewSettings) {
    ui.menu_button("Colour map", |ui| {
        for colormap in Colormap::ALL {
            radio_button(ui, &mut view.colormap, colormap, colormap_name(colormap));
        }
    });
    ui.separator();
    check_box(ui, &mut view.space, "Surface in space, 3-D (3)");
    check_box(ui, &mut view.contours, "Contour lines");
    check_box(ui, &mut view.uv_frame, "Frame of u and v");
    check_box(ui, &mut view.mean_path, "Mean path of each optimizer");
    check_box(ui, &mut view.glyphs, "Arrows on the selected particle");
    check_box(ui, &mut view.follow, "Follow the particles (F)");
    let mut trail = TrailSteps(view.trail_steps);
    Control(&TRAIL).show(ui, "", &mut trail, TrailSteps(ViewSettings::default().trail_steps));
    view.trail_steps = trail.0;
    color_scale(ui, &mut view.scale, FIRST_SCALE);
}

/// The number of trail steps as a slider's quantity.
#[derive(Clone, Copy, PartialEq)]
struct TrailSteps(u32);

impl Adjustable for TrailSteps {
    fn number(self) -> f64 {
        f64::from(self.0)
    }

    fn checked(self, value: f64) -> Result<Self, OutOfRange> {
        let whole = self.nearest(value);
        let expected = || format!("a whole number from 0 to {}", ViewSettings::MAX_TRAIL_STEPS);
        let refused = || OutOfRange { name: "trail_steps", expected: expected(), found: number::text(value) };
        (whole.number() == value).then_some(whole).ok_or_else(refused)
    }

    fn nearest(self, value: f64) -> Self {
        TrailSteps(value.round().clamp(0.0, f64::from(ViewSettings::MAX_TRAIL_STEPS)) as u32)
    }
}

const TRAIL: Parameter = Parameter::new("trail_steps", "Trail (steps)", Extent::linear(0.0, 500.0))
    .unit(" steps")
    .help("The number of past steps drawn behind each particle.")
    .paper("no such setting");
