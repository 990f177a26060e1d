//! `valleyscope simulate`: its files, none of which is ever incomplete.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::path::Path;

use npyz::NpyFile;
use valleyscope_engine::simulation::{Sample, Simulation};
use valleyscope_experiments::preset::Preset;
use zip::ZipArchive;

use super::doctor::{Sandbox, expect_code, expect_error, signal, wait_until};

impl Sandbox {
    /// Runs, expects success, and returns the CSV on stdout.
    #[track_caller]
    fn csv(&self, args: &[&str]) -> String {
        let output = self.run(&[&["simulate"], args].concat());
        expect_code(&output, 0);
        String::from_utf8(output.stdout).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

const SMALL: &str = r#"
Landscape(
    version: 1,
    title: "Small",
    simulations: [
        (spec: (
            noise: 1,
            seed: 7,
            steps: 6,
            particles: 4,
            optimizers: [
                (id: 0, rule: Adam(learning_rate: 0.01)),
                (id: 1, enabled: false, rule: Sgd(learning_rate: 0.01)),
                (id: 2, name: "a, \"b\"", rule: Signum(learning_rate: 0.01)),
                (id: 9, rule: Adam(learning_rate: 0.02)),
            ],
        ),
        changes: [(step: 2, set: Noise(2.0)), (step: 4, set: Landscape(Valley(sharpness: 100.0)))],
        ),
    ],
)"#;

fn small() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.join("small.ron"), SMALL).unwrap();
    sandbox
}

/// Steps the simulation of a preset in this process.
fn stepped(text: &str, steps: u64, mut look: impl FnMut(&Simulation)) {
    let Preset::Landscape(preset) = Preset::parse(text, "test").unwrap() else { panic!("a simulation") };
    let mut simulation = Simulation::replay(preset.record());
    look(&simulation);
    for _ in 0..steps {
        simulation.advance();
        look(&simulation);
    }
}

fn values(sample: &Sample) -> Vec<f64> {
    let spreads = [sample.loss, sample.u, sample.abs_v, sample.effective_step];
    let mut values: Vec<f64> =
        spreads.iter().flat_map(|spread| [spread.mean, spread.std, spread.min, spread.max]).collect();
    let shares = sample.shares;
    values.extend([shares.sigma(), shares.signal, shares.noise, shares.oscillation]);
    values.extend([sample.entropy, f64::from(sample.diverged)]);
    values
}

fn same_bits(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

const HEADER: &str = "step,optimizer,loss_mean,loss_std,loss_min,loss_max,u_mean,u_std,u_min,u_max,\
abs_v_mean,abs_v_std,abs_v_min,abs_v_max,effective_step_mean,effective_step_std,effective_step_min,effective_step_max,\
noise,signal,noise_share,oscillation,entropy,diverged";

#[test]
fn the_table_has_the_engines_values_bit_for_bit() {
    let sandbox = small();
    let csv = sandbox.csv(&["small.ron"]);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some(HEADER));
    stepped(SMALL, 6, |simulation| {
        for (ensemble, name) in simulation.ensembles().iter().zip(["Adam #0", "\"a, \"\"b\"\"\"", "Adam #9"]) {
            let line = lines.next().unwrap();
            let rest = line.strip_prefix(&format!("{},{name},", simulation.step())).unwrap_or_else(|| panic!("{line}"));
            let written: Vec<f64> = rest.split(',').map(|value| value.parse().unwrap()).collect();
            let expected = values(ensemble.sample());
            assert_eq!(written.len(), expected.len());
            assert!(written.iter().zip(&expected).all(|(&a, &b)| same_bits(a, b)), "{written:?} {expected:?}");
        }
    });
    assert_eq!(lines.next(), None);
    // At the start no step has been taken.
    assert!(csv.lines().nth(1).unwrap().contains("NaN,NaN,NaN,NaN"));
}

#[test]
fn the_arrays_have_the_engines_values_bit_for_bit() {
    let sandbox = small();
    expect_code(&sandbox.run(&["simulate", "small.ron", "--out", "small.npz"]), 0);
    let archive = Archive::read(&sandbox.join("small.npz"));
    assert_eq!(archive.texts("optimizers"), ["Adam #0", "a, \"b\"", "Adam #9"]);
    assert_eq!(archive.whole["step"], (vec![7], (0..=6).collect()));
    let names: Vec<&str> = HEADER.split(',').skip(2).collect();
    let (optimizers, rows, particles) = (3, 7, 4);
    let mut row = 0;
    stepped(SMALL, 6, |simulation| {
        for (optimizer, ensemble) in simulation.ensembles().iter().enumerate() {
            for (name, expected) in names.iter().zip(values(ensemble.sample())) {
                let found = archive.number(name, &[optimizers, rows], optimizer * rows + row);
                assert!(same_bits(found, expected), "{name} of {optimizer} at {row}: {found} {expected}");
            }
            for particle in 0..particles {
                for (axis, expected) in ensemble.position(particle).into_iter().enumerate() {
                    let index = ((optimizer * rows + row) * particles + particle) * 2 + axis;
                    let found = archive.number("positions", &[optimizers, rows, particles, 2], index);
                    assert!(same_bits(found, expected));
                }
            }
        }
        row += 1;
    });
    // optimizers, step, the columns, positions, spec, program.
    assert_eq!(archive.count, 2 + names.len() + 3);
}

#[test]
fn the_arrays_name_the_preset_that_repeats_them_with_version_precision_and_seed() {
    let sandbox = small();
    let changed = ["simulate", "small.ron", "--particles", "3", "--seed", "5", "--set", "noise=0.5", "--out", "a.npz"];
    expect_code(&sandbox.run(&changed), 0);
    let archive = Archive::read(&sandbox.join("a.npz"));
    let program = format!("valleyscope {}, f64, seed 5", env!("CARGO_PKG_VERSION"));
    assert_eq!(archive.texts("program"), [program]);
    fs::write(sandbox.join("spec.ron"), &archive.texts("spec")[0]).unwrap();
    expect_code(&sandbox.run(&["simulate", "spec.ron", "--out", "again.npz"]), 0);
    let [first, again] = ["a.npz", "again.npz"].map(|file| fs::read(sandbox.join(file)).unwrap());
    assert!(first == again, "the preset in the file repeats it");
}

/// An NPZ file, read by a crate that shares no code with the writer.
struct Archive {
    count: usize,
    floats: BTreeMap<String, (Vec<usize>, Vec<f64>)>,
    whole: BTreeMap<String, (Vec<usize>, Vec<i64>)>,
    letters: BTreeMap<String, Vec<String>>,
}

impl Archive {
    fn read(path: &Path) -> Archive {
        let mut npz = ZipArchive::new(File::open(path).unwrap()).unwrap();
        let files: Vec<String> = npz.file_names().map(|name| name.unwrap().into_owned()).collect();
        let names = files.iter().map(|file| file.strip_suffix(".npy").unwrap().to_owned());
        let mut archive =
            Archive { count: files.len(), floats: BTreeMap::new(), whole: BTreeMap::new(), letters: BTreeMap::new() };
        for (name, file) in names.zip(&files) {
            let array = NpyFile::new(npz.by_name(file).unwrap()).unwrap();
            assert_eq!(array.order(), npyz::Order::C);
            let shape: Vec<usize> = array.shape().iter().map(|&length| length as usize).collect();
            let descr = array.dtype().descr();
            match descr.trim_matches('\'') {
                "<f8" => drop(archive.floats.insert(name, (shape, array.into_vec().unwrap()))),
                "<i8" => drop(archive.whole.insert(name, (shape, array.into_vec().unwrap()))),
                "<i4" => {
                    let values: Vec<i32> = array.into_vec().unwrap();
                    archive.whole.insert(name, (shape, values.into_iter().map(i64::from).collect()));
                }
                text if text.starts_with("<U") => drop(archive.letters.insert(name, array.into_vec().unwrap())),
                other => panic!("{name} has the type {other}"),
            }
        }
        archive
    }

    fn texts(&self, name: &str) -> &[String] {
        &self.letters[name]
    }

    fn number(&self, name: &str, shape: &[usize], index: usize) -> f64 {
        match self.floats.get(name) {
            Some((found, values)) => {
                assert_eq!(found, shape, "{name}");
                values[index]
            }
            None => {
                let (found, values) = &self.whole[name];
                assert_eq!(found, shape, "{name}");
                values[index] as f64
            }
        }
    }
}

#[test]
fn equal_runs_are_equal_bytes() {
    let sandbox = small();
    for extension in ["csv", "npz"] {
        let files = ["a", "b"].map(|name| format!("{name}.{extension}"));
        for file in &files {
            expect_code(&sandbox.run(&["simulate", "small.ron", "--out", file]), 0);
        }
        let [a, b] = files.map(|file| fs::read(sandbox.join(&file)).unwrap());
        assert!(a == b, "{extension}");
    }
    assert_eq!(fs::read_to_string(sandbox.join("a.csv")).unwrap(), sandbox.csv(&["small.ron"]));
    assert_ne!(sandbox.csv(&["small.ron", "--seed", "8"]), sandbox.csv(&["small.ron"]));
}

#[test]
fn settings_act_like_fields_of_the_file() {
    let sandbox = small();
    let written = SMALL
        .replace("noise: 1,", "noise: 0.5,")
        .replace("Adam(learning_rate: 0.01)", "Adam(learning_rate: 0.01, schedule: (warmup: 2, decay: Cosine()))");
    fs::write(sandbox.join("written.ron"), written).unwrap();
    let set = ["noise=0.5", "optimizers[0].rule.schedule.warmup=2", "optimizers[0].rule.schedule.decay=cosine"];
    let set: Vec<&str> = ["small.ron"].into_iter().chain(set.iter().flat_map(|set| ["--set", *set])).collect();
    assert_eq!(sandbox.csv(&set), sandbox.csv(&["written.ron"]));
    assert_ne!(sandbox.csv(&["written.ron"]), sandbox.csv(&["small.ron"]));
    let wrong = sandbox.run(&["simulate", "small.ron", "--set", "optimizers[7].rule=Adam"]);
    expect_error(&wrong, 2, &["--set optimizers[7].rule=Adam", "the preset has no"]);
    expect_error(&sandbox.run(&["simulate", "small.ron", "--set", "noise"]), 2, &["expected KEY=VALUE"]);
}

/// The decay of a learning rate spans the requested steps, not those of the preset; a recorded session is repeated.
#[test]
fn a_schedule_ends_with_the_run() {
    const CHANGES: &str = "changes: [(step: 2, set: Noise(2.0)), (step: 4, set: Landscape(Valley(sharpness: 100.0)))],";
    let sandbox = Sandbox::new();
    let written = |steps: u64, changes: &str| {
        let scheduled = SMALL.replace("learning_rate: 0.02", "learning_rate: 0.02, schedule: (decay: Cosine())");
        let written = scheduled.replace("steps: 6,", &format!("steps: {steps},")).replace(CHANGES, changes);
        assert_ne!(written, scheduled);
        written
    };
    for steps in [6, 12] {
        fs::write(sandbox.join(format!("{steps}.ron")), written(steps, "")).unwrap();
    }
    assert_eq!(sandbox.csv(&["6.ron", "--steps", "12"]), sandbox.csv(&["12.ron"]));
    assert_eq!(sandbox.csv(&["6.ron"]), sandbox.csv(&["12.ron", "--steps", "6"]));
    fs::write(sandbox.join("session.ron"), written(12, CHANGES)).unwrap();
    let (all, some) = (sandbox.csv(&["session.ron"]), sandbox.csv(&["session.ron", "--steps", "6"]));
    assert!(all.starts_with(&some) && all.len() > some.len());
}

#[test]
fn every_k_th_step_and_the_last_are_recorded() {
    let sandbox = small();
    let all = sandbox.csv(&["small.ron", "--steps", "10"]);
    let some = sandbox.csv(&["small.ron", "--steps", "10", "--every", "4"]);
    let steps =
        |csv: &str| csv.lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned()).collect::<Vec<_>>();
    let mut distinct = steps(&some);
    distinct.dedup();
    assert_eq!(distinct, ["0", "4", "8", "10"]);
    let kept: Vec<&str> = all.lines().filter(|line| some.lines().any(|kept| kept == *line)).collect();
    assert_eq!(kept, some.lines().collect::<Vec<_>>());
    assert_eq!(steps(&sandbox.csv(&["small.ron", "--steps", "0"])), ["0", "0", "0"]);
}

#[test]
fn particles_of_a_larger_ensemble_move_alike_and_at_most_100_are_recorded() {
    let sandbox = small();
    for (file, particles) in [("few.npz", "3"), ("many.npz", "150")] {
        expect_code(&sandbox.run(&["simulate", "small.ron", "--particles", particles, "--out", file]), 0);
    }
    let [few, many] = ["few.npz", "many.npz"].map(|file| Archive::read(&sandbox.join(file)));
    for row in 0..3 * 7 {
        for value in 0..3 * 2 {
            let few = few.number("positions", &[3, 7, 3, 2], row * 6 + value);
            assert_eq!(few, many.number("positions", &[3, 7, 100, 2], row * 200 + value));
        }
    }
}

#[test]
fn a_recorded_session_runs_for_its_recorded_steps() {
    let sandbox = Sandbox::new();
    let preset = SMALL.replace("(step: 4,", "(step: 6, set: Steps(8)), (step: 7, set: Steps(9)), (step: 8,");
    fs::write(sandbox.join("longer.ron"), preset).unwrap();
    assert!(sandbox.csv(&["longer.ron"]).lines().last().unwrap().starts_with("9,"));
    let endless = SMALL.replace("steps: 6,", "");
    fs::write(sandbox.join("endless.ron"), endless).unwrap();
    expect_error(&sandbox.run(&["simulate", "endless.ron"]), 2, &["--steps N"]);
    assert!(sandbox.csv(&["endless.ron", "--steps", "3"]).lines().last().unwrap().starts_with("3,"));
}

#[test]
fn diverged_values_are_written_as_they_are() {
    let sandbox = Sandbox::new();
    let wild = SMALL.replace(
        "learning_rate: 0.01)),\n            (id: 9",
        "learning_rate: 0.01, weight_decay: 10)),\n            (id: 9",
    );
    let wild = wild
        .replace("Adam(learning_rate: 0.02)", "Sgd(learning_rate: 10, weight_decay: 10)")
        .replace("steps: 6", "steps: 400");
    fs::write(sandbox.join("wild.ron"), wild).unwrap();
    let csv = sandbox.csv(&["wild.ron"]);
    let last = csv.lines().last().unwrap();
    assert!(last.starts_with("400,SGD,NaN,") && last.ends_with(",4"), "{last}");
    assert!(csv.contains(",inf,"), "an infinity comes before");
}

#[test]
fn an_output_file_is_replaced_and_a_failure_keeps_the_old_one() {
    let sandbox = small();
    fs::write(sandbox.join("out.csv"), "old").unwrap();
    expect_code(&sandbox.run(&["simulate", "small.ron", "--out", "out.csv"]), 0);
    assert!(fs::read_to_string(sandbox.join("out.csv")).unwrap().starts_with(HEADER));
    assert_eq!(sandbox.names(), ["out.csv", "small.ron"]);
}

#[test]
fn an_output_file_of_another_kind_is_refused() {
    let sandbox = small();
    for out in ["out.txt", "out", "csv", "out.npy", "/dev/full"] {
        expect_error(&sandbox.run(&["simulate", "small.ron", "--out", out]), 2, &[".csv or .npz", out]);
    }
    expect_error(&sandbox.run(&["simulate", "none.ron", "--out", "x.csv"]), 2, &["none.ron"]);
    assert_eq!(sandbox.names(), ["small.ron"]);
}

#[test]
fn an_impossible_output_file_is_refused_before_the_run() {
    let sandbox = small();
    fs::create_dir(sandbox.join("folder.csv")).unwrap();
    for (out, words) in [
        ("none/out.csv", &["none/out.csv", "no folder"][..]),
        ("small.ron/out.npz", &["small.ron/out.npz", "no folder"]),
        ("folder.csv", &["folder.csv", "not a regular file"]),
    ] {
        // This many steps would take far longer than the test may.
        let args = ["simulate", "small.ron", "--steps", "1000000000000", "--every", "1000000000", "--out", out];
        expect_error(&sandbox.run(&args), 1, words);
    }
    assert_eq!(sandbox.names(), ["folder.csv", "small.ron"]);
}

#[test]
fn excessive_output_is_refused_with_a_remedy() {
    let sandbox = small();
    expect_error(
        &sandbox.run(&["simulate", "small.ron", "--steps", "1000000000", "--out", "x.npz"]),
        2,
        &["GiB", "--every", "1000000001 steps"],
    );
    expect_error(&sandbox.run(&["simulate", "small.ron", "--steps", "18446744073709551615"]), 2, &["rows", "--every"]);
    assert_eq!(sandbox.names(), ["small.ron"]);
}

#[cfg(unix)]
#[test]
fn a_disk_that_fills_up_leaves_nothing_half_written() {
    let sandbox = small();
    for out in ["out.csv", "out.npz"] {
        fs::write(sandbox.join(out), "old").unwrap();
        let output = sandbox.run_limited(4, &["simulate", "small.ron", "--steps", "2000", "--out", out]);
        expect_error(&output, 1, &["cannot write", out, "too large"]);
        assert_eq!(fs::read_to_string(sandbox.join(out)).unwrap(), "old");
    }
    assert_eq!(sandbox.names(), ["out.csv", "out.npz", "small.ron"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_exits_with_130_and_leaves_nothing_half_written() {
    let sandbox = small();
    for (name, out) in [("INT", "out.csv"), ("TERM", "out.npz")] {
        let args = ["simulate", "small.ron", "--steps", "1000000000000", "--every", "1000000000", "--out", out];
        let mut child = sandbox.command(&args).stderr(std::process::Stdio::piped()).spawn().unwrap();
        // The file that is written aside shows that the run has begun.
        wait_until("the file", || sandbox.names().len() == 2);
        signal(name, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(sandbox.names(), ["small.ron"]);
    }
}

#[test]
fn a_session_beside_the_presets_own_is_simulated_like_a_preset_of_its_settings() {
    let sandbox = Sandbox::new();
    let beside = SMALL.replace("        ),\n    ],", "        ),\n        (set: [Noise(3)]),\n    ],");
    fs::write(sandbox.join("beside.ron"), beside).unwrap();
    let alone = SMALL.replace("noise: 1", "noise: 3").replace("changes: [", "set: [], // ");
    fs::write(sandbox.join("alone.ron"), alone).unwrap();
    let own = sandbox.csv(&["beside.ron"]);
    assert_eq!(sandbox.csv(&["beside.ron", "--session", "A"]), own);
    let other = sandbox.csv(&["beside.ron", "--session", "B"]);
    assert_eq!(other, sandbox.csv(&["alone.ron"]));
    assert_ne!(other, own);
    let refused = sandbox.run(&["simulate", "beside.ron", "--session", "C"]);
    expect_error(&refused, 2, &["--session C", "only A, B"]);
}

#[test]
fn figures_are_drawn_beside_settings_and_other_presets() {
    let sandbox = Sandbox::new();
    let figure = |more: &[&str]| sandbox.run(&[&["figure", "fig1c", "--quick", "--out", "f.svg"], more].concat());
    expect_code(&figure(&["--beside", "noise=2; particles=5", "--beside", "saturation"]), 0);
    let svg = fs::read_to_string(sandbox.join("f.svg")).unwrap();
    for title in ["A: σ = 1, 10 particles", "B: σ = 2, 5 particles", "C: Where Adam and FOCUS come to rest"] {
        assert!(svg.contains(title), "{title}");
    }
    for (beside, words) in [
        ("noise=-1", &["--beside noise=-1", "from 0 to 100"][..]),
        ("nothing", &["no preset named `nothing`"]),
        ("fig2a", &["expected settings such as noise=2", "`fig2a` is a Sweep"]),
        ("=3", &["--beside =3", "expected KEY=VALUE"]),
    ] {
        expect_error(&figure(&["--beside", beside]), 2, words);
    }
    expect_error(&figure(&["--beside=noise=1"; 4]), 2, &["at most 3 simulations", "found 4"]);
    let sweep = sandbox.run(&["figure", "pairs", "--out", "f.svg", "--beside", "noise=2"]);
    expect_error(&sweep, 2, &["--beside is for landscapes and phase diagrams", "pairs"]);
}
