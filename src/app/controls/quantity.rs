//! The one control for a quantity: name, slider, typed number and the way back to the default.

use egui::{Button, Label, RichText, Sense, Slider, SliderClamping, Ui, vec2};

use crate::app::number;
use crate::app::typed::{TypedField, show_refusal};
use crate::quantity::{
    Beta, Gamma, LearningRate, Noise, ParticleCount, Rotation, Sharpness, Slope, StartCoordinate, StartSpread,
    Temperature, WeightDecay,
};

/// How a quantity is shown, and what is said about it.
pub struct Knob {
    /// Name and symbol, as beside the slider.
    pub label: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Its value in the paper.
    pub paper: &'static str,
    /// The ends of the slider. A typed number may lie beyond, as far as the quantity's own range goes.
    pub low: f64,
    pub high: f64,
    pub logarithmic: bool,
}

/// A quantity that a slider or a typed number can set.
pub trait Adjustable: Copy + PartialEq {
    fn number(self) -> f64;
    /// The quantity of this value, or why there is none.
    fn checked(value: f64) -> Result<Self, String>;
    /// The nearest quantity.
    fn nearest(value: f64) -> Self;
}

macro_rules! adjustable {
    ($($quantity:ty),*) => { $(
        impl Adjustable for $quantity {
            fn number(self) -> f64 {
                self.get()
            }
            fn checked(value: f64) -> Result<Self, String> {
                Self::new(value).map_err(|refused| refused.to_string())
            }
            fn nearest(value: f64) -> Self {
                Self::clamped(value)
            }
        }
    )* };
}

adjustable!(
    Beta,
    Gamma,
    LearningRate,
    Noise,
    Rotation,
    Sharpness,
    Slope,
    StartCoordinate,
    StartSpread,
    Temperature,
    WeightDecay
);

impl Adjustable for ParticleCount {
    fn number(self) -> f64 {
        self.get() as f64
    }

    fn checked(value: f64) -> Result<Self, String> {
        let refused = || {
            let (low, high) = (Self::MIN, Self::MAX);
            format!("{} must be a whole number from {low} to {high}, found {}", Self::NAME, number::text(value))
        };
        if value.fract() != 0.0 || value < 0.0 {
            return Err(refused());
        }
        Self::new(value as u64).map_err(|_| refused())
    }

    fn nearest(value: f64) -> Self {
        let whole = value.round().max(f64::from(Self::MIN)).min(f64::from(Self::MAX));
        Self::new(whole as u64).unwrap_or_else(|_| unreachable!("{whole} was brought into the range"))
    }
}

const FIELD_WIDTH: f32 = 64.0;
const LABEL_WIDTH: f32 = 104.0;
/// Below this width the name stands above the slider.
const ONE_LINE_WIDTH: f32 = 268.0;

impl Knob {
    /// Shows the control. `owner` names what the quantity belongs to, for screen readers; empty for the
    /// simulation as a whole.
    pub fn show<Q: Adjustable>(&self, ui: &mut Ui, owner: &str, value: &mut Q, default: Q) {
        let name = if owner.is_empty() { self.label.to_owned() } else { format!("{owner}: {}", self.label) };
        let tooltip = format!("{}\n\nIn the paper: {}.", self.help, self.paper);
        let mut refusal = None;
        if ui.available_width() < ONE_LINE_WIDTH {
            self.label(ui, ui.available_width(), &tooltip, value, default);
            ui.horizontal(|ui| refusal = self.inputs(ui, &name, &tooltip, value, default));
        } else {
            ui.horizontal(|ui| {
                self.label(ui, LABEL_WIDTH, &tooltip, value, default);
                refusal = self.inputs(ui, &name, &tooltip, value, default);
            });
        }
        show_refusal(ui, refusal.as_deref());
    }

    fn label<Q: Adjustable>(&self, ui: &mut Ui, width: f32, tooltip: &str, value: &mut Q, default: Q) {
        let height = ui.spacing().interact_size.y;
        let layout = egui::Layout::left_to_right(egui::Align::Center);
        ui.allocate_ui_with_layout(vec2(width, height), layout, |ui| {
            ui.set_min_width(width);
            let response = ui.add(Label::new(self.label).truncate().sense(Sense::CLICK)).on_hover_text(tooltip);
            if response.double_clicked() {
                *value = default;
            }
        });
    }

    fn inputs<Q: Adjustable>(
        &self,
        ui: &mut Ui,
        name: &str,
        tooltip: &str,
        value: &mut Q,
        default: Q,
    ) -> Option<String> {
        let gap = ui.spacing().item_spacing.x;
        let reset_width = ui.spacing().interact_size.y;
        let padding = 2.0 * 4.0;
        let left = ui.available_width() - FIELD_WIDTH - padding - reset_width - 3.0 * gap;
        ui.spacing_mut().slider_width = left.max(40.0);
        ui.add(self.slider(value)).on_hover_text(tooltip).accessible_name(name);
        let field = TypedField { name: &format!("{name}, number"), width: FIELD_WIDTH };
        let shown = number::text(value.number());
        let typed = field.show(ui, &shown, |text| Q::checked(number::read(text)?));
        typed.response.on_hover_text(tooltip);
        if let Some(entered) = typed.entered {
            *value = entered;
        }
        if reset_button(ui, name, *value != default, &number::text(default.number())) {
            *value = default;
        }
        typed.refusal
    }

    fn slider<'v, Q: Adjustable>(&self, value: &'v mut Q) -> Slider<'v> {
        let digits = if self.logarithmic { 3 } else { 4 };
        Slider::from_get_set(self.low..=self.high, move |set| {
            if let Some(set) = set {
                *value = Q::nearest(number::significant(set, digits));
            }
            value.number()
        })
        .logarithmic(self.logarithmic)
        .clamping(SliderClamping::Edits)
        .show_value(false)
    }
}

/// The small button at the end of a control; true when it was pressed.
pub fn reset_button(ui: &mut Ui, name: &str, changed: bool, default: &str) -> bool {
    let side = ui.spacing().interact_size.y;
    let button = Button::new(RichText::new("↺").small()).frame(false).min_size(vec2(side, side));
    ui.add_enabled(changed, button)
        .on_hover_text(format!("Back to {default}"))
        .accessible_name(format!("Reset {name}"))
        .clicked()
}
