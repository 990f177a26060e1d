//! Checkpoints, and runs that resume with their own config and their own checkpoints.

use std::fs;

use tch::{Device, Tensor};
use valleyscope_engine::optimizer::RuleKind;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::MnistSpec;
use valleyscope_runs::{RunFolder, Status};
use valleyscope_training::mnist::MnistRun;
use valleyscope_training::{Checkpoint, CheckpointError, CheckpointOrigin, OptimizerProgress, Training, checkpoint};

use crate::says::says;
use crate::stage::{
    Stage, config, curve, history, kill, kill_at, mnist, quick, rate, spec, status, tensors, to_the_end, wait_for,
    worker,
};

fn advance(run: &mut MnistRun, steps: usize) -> Vec<u64> {
    (0..steps).map(|_| run.advance(&mut || Ok(())).unwrap().double_value(&[0]).to_bits()).collect()
}

fn folder() -> (tempfile::TempDir, RunFolder) {
    let place = tempfile::tempdir().unwrap();
    let run = RunFolder::create(place.path(), "test", &config(spec("Adam"), place.path().to_owned())).unwrap();
    (place, run)
}

fn origin() -> CheckpointOrigin {
    CheckpointOrigin { data: "data".to_owned(), config: "config".to_owned(), preset: String::new() }
}

fn progress(run: &MnistRun) -> OptimizerProgress {
    run.optimized().2.progress()
}

fn save(folder: &RunFolder, step: u64, run: &MnistRun, progress: OptimizerProgress) {
    let checkpoint = Checkpoint::new(step, 1.5, progress, Some((3, 0.25)), origin());
    checkpoint::save(checkpoint, folder, run.tensors()).unwrap();
}

/// Loads the checkpoint of a step of a training.
fn load(folder: &RunFolder, step: u64, run: &MnistRun) -> Result<(Checkpoint, Vec<(String, Tensor)>), CheckpointError> {
    checkpoint::load(folder, step, None, &origin(), &run.state())
}

fn complaint(folder: &RunFolder, step: u64, run: &MnistRun) -> String {
    load(folder, step, run).map(|(checkpoint, _)| checkpoint).unwrap_err().to_string()
}

#[test]
fn continues_bit_for_bit_from_a_loaded_checkpoint() {
    let data = mnist();
    for kind in RuleKind::ALL {
        let rule = kind.info().name;
        let spec = spec(rule);
        let mut run = MnistRun::new(&spec, &data, Device::Cpu).unwrap();
        run.start().unwrap();
        advance(&mut run, 7);
        let (_place, folder) = folder();
        save(&folder, 7, &run, progress(&run));
        let mut restored = MnistRun::new(&spec, &data, Device::Cpu).unwrap();
        let (checkpoint, tensors) = load(&folder, 7, &restored).unwrap();
        assert_eq!((checkpoint.step, checkpoint.wall_s, checkpoint.best), (7, 1.5, Some((3, 0.25))));
        assert_eq!(checkpoint.progress(), progress(&run));
        restored.restore(7, &checkpoint.progress(), &tensors).unwrap();
        assert_eq!(advance(&mut run, 8), advance(&mut restored, 8), "{rule}");
        assert_eq!(run.mlp.model(0).unwrap(), restored.mlp.model(0).unwrap());
        assert_eq!(run.evaluate(&mut || Ok(())).unwrap(), restored.evaluate(&mut || Ok(())).unwrap());
    }
}

#[test]
fn draws_weights_for_a_new_run_but_not_for_a_resumed_one() {
    let data = mnist();
    let norm = |run: &MnistRun| run.mlp.parameters().norm().double_value(&[]);
    let [mut begun, restored] = [0, 1].map(|_| MnistRun::new(&spec("Adam"), &data, Device::Cpu).unwrap());
    begun.start().unwrap();
    assert!(norm(&begun) > 1.0);
    assert_eq!(norm(&restored), 0.0);
}

#[test]
fn refuses_a_checkpoint_of_another_training() {
    let data = mnist();
    let adam = MnistRun::new(&spec("Adam"), &data, Device::Cpu).unwrap();
    let signum = MnistRun::new(&spec("Signum"), &data, Device::Cpu).unwrap();
    let (_place, folder) = folder();
    save(&folder, 1, &signum, progress(&signum));
    says(complaint(&folder, 1, &adam), &["optimizer.s", "found nothing"]);
}

#[test]
fn detects_damage_at_any_byte() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    save(&folder, 5, &run, progress(&run));
    let tensors = folder.path().join("checkpoint-00000005.safetensors");
    let about = tensors.with_extension("ron");
    for (path, expected) in [(&tensors, "checksum"), (&about, ".ron")] {
        let good = std::fs::read(path).unwrap();
        let mut changed = good.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 0x20;
        std::fs::write(path, &changed).unwrap();
        says(complaint(&folder, 5, &run), &[expected]);
        std::fs::write(path, &good[..good.len() - 7]).unwrap();
        let error = complaint(&folder, 5, &run);
        assert!(error.contains(&*path.file_name().unwrap().to_string_lossy()), "{error}");
        std::fs::write(path, &good).unwrap();
    }
    load(&folder, 5, &run).unwrap();
}

#[test]
fn a_checkpoint_of_another_version_of_the_format_is_refused() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    save(&folder, 5, &run, progress(&run));
    let about = folder.path().join("checkpoint-00000005.ron");
    for version in [0, 2, 7] {
        std::fs::write(&about, format!("(version: {version}, other: true)")).unwrap();
        let error = complaint(&folder, 5, &run);
        let expected = format!("expected version 1 of the format, found {version}");
        assert!(error.contains("checkpoint-00000005.ron") && error.contains(&expected), "{error}");
    }
}

#[test]
fn refuses_a_checkpoint_without_a_product_of_decay_rates() {
    let run = MnistRun::new(&spec("Adam"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    let mut one = progress(&run);
    one.powers.remove("beta2");
    for (progress, found) in [(one, "found beta1"), (OptimizerProgress::default(), "found none")] {
        save(&folder, 5, &run, progress);
        says(complaint(&folder, 5, &run), &["checkpoint-00000005.ron: expected `beta", found]);
    }
    save(&folder, 5, &run, progress(&run));
    let about = folder.path().join("checkpoint-00000005.ron");
    let text = std::fs::read_to_string(&about).unwrap();
    let (before, after) = text.split_once("    powers: {").unwrap();
    let (_, after) = after.split_once("},\n").unwrap();
    let without = format!("{before}{after}");
    std::fs::write(&about, with_text_sum(&without)).unwrap();
    says(complaint(&folder, 5, &run), &["powers"]);
}

#[test]
fn tidying_removes_checkpoints_of_later_steps_first() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    for step in [70, 80] {
        save(&folder, step, &run, progress(&run));
    }
    for step in [10, 20, 30] {
        save(&folder, step, &run, progress(&run));
        checkpoint::tidy(&folder, step, |_| false).unwrap();
    }
    assert_eq!(checkpoint::steps(&folder).unwrap(), [20, 30, 70, 80]);
}

#[test]
fn tidying_keeps_the_last_two_and_those_that_are_kept() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    for step in [10, 20, 30, 40, 50, 60] {
        save(&folder, step, &run, progress(&run));
        checkpoint::tidy(&folder, step, |step| step == 20 || step == 30).unwrap();
    }
    assert_eq!(checkpoint::steps(&folder).unwrap(), [20, 30, 50, 60]);
    // Tensors without a description are no checkpoint.
    std::fs::write(folder.path().join("checkpoint-00000070.safetensors"), b"cut").unwrap();
    assert_eq!(checkpoint::steps(&folder).unwrap(), [20, 30, 50, 60]);
}

#[test]
fn refuses_a_checkpoint_of_another_run_or_step() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    save(&folder, 20, &run, progress(&run));
    for (other, expected) in [
        (CheckpointOrigin { data: "other".to_owned(), ..origin() }, "on other data"),
        (CheckpointOrigin { config: "other".to_owned(), ..origin() }, "with another config"),
    ] {
        let refused = checkpoint::load(&folder, 20, None, &other, &run.state());
        says(refused.map(|(checkpoint, _)| checkpoint).unwrap_err(), &[expected, "checkpoint-00000020.ron"]);
    }
    for extension in ["safetensors", "ron"] {
        let name = |step: u64| folder.path().join(format!("checkpoint-{step:08}.{extension}"));
        std::fs::copy(name(20), name(40)).unwrap();
    }
    says(complaint(&folder, 40, &run), &["expected step 40, found step 20"]);
    load(&folder, 20, &run).unwrap();
}

fn with_field(text: &str, name: &str, value: &str) -> String {
    let (before, after) = text.rsplit_once(&format!("{name}: ")).unwrap();
    format!("{before}{name}: {value}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// The text of a checkpoint with the right checksum of itself.
fn with_text_sum(text: &str) -> String {
    let text = with_field(text, "text_sum", "0");
    with_field(&text, "text_sum", &crc32fast::hash(text.as_bytes()).to_string())
}

/// Writes tensors as a checkpoint's, with the right length and checksums.
fn put(folder: &RunFolder, step: u64, file: &[u8]) {
    let tensors = folder.path().join(format!("checkpoint-{step:08}.safetensors"));
    let about = tensors.with_extension("ron");
    let text = std::fs::read_to_string(&about).unwrap();
    let text = with_field(&with_field(&text, "bytes", &file.len().to_string()), "text_sum", "0");
    let text = with_field(&text, "crc32", "0");
    let sum = crc32fast::hash(&[file, text.as_bytes()].concat());
    std::fs::write(about, with_text_sum(&with_field(&text, "crc32", &sum.to_string()))).unwrap();
    std::fs::write(tensors, file).unwrap();
}

#[test]
fn refuses_crafted_tensors_before_allocating_them() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    save(&folder, 5, &run, progress(&run));
    let good = std::fs::read(folder.path().join("checkpoint-00000005.safetensors")).unwrap();
    put(&folder, 5, &good);
    load(&folder, 5, &run).unwrap();
    let read = safetensors::SafeTensors::deserialize(&good).unwrap();
    let numbers = read.tensor("parameters").unwrap().shape().to_vec();
    let craft = |dtype, shape: Vec<usize>, length: usize| {
        let bytes = vec![1_u8; length];
        let of = |name| {
            let view = read.tensor(name).unwrap();
            (name, safetensors::tensor::TensorView::new(view.dtype(), view.shape().to_vec(), view.data()).unwrap())
        };
        let mut tensors: Vec<_> = read.names().into_iter().filter(|name| *name != "parameters").map(of).collect();
        tensors.push(("parameters", safetensors::tensor::TensorView::new(dtype, shape, &bytes).unwrap()));
        safetensors::serialize(tensors, None).unwrap()
    };
    use safetensors::Dtype::{F16, F32, F64, I32, U8};
    let count = numbers[0];
    for (dtype, shape, length) in [
        (U8, vec![count], count),
        (U8, vec![4 * count], 4 * count),
        (F16, vec![count], 2 * count),
        (I32, vec![count], 4 * count),
        (F64, vec![count / 2], count / 2 * 8),
        (F32, vec![count / 2, 2], count / 2 * 8),
        (F32, vec![count - 1], 4 * (count - 1)),
    ] {
        put(&folder, 5, &craft(dtype, shape.clone(), length));
        let error = complaint(&folder, 5, &run);
        assert!(error.contains("expected `parameters` of F32"), "{dtype:?} {shape:?}: {error}");
    }
    put(&folder, 5, &craft(F32, vec![50 << 20], 200 << 20));
    says(complaint(&folder, 5, &run), &["expected `parameters` of F32"]);
    // A file that ends within its header, and one whose header declares a huge length.
    for file in [&good[..100], &[0xff; 300]] {
        put(&folder, 5, file);
        complaint(&folder, 5, &run);
    }
}

#[cfg(unix)]
#[test]
fn neither_writes_through_nor_reads_links() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    for extension in ["safetensors", "ron"] {
        let (place, folder) = folder();
        save(&folder, 5, &run, progress(&run));
        let (victim, link) =
            (place.path().join("victim"), folder.path().join("checkpoint-00000005").with_extension(extension));
        std::fs::rename(&link, &victim).unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        let before = std::fs::read(&victim).unwrap();
        says(complaint(&folder, 5, &run), &["expected a plain file, found a symbolic link"]);
        let again = checkpoint::save(Checkpoint::new(5, 9.5, progress(&run), None, origin()), &folder, run.tensors());
        says(again.unwrap_err(), &["expected a plain file, found a symbolic link"]);
        assert_eq!(std::fs::read(&victim).unwrap(), before);
    }
}

fn change(run: &RunFolder, path: &str, value: &str) {
    let changed = Preset::read(&run.config()).unwrap().with(path, value).unwrap();
    fs::write(run.config(), changed.to_ron()).unwrap();
}

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

fn kill_at_resumed(run: &RunFolder, step: u64) {
    let mut child = worker(run, true).spawn().unwrap();
    wait_for(run, &mut child, step);
    kill(child);
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
