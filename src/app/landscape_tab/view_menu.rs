//! The landscape's entries of the View menu.

use egui::Ui;
use valleyscope_engine::parameter::{Extent, Parameter};
use valleyscope_engine::quantity::OutOfRange;
use valleyscope_experiments::view::{Colormap, SymLog, ViewSettings};

use crate::app::controls::{Adjustable, Control};
use crate::app::number;

/// Shows the drawing settings of the landscape.
pub(super) fn show(ui: &mut Ui, view: &mut ViewSettings) {
    ui.menu_button("Colour map", |ui| {
        for colormap in Colormap::ALL {
            let text = match colormap {
                Colormap::Cividis => "Cividis (for colour-blind readers)".to_owned(),
                other => format!("{other:?}"),
            };
            ui.radio_value(&mut view.colormap, colormap, text);
        }
    });
    ui.separator();
    ui.checkbox(&mut view.contours, "Contour lines");
    ui.checkbox(&mut view.uv_frame, "Frame of u and v");
    ui.checkbox(&mut view.mean_path, "Mean path of each optimizer");
    ui.checkbox(&mut view.glyphs, "Arrows on the selected particle");
    ui.checkbox(&mut view.follow, "Follow the particles (F)");
    let mut trail = TrailSteps(view.trail_steps);
    Control(&TRAIL).show(ui, "", &mut trail, TrailSteps(ViewSettings::default().trail_steps));
    view.trail_steps = trail.0;
    scale(ui, &mut view.scale);
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

/// An end of the colour scale as a slider's quantity.
#[derive(Clone, Copy, PartialEq)]
struct ScaleEnd(f64);

impl ScaleEnd {
    const MIN: f64 = 1e-9;
    const MAX: f64 = 1e12;
}

impl Adjustable for ScaleEnd {
    fn number(self) -> f64 {
        self.0
    }

    fn checked(self, value: f64) -> Result<Self, OutOfRange> {
        let expected = || format!("a number from {:e} to {:e}", Self::MIN, Self::MAX);
        let refused = || OutOfRange { name: "scale", expected: expected(), found: number::text(value) };
        (Self::MIN..=Self::MAX).contains(&value).then_some(ScaleEnd(value)).ok_or_else(refused)
    }

    fn nearest(self, value: f64) -> Self {
        ScaleEnd(value.clamp(Self::MIN, Self::MAX))
    }
}

const TRAIL: Parameter = Parameter::new("trail_steps", "Trail (steps)", Extent::linear(0.0, 500.0))
    .unit(" steps")
    .help("The number of past steps drawn behind each particle.")
    .paper("no such setting");

const SCALE_LINEAR: Parameter = Parameter::new("linear", "Linear below", Extent::logarithmic(1e-4, 10.0))
    .help("Colour smaller losses about linearly, and larger ones logarithmically.")
    .paper("no such setting");

const SCALE_MAX: Parameter = Parameter::new("max", "Largest loss", Extent::logarithmic(1e-2, 1e6))
    .help("The loss at the end of the colour bar.")
    .paper("no such setting");

/// The initial scale when it is first fixed.
const FIRST_SCALE: SymLog = SymLog { linear: 0.01, max: 10.0 };

fn scale(ui: &mut Ui, scale: &mut Option<SymLog>) {
    let mut follows = scale.is_none();
    if ui.checkbox(&mut follows, "Colour scale follows the view").changed() {
        *scale = (!follows).then_some(FIRST_SCALE);
    }
    if let Some(scale) = scale {
        let (mut linear, mut max) = (ScaleEnd(scale.linear), ScaleEnd(scale.max));
        Control(&SCALE_LINEAR).show(ui, "", &mut linear, ScaleEnd(FIRST_SCALE.linear));
        Control(&SCALE_MAX).show(ui, "", &mut max, ScaleEnd(FIRST_SCALE.max));
        // The linear part lies inside the scale.
        *scale = SymLog { linear: linear.0.min(max.0), max: max.0 };
    }
}
