//! The built-in presets.

use std::sync::LazyLock;

use super::Preset;

/// A built-in preset.
#[derive(Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    /// The text of the file, with its comments.
    pub text: &'static str,
    pub preset: Preset,
}

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../../presets/", $name, ".ron")))),+]
    };
}

/// Returns all built-in presets, in the best order for teaching.
pub fn built_ins() -> &'static [BuiltIn] {
    static BUILT_INS: LazyLock<Vec<BuiltIn>> = LazyLock::new(|| {
        let files = files![
            "lesson",
            "lesson-noise",
            "lesson-focus",
            "fig1c",
            "saturation",
            "adam-wins",
            "signum-wins",
            "focus-wins",
            "side-by-side",
            "unrotated",
            "four-optimizers",
            "zoo",
            "own-rule",
            "own-landscape",
            "fig2a",
            "fig2b",
            "fig2b-unrotated",
            "fig2b-100d",
            "twelve",
            "rotation",
            "decay",
            "gamma",
            "narrowing-0",
            "narrowing-1",
            "narrowing-3",
            "narrowing-4",
            "minimum",
            "bend",
            "additive-noise",
            "heavy-tails",
            "mnist",
            "fig2cd",
            "mnist-optimizers",
            "gpt2-shakespeare",
            "fig3-cpu",
            "gpt2-optimizers",
            "gpt2-small",
            "fig3a",
            "fig3b",
            "fig3c",
            "fig3d",
            "weightd",
            "walltime",
            "fig3a-bf16",
            "fig3b-bf16",
            "fig3c-bf16",
            "fig3d-bf16",
            "weightd-bf16",
            "walltime-bf16",
        ];
        files
            .into_iter()
            .map(|(name, text)| {
                let preset = Preset::parse(text, name).expect("the tests parse every built-in preset");
                BuiltIn { name, text, preset }
            })
            .collect()
    });
    &BUILT_INS
}
