use tch::Device;
use valleyscope::optimizer::Clock;
use valleyscope::run::RunFolder;
use valleyscope::train::{Checkpoint, MnistRun};

use crate::small::{config, mnist, spec};

fn advance(run: &mut MnistRun, steps: usize) -> Vec<u64> {
    (0..steps).map(|_| run.advance().unwrap().double_value(&[0]).to_bits()).collect()
}

fn folder() -> (tempfile::TempDir, RunFolder) {
    let place = tempfile::tempdir().unwrap();
    let run = RunFolder::create(place.path(), "test", &config(spec("Adam"), place.path().to_owned())).unwrap();
    (place, run)
}

fn save(folder: &RunFolder, step: u64, run: &MnistRun, clock: Clock) {
    let checkpoint = Checkpoint::new(step, 1.5, clock, Some((3, 0.25)), "data".to_owned());
    checkpoint.save(folder, run.tensors()).unwrap();
}

#[test]
fn what_is_saved_and_loaded_goes_on_bit_for_bit() {
    let data = mnist();
    for rule in ["Adam", "Signum", "FOCUS", "SGD"] {
        let spec = spec(rule);
        let mut run = MnistRun::new(&spec, &data, Device::Cpu).unwrap();
        advance(&mut run, 7);
        let (_place, folder) = folder();
        save(&folder, 7, &run, run.clock());
        let mut restored = MnistRun::new(&spec, &data, Device::Cpu).unwrap();
        let (checkpoint, tensors) = Checkpoint::load(&folder, 7).unwrap();
        assert_eq!((checkpoint.step, checkpoint.wall_s, checkpoint.best), (7, 1.5, Some((3, 0.25))));
        assert_eq!(checkpoint.clock(), run.clock());
        restored.restore(7, checkpoint.clock(), &tensors).unwrap();
        assert_eq!(advance(&mut run, 8), advance(&mut restored, 8), "{rule}");
        assert_eq!(run.mlp.model(0).unwrap(), restored.mlp.model(0).unwrap());
        assert_eq!(run.evaluate().unwrap(), restored.evaluate().unwrap());
    }
}

#[test]
fn a_checkpoint_of_another_training_is_refused() {
    let data = mnist();
    let mut adam = MnistRun::new(&spec("Adam"), &data, Device::Cpu).unwrap();
    let signum = MnistRun::new(&spec("Signum"), &data, Device::Cpu).unwrap();
    let (_place, folder) = folder();
    save(&folder, 1, &signum, signum.clock());
    let (checkpoint, tensors) = Checkpoint::load(&folder, 1).unwrap();
    let error = adam.restore(1, checkpoint.clock(), &tensors).unwrap_err().to_string();
    assert!(error.contains("optimizer.s") && error.contains("found nothing"), "{error}");
}

#[test]
fn damage_is_noticed_wherever_it_is() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    save(&folder, 5, &run, run.clock());
    let tensors = folder.path().join("checkpoint-00000005.safetensors");
    let about = tensors.with_extension("ron");
    for (path, expected) in [(&tensors, "check sum"), (&about, ".ron")] {
        let good = std::fs::read(path).unwrap();
        let mut changed = good.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 0x20;
        std::fs::write(path, &changed).unwrap();
        let error = Checkpoint::load(&folder, 5).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        std::fs::write(path, &good[..good.len() - 7]).unwrap();
        let error = Checkpoint::load(&folder, 5).unwrap_err().to_string();
        assert!(error.contains(&*path.file_name().unwrap().to_string_lossy()), "{error}");
        std::fs::write(path, &good).unwrap();
    }
    Checkpoint::load(&folder, 5).unwrap();
}

#[test]
fn a_checkpoint_whose_sum_is_of_the_tensors_alone_is_read() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    save(&folder, 5, &run, run.clock());
    let tensors = folder.path().join("checkpoint-00000005.safetensors");
    let about = tensors.with_extension("ron");
    let sum = crc32fast::hash(&std::fs::read(&tensors).unwrap());
    let old = std::fs::read_to_string(&about).unwrap().replace("version: 2", "version: 1");
    let (before, after) = old.split_once("crc32: ").unwrap();
    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
    std::fs::write(&about, format!("{before}crc32: {sum}{after}")).unwrap();
    assert_eq!(Checkpoint::load(&folder, 5).unwrap().0.step, 5);
}

#[test]
fn checkpoints_after_the_present_step_do_not_push_out_newer_ones() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    for step in [70, 80] {
        save(&folder, step, &run, run.clock());
    }
    for step in [10, 20, 30] {
        save(&folder, step, &run, run.clock());
        Checkpoint::tidy(&folder, step, None, None).unwrap();
    }
    assert_eq!(Checkpoint::steps(&folder).unwrap(), [20, 30, 70, 80]);
}

#[test]
fn the_last_two_the_best_and_some_are_kept() {
    let run = MnistRun::new(&spec("Signum"), &mnist(), Device::Cpu).unwrap();
    let (_place, folder) = folder();
    for step in [10, 20, 30, 40, 50, 60] {
        save(&folder, step, &run, run.clock());
        Checkpoint::tidy(&folder, step, Some(20), Some(30)).unwrap();
    }
    assert_eq!(Checkpoint::steps(&folder).unwrap(), [20, 30, 50, 60]);
    // Tensors without what makes them a checkpoint are none.
    std::fs::write(folder.path().join("checkpoint-00000070.safetensors"), b"cut").unwrap();
    assert_eq!(Checkpoint::steps(&folder).unwrap(), [20, 30, 50, 60]);
}
