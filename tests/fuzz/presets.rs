//! Presets, and single fields as set by `--set`.

use valleyscope_experiments::preset::{Preset, PresetError, built_ins};

use crate::driver::{Target, fuzz};
use crate::messages::expect_plain;

const WORDS: &str = "( ) [ ] { } , : \" \\ \\u{3b2} // /* */ r#\" \"# b\" ' Some( None true () Landscape( Sweep( Mnist( \
    MnistScan( Adam( FOCUS( SGD() Signum() version:1, title:\"x\", #![enable(implicit_some)] #![enable( simulation \
    optimizers runs scan changes lesson section claims words view camera rule learning_rates rows columns count steps data Folder( Cuda( \
    Of(LearningRate,[0]) Steps Log \u{feff} 0x 0b1 1_000 _ βα \u{202e}";

/// Returns presets with long names, lists, numbers and comments, which a careless reader would expand to far more
/// memory than their text.
fn crafted() -> Vec<Vec<u8>> {
    let long_name = format!("Landscape(version: 1, {}: [{}])", "a".repeat(30_000), "0, ".repeat(65_000));
    let deep = format!("Landscape(version: 1, title: {})", "[".repeat(5000));
    let digits = format!("Landscape(version: 1, title: \"x\", simulations: [(spec: (noise: {}))])", "9".repeat(20_000));
    let nested = "/*".repeat(20_000);
    [long_name, deep, digits, nested].map(String::into_bytes).into()
}

/// Checks that a parsed preset is written and read back as equal, and that another is refused with a message about the
/// file's content.
fn check(outcome: Result<Preset, PresetError>, input: &str) {
    match outcome {
        Ok(preset) => {
            let text = preset.to_ron();
            let again = Preset::parse(&text, "again").unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(again, preset);
            assert_eq!(again.to_ron(), text);
        }
        Err(PresetError::Content(fault)) => {
            expect_plain(&fault.message, input);
            assert!(fault.message.len() < 1000, "{fault}");
            assert!(fault.to_string().len() < 3000, "{fault}");
        }
        Err(error @ PresetError::CannotSet { .. }) => {
            expect_plain(&error.to_string(), input);
            assert!(error.to_string().len() < 1000, "{error}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn presets() {
    let mut seeds: Vec<Vec<u8>> = built_ins().iter().map(|built_in| built_in.text.as_bytes().to_vec()).collect();
    seeds.extend(built_ins().iter().map(|built_in| built_in.preset.to_ron().into_bytes()));
    seeds.extend(crafted());
    let target = Target { name: "presets", seeds, words: WORDS, memory: 32 << 20, cases: 2000 };
    fuzz(&target, |input| {
        let text = String::from_utf8_lossy(input);
        check(Preset::parse(&text, "input"), &text);
    });
}

#[test]
fn set() {
    let seeds = [
        "steps=50",
        "runs[0].steps=5",
        "runs[99].steps=5",
        "optimizer=FOCUS",
        "optimizer.gamma=0.4",
        "scan.batch_sizes=[2, 4]",
        "scan.optimizers[1].rule=Adam(beta1: 0.5)",
        "learning_rates.count=3",
        "title=Two words, and a comma",
        "steps=5, seed: 7",
        "name=x\"), (optimizer: Adam(), learning_rate: 0.1",
        "data=Folder(\"/some/where\")",
        "device=Cuda(1)",
        "simulations[0].spec.noise=2",
        "view.camera=(center: (0, 0), width: 2)",
    ];
    let seeds = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    let presets: Vec<&Preset> = built_ins().iter().map(|built_in| &built_in.preset).collect();
    let target = Target { name: "set", seeds, words: WORDS, memory: 32 << 20, cases: 2000 };
    let mut turn = 0;
    fuzz(&target, |input| {
        let text = String::from_utf8_lossy(input);
        let (path, value) = text.split_once('=').unwrap_or((&text, ""));
        turn += 1;
        check(presets[turn % presets.len()].with(path, value), &text);
    });
}
