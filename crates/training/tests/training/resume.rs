//! Resuming a run: with its own config, its own checkpoints, and those of older versions.

use std::fs;
use std::path::Path;

use valleyscope_engine::quantity::TrainingSteps;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::MnistSpec;
use valleyscope_runs::{Event, MetricId, RunFolder, RunReader, Status};
use valleyscope_training::checkpoint;

use crate::faults::{
    Stage, curve, history, kill, kill_at, points, quick, scan, status, tensors, to_the_end, wait_for, worker,
};
use crate::small_mnist::{rate, spec};

fn change(run: &RunFolder, path: &str, value: &str) {
    let changed = Preset::read(&run.config()).unwrap().with(path, value).unwrap();
    fs::write(run.config(), changed.to_ron()).unwrap();
}

/// Returns the bytes of a run's checkpoints.
fn saved(run: &RunFolder) -> Vec<(u64, Vec<u8>)> {
    checkpoint::steps(run).unwrap().into_iter().map(|step| (step, tensors(run, step))).collect()
}

fn warnings(run: &RunFolder) -> String {
    history(run).warnings().iter().map(|warning| warning.message.clone() + "\n").collect()
}

#[test]
fn refuses_a_changed_config_until_it_is_restored() {
    let stage = Stage::new();
    let whole = stage.run(quick(400));
    assert!(to_the_end(&whole, false).status.success());
    let run = stage.run(quick(400));
    kill_at(&run, 32);
    let (config, before, checkpoints) = (fs::read(run.config()).unwrap(), curve(&run), saved(&run));
    for (path, value, expected) in [
        ("steps", "500", "`steps` was 400 and is 500"),
        ("optimizer", "Signum", "`optimizer` was Focus("),
        ("learning_rate", "0.1", "`learning_rate` was 0.001 and is 0.1"),
        ("seed", "7", "`seed` was 0 and is 7"),
        ("batch_size", "16", "`batch_size` was 128 and is 16"),
    ] {
        change(&run, path, value);
        let output = to_the_end(&run, true);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1));
        assert!(said.contains(expected), "{said}");
        assert_eq!(said.contains("SetSteps"), path == "steps", "{said}");
        assert!(matches!(status(&run), Status::Failed(message) if message.contains(expected)));
        assert_eq!((curve(&run), saved(&run)), (before.clone(), checkpoints.clone()));
        fs::write(run.config(), &config).unwrap();
    }
    fs::write(run.config(), [b"// Other words.\n", &config[..]].concat()).unwrap();
    kill_at_resumed(&run, 45);
    fs::write(run.config(), &config).unwrap();
    assert!(to_the_end(&run, true).status.success());
    assert_eq!(curve(&run), curve(&whole));
    assert_eq!(tensors(&run, 400), tensors(&whole, 400));
    assert!(!warnings(&run).contains("cannot be used"), "{}", warnings(&run));
}

/// Resumes a run, and kills its worker at a step.
fn kill_at_resumed(run: &RunFolder, step: u64) {
    let mut child = worker(run, true).spawn().unwrap();
    wait_for(run, &mut child, step);
    kill(child);
}

#[test]
fn refuses_a_scan_with_other_axes() {
    let stage = Stage::new();
    let run = scan(&stage);
    kill_at(&run, 1);
    let (config, before) = (fs::read_to_string(run.config()).unwrap(), points(&run));
    let lost = fs::read_to_string(run.events()).unwrap().replacen("started", "begun", 1);
    for events in [None, Some(lost)] {
        if let Some(events) = events {
            fs::write(run.events(), events).unwrap();
        }
        for (from, to, expected) in [
            ("[8, 16, 32, 64]", "[64, 32, 16, 8]", "batch_sizes"),
            ("replicates: 2", "replicates: 3", "replicates"),
            ("rule: Adam()", "name: \"First\", rule: Adam()", "optimizers[0]"),
        ] {
            fs::write(run.config(), config.replace(from, to)).unwrap();
            let output = to_the_end(&run, true);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && said.contains(expected), "{said}");
            assert_eq!(points(&run), before);
        }
        fs::write(run.config(), &config).unwrap();
    }
    assert!(to_the_end(&run, true).status.success());
    assert_eq!(points(&run).len(), 8);
    assert!(history(&run).started().unwrap().scan.is_some(), "it is said again");
}

fn copy_checkpoint(from: (&RunFolder, u64), to: (&RunFolder, u64)) {
    let path =
        |(run, step): (&RunFolder, u64), extension: &str| run.path().join(format!("checkpoint-{step:08}.{extension}"));
    for extension in ["safetensors", "ron"] {
        fs::copy(path(from, extension), path(to, extension)).unwrap();
    }
}

#[test]
fn resuming_skips_checkpoints_of_another_run_or_step() {
    let stage = Stage::new();
    let whole = stage.run(quick(400));
    assert!(to_the_end(&whole, false).status.success());
    let other = stage.run(MnistSpec { learning_rate: rate(0.01), ..quick(390) });
    assert!(to_the_end(&other, false).status.success());
    let run = stage.run(quick(400));
    kill_at(&run, 32);
    let newest = *checkpoint::steps(&run).unwrap().last().unwrap();
    copy_checkpoint((&other, 390), (&run, 390));
    copy_checkpoint((&run, newest), (&run, 395));
    assert!(to_the_end(&run, true).status.success());
    let said = warnings(&run);
    for part in
        ["step 395 cannot be used", &format!("found step {newest}"), "step 390 cannot be used", "with another config"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(curve(&run), curve(&whole));
    assert_eq!(tensors(&run, 400), tensors(&whole, 400));
}

#[cfg(unix)]
#[test]
fn saving_does_not_write_through_a_link() {
    let stage = Stage::new();
    let run = stage.run(quick(20));
    let victim = stage.place.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    let link = run.path().join("checkpoint-00000010.ron");
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    let output = to_the_end(&run, true);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("expected a plain file, found a symbolic link"), "{said}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    assert!(link.is_symlink());
}

/// Copies a run that version 0.1 of the program wrote, before lines had numbers and checkpoints hashes, into a folder with
/// its data. The tensors of its checkpoints are trained anew, as they are large.
fn golden(stage: &Stage, name: &str) -> RunFolder {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/training/golden").join(name);
    let to = stage.place.path().join("golden");
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let text = fs::read_to_string(entry.path()).unwrap().replace("DATA", stage.data().to_str().unwrap());
        fs::write(to.join(entry.file_name()), text).unwrap();
    }
    RunFolder::open(&to).unwrap()
}

#[test]
fn a_training_of_an_older_version_opens_and_resumes() {
    let stage = Stage::new();
    let run = golden(&stage, "mnist");
    let before = history(&run);
    assert!(before.damage().is_none() && before.unreadable() == 0);
    assert_eq!(before.curve(MetricId::LOSS).step, (1..=22).collect::<Vec<_>>());
    assert_eq!((before.steps(), before.sessions(), before.answers().len()), (Some(60), 1, 1));
    let signum = |steps| MnistSpec {
        optimizer: spec("Signum").optimizer,
        steps: TrainingSteps::new(steps).unwrap(),
        ..quick(steps)
    };
    let [twin, whole] = [22, 60].map(|steps| {
        let run = stage.run(signum(steps));
        assert!(to_the_end(&run, false).status.success());
        run
    });
    for step in [20, 22] {
        let about = run.path().join(format!("checkpoint-{step:08}.ron"));
        let (text, file) = (fs::read_to_string(&about).unwrap(), tensors(&twin, step));
        let (head, sum) = text.split_once("crc32: ").unwrap();
        let rest = sum.trim_start_matches(|c: char| c.is_ascii_digit());
        let sum = crc32fast::hash(&[&file[..], head.as_bytes(), b"crc32: 0", rest.as_bytes()].concat());
        fs::write(&about, format!("{head}crc32: {sum}{rest}")).unwrap();
        fs::write(about.with_extension("safetensors"), file).unwrap();
    }
    let config = fs::read(run.config()).unwrap();
    change(&run, "learning_rate", "0.5");
    let refused = to_the_end(&run, true);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`learning_rate` was 0.001 and is 0.5"), "{refused:?}");
    fs::write(run.config(), config).unwrap();
    let output = to_the_end(&run, true);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(status(&run), Status::Finished);
    let now = history(&run);
    assert!(now.damage().is_none() && !warnings(&run).contains("cannot be used"), "{}", warnings(&run));
    assert_eq!(now.sessions(), 2);
    // From now on its config is recorded.
    assert!(!now.started().unwrap().config.is_empty());
    let steps: Vec<u64> = curve(&run).iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, (1..=60).collect::<Vec<_>>());
    assert_eq!(curve(&run)[22..], curve(&whole)[22..]);
    assert_eq!(tensors(&run, 60), tensors(&whole, 60));
}

#[test]
fn a_scan_of_an_older_version_opens_and_resumes() {
    let stage = Stage::new();
    let run = golden(&stage, "scan");
    let before = points(&run);
    assert_eq!(before.len(), 2);
    let output = to_the_end(&run, true);
    assert!(output.status.success(), "{output:?}");
    let mut reader = RunReader::brief(run.clone());
    reader.poll().unwrap();
    assert!(reader.history().recent().any(|record| matches!(record.event, Event::Resumed { from_step: 2 })));
    let after = points(&run);
    assert_eq!(after.len(), 8);
    assert!(before.iter().all(|point| after.contains(point)), "finished pixels are kept");
    assert!(history(&run).damage().is_none());
}
