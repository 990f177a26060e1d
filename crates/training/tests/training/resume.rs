//! Resuming a run: with its own config and its own checkpoints.

use std::fs;

use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::MnistSpec;
use valleyscope_runs::{RunFolder, Status};
use valleyscope_training::checkpoint;

use crate::faults::{
    Stage, curve, history, kill, kill_at, points, quick, scan, status, tensors, to_the_end, wait_for, worker,
};
use crate::small_mnist::rate;

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
