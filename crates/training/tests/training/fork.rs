//! Forks: new runs from checkpoints of others, by the worker's program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tch::Device;
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::run::{Fork, PresetConfigs};
use valleyscope_experiments::workload::MnistSpec;
use valleyscope_experiments::workload::gpt2::{LOSS_SCALE, SKIPPED};
use valleyscope_runs::{CheckpointChoice, Event, MetricId, RunFolder, RunReader, Status};
use valleyscope_training::mnist::MnistRun;
use valleyscope_training::{Checkpoint, Training, checkpoint};

use crate::says::says;
use crate::stage::{
    Stage, WORKER, curve, expect, history, kill, mnist, quick, rate, spec, status, tensors, tiny, to_the_end,
    valleyscope, wait_for, worker,
};

/// Returns a fork of a run with other settings.
fn fork(run: &RunFolder, step: Option<u64>, settings: &[(&str, &str)]) -> Result<RunFolder, String> {
    let fork = Fork { run: run.clone(), step };
    let training = fork.training().map_err(|error| error.to_string())?;
    let training = settings.iter().fold(training, |training, (key, value)| training.with(key, value).unwrap());
    let created = fork.create(run.path().parent().unwrap(), "fork", &training);
    created.map(|(run, _)| run).map_err(|error| error.to_string())
}

fn forked(run: &RunFolder, step: u64, settings: &[(&str, &str)]) -> RunFolder {
    fork(run, Some(step), settings).unwrap()
}

/// Returns a finished run, with checkpoints of its last two multiples of 10.
fn trained(stage: &Stage, steps: u64) -> RunFolder {
    let run = stage.run(quick(steps));
    assert!(to_the_end(&run, false).status.success());
    run
}

fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn evaluations(run: &RunFolder, metric: MetricId) -> Vec<(u64, u64)> {
    let history = history(run);
    let curve = history.curve(metric);
    curve.step.iter().copied().zip(curve.value.iter().map(|value| value.to_bits())).collect()
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn an_unchanged_fork_continues_like_the_other_run_bit_for_bit() {
    let stage = Stage::new();
    let run = trained(&stage, 60);
    let before = content(run.path());
    let fork = forked(&run, 50, &[]);
    assert_eq!((status(&fork), curve(&fork).len()), (Status::Starting, 50));
    assert!(to_the_end(&fork, true).status.success());
    assert_eq!(curve(&fork), curve(&run));
    for metric in [MetricId::GRAD_NORM, MetricId::TEST_LOSS, MetricId::TEST_ACCURACY] {
        assert_eq!(evaluations(&fork, metric), evaluations(&run, metric), "{metric}");
    }
    assert_eq!(tensors(&fork, 60), tensors(&run, 60));
    assert_eq!(content(run.path()), before, "the other run is not touched");
    let mut reader = RunReader::brief(fork.clone());
    reader.poll().unwrap();
    let first = reader.history().recent().next().unwrap();
    let Event::Forked(of) = &first.event else { panic!("{first:?}") };
    assert_eq!((&of.from_run, of.from_step, of.keeps_optimizer), (&run.name(), 50, true));
    assert!(first.step == 50 && first.wall_s > 0.0);
    assert_eq!((status(&fork), reader.history().sessions()), (Status::Finished, 1));
    let findings = fork.check(false, &PresetConfigs).unwrap();
    assert!(findings.is_intact(), "{:?}", findings.list());
}

#[test]
fn a_fork_of_gpt2_goes_on_bit_for_bit_with_what_it_counts() {
    for settings in [&[][..], &[("precision", "Float16"), ("clip", "0.5"), ("log_every", "7")]] {
        let stage = Stage::new();
        let run = tiny(&stage, settings);
        assert!(to_the_end(&run, false).status.success());
        let fork = forked(&run, 50, &[]);
        assert!(to_the_end(&fork, true).status.success());
        assert_eq!(curve(&fork), curve(&run));
        assert_eq!(evaluations(&fork, MetricId::VAL_LOSS), evaluations(&run, MetricId::VAL_LOSS));
        assert_eq!(history(&fork).samples().len(), 3);
        assert_eq!(tensors(&fork, 60), tensors(&run, 60));
    }
}

#[test]
fn a_fork_killed_before_its_first_checkpoint_resumes_from_the_other_runs() {
    let stage = Stage::new();
    let run = trained(&stage, 60);
    let fork = forked(&run, 50, &[("checkpoint_every", "1000"), ("eval_every", "1000"), ("steps", "400")]);
    let twin = forked(&run, 50, &[("checkpoint_every", "1000"), ("eval_every", "1000"), ("steps", "400")]);
    // Nothing depends on the other run any more.
    fs::remove_dir_all(run.path()).unwrap();
    kill(worker(&fork, true).spawn().unwrap());
    let mut child = worker(&fork, true).spawn().unwrap();
    wait_for(&fork, &mut child, 55);
    kill(child);
    assert_eq!(checkpoint::steps(&fork).unwrap(), [50]);
    for fork in [&fork, &twin] {
        assert!(to_the_end(fork, true).status.success());
        let steps: Vec<u64> = curve(fork).iter().map(|(step, _)| *step).collect();
        assert_eq!(steps, (51..=400).collect::<Vec<_>>(), "without the other run the curve begins at the fork");
    }
    assert_eq!(curve(&fork), curve(&twin));
    assert_eq!(tensors(&fork, 400), tensors(&twin, 400));
    assert!(history(&fork).missing().is_some_and(|missing| missing.contains(&run.name())));
}

#[test]
fn a_fork_with_another_rule_has_fresh_states_and_the_same_parameters() {
    let stage = Stage::new();
    let run = trained(&stage, 60);
    let fork = forked(&run, 50, &[("optimizer", "Adam"), ("checkpoint_every", "5"), ("steps", "55")]);
    assert!(to_the_end(&fork, true).status.success());
    let fresh = spec("Adam");
    let mut expected = MnistRun::new(&fresh, &mnist(), Device::Cpu).unwrap();
    let file = tensors(&run, 50);
    let saved = safetensors::SafeTensors::deserialize(&file).unwrap();
    let saved = expected.tensors().into_iter().map(|(name, tensor)| {
        let kept = (!name.starts_with("optimizer.")).then(|| saved.tensor(&name).unwrap());
        let copy = kept.map_or_else(
            || tensor.copy(),
            |kept| tch::Tensor::from_data_size(kept.data(), &tensor.size(), tensor.kind()),
        );
        (name, copy)
    });
    let saved: Vec<_> = saved.collect();
    // The optimizer is before its first step.
    let progress = expected.optimized().2.progress();
    expected.restore(50, &progress, &saved).unwrap();
    let own = curve(&fork).split_off(50);
    assert_eq!(own.len(), 5);
    for (step, loss) in own {
        let (loss, by_hand) = (f64::from_bits(loss), expected.advance(&mut || Ok(())).unwrap().double_value(&[0]));
        assert!((loss - by_hand).abs() < 1e-4 * by_hand, "{step}: {loss} {by_hand}");
    }
    // Its bias correction continues from there, as a resumed run shows.
    let again = forked(&fork, 55, &[("steps", "60")]);
    assert!(history(&again).forked().is_some_and(|forked| forked.keeps_optimizer));
    assert!(to_the_end(&again, true).status.success());
    let (_, loss) = *curve(&again).last().unwrap();
    let by_hand = (56..=60).map(|_| expected.advance(&mut || Ok(())).unwrap().double_value(&[0])).last().unwrap();
    assert!((f64::from_bits(loss) - by_hand).abs() < 1e-3 * by_hand, "{} {by_hand}", f64::from_bits(loss));
}

#[test]
fn a_fork_may_change_between_half_and_single_precision() {
    let stage = Stage::new();
    let single = tiny(&stage, &[("steps", "20")]);
    assert!(to_the_end(&single, false).status.success());
    let half = forked(&single, 10, &[("precision", "Float16"), ("steps", "30")]);
    assert!(to_the_end(&half, true).status.success());
    let [scale, skipped] = [LOSS_SCALE, SKIPPED].map(|metric| history(&half).latest(metric).unwrap());
    assert_eq!(scale, 65536.0 / 2_f64.powf(skipped), "it begins as in a run in float16");
    let again = forked(&half, 20, &[("precision", "Float32")]);
    assert!(to_the_end(&again, true).status.success());
    let numbers = tensors(&again, 30);
    let numbers =
        safetensors::SafeTensors::deserialize(&numbers).unwrap().tensor("numbers").unwrap().data()[..8].to_vec();
    assert_eq!(f64::from_le_bytes(numbers.try_into().unwrap()), 1.0, "nothing is scaled");
}

#[test]
fn distinguishes_rules_with_equal_states() {
    let stage = Stage::new();
    let run = stage.run(MnistSpec { optimizer: spec("Signum").optimizer, ..quick(30) });
    assert!(to_the_end(&run, false).status.success());
    for (rule, kept) in [("Sgd", false), ("Signum(beta1: 0.5)", true)] {
        let fork = forked(&run, 20, &[("optimizer", rule)]);
        assert_eq!(history(&fork).forked().unwrap().keeps_optimizer, kept, "{rule}");
        assert!(to_the_end(&fork, true).status.success());
    }
}

#[test]
fn a_fork_of_a_fork_shows_the_whole_line_of_descent_also_after_all_runs_were_moved() {
    let stage = Stage::new();
    let first = trained(&stage, 60);
    let second = forked(&first, 50, &[("steps", "80"), ("learning_rate", "0.0001")]);
    assert!(to_the_end(&second, true).status.success());
    let third = forked(&second, 70, &[("seed", "7")]);
    assert!(to_the_end(&third, true).status.success());
    let [of_first, of_second, of_third] = [&first, &second, &third].map(curve);
    assert_eq!(of_third.len(), 80);
    assert_eq!((&of_third[..50], &of_third[50..70]), (&of_first[..50], &of_second[50..70]));
    assert_ne!(of_third[70..], of_second[70..], "another seed meets other batches");
    // A fork of the second run, at the step where that was forked itself, has the first run's checkpoint.
    let twin = forked(&second, 60, &[]);
    assert!(to_the_end(&twin, true).status.success());
    assert_eq!(curve(&twin), of_second);
    let moved = stage.place.path().join("moved");
    fs::rename(first.path().parent().unwrap(), &moved).unwrap();
    let third = RunFolder::open(&moved.join(third.name())).unwrap();
    assert_eq!(curve(&third), of_third);
    fs::remove_dir_all(moved.join(first.name())).unwrap();
    assert_eq!(curve(&third), of_third[50..]);
    assert!(history(&third).missing().is_some_and(|missing| missing.contains(&first.name())));
    // Another run with that name is distinguished from it.
    let unlike = stage.run(MnistSpec { learning_rate: rate(0.5), ..quick(60) });
    assert!(to_the_end(&unlike, false).status.success());
    fs::rename(unlike.path(), moved.join(first.name())).unwrap();
    assert_eq!(curve(&third), of_third[50..]);
    let second = RunFolder::open(&moved.join(second.name())).unwrap();
    let history = history(&second);
    assert_eq!(valleyscope_runs::forked_run(history.forked().unwrap(), &second), None);
}

#[cfg(unix)]
#[test]
fn a_checkpoint_is_linked_and_copied_only_to_another_file_system() {
    use std::os::unix::fs::MetadataExt;
    let stage = Stage::new();
    let run = trained(&stage, 20);
    let file = |run: &RunFolder| run.path().join("checkpoint-00000020.safetensors");
    let number = |run: &RunFolder| fs::metadata(file(run)).map(|data| (data.dev(), data.ino())).unwrap();
    let linked = forked(&run, 20, &[("steps", "30")]);
    assert_eq!(number(&linked), number(&run));
    // A file system in memory, if there is one.
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else { return };
    let fork = Fork { run: run.clone(), step: None };
    let (far, _) =
        fork.create(elsewhere.path(), "far", &fork.training().unwrap().with("steps", "30").unwrap()).unwrap();
    assert_eq!(tensors(&far, 20), tensors(&run, 20));
    assert!(far.check(false, &PresetConfigs).unwrap().is_intact());
    assert_eq!(curve(&far), curve(&run), "it is found where it was");
}

#[test]
fn a_run_that_is_being_trained_can_be_forked_at_any_moment() {
    let stage = Stage::new();
    let often = valleyscope_engine::quantity::CheckpointInterval::new(1).unwrap();
    let run = stage.run(MnistSpec { checkpoint_every: often, ..quick(1_000_000) });
    let mut child = worker(&run, false).spawn().unwrap();
    wait_for(&run, &mut child, 3);
    let mut forks: Vec<RunFolder> = (0..40).map(|_| fork(&run, None, &[]).unwrap()).collect();
    kill(child);
    for fork in &forks {
        assert!(fork.check(false, &PresetConfigs).unwrap().is_intact());
    }
    let last = forks.pop().unwrap();
    let step = history(&last).forked().unwrap().from_step;
    fs::remove_dir_all(run.path()).unwrap();
    let mut child = worker(&last, true).spawn().unwrap();
    wait_for(&last, &mut child, step + 2);
    kill(child);
}

#[test]
fn a_refused_fork_leaves_nothing() {
    let stage = Stage::new();
    let run = trained(&stage, 60);
    let (runs, before) = (run.path().parent().unwrap().to_owned(), content(run.path()));
    let gpt2 = tiny(&stage, &[("steps", "10")]);
    assert!(to_the_end(&gpt2, false).status.success());
    let untrained = stage.run(quick(10));
    let folders = count(&runs);
    let refused = |run: &RunFolder, step, settings: &[(&str, &str)], parts: &[&str]| {
        let refusal = fork(run, step, settings).unwrap_err();
        says(&refusal, parts);
        assert_eq!(count(&runs), folders, "{refusal}");
    };
    refused(&run, Some(7), &[], &["no checkpoint of step 7", "50, 60"]);
    refused(&run, None, &[("steps", "40")], &["`steps` is 40", "step 60"]);
    refused(&run, None, &[("precision", "Float64")], &["numbers in float32", "numbers in float64"]);
    refused(&gpt2, None, &[("shape.layers", "3")], &["2 layers", "3 layers"]);
    refused(&untrained, None, &[], &["no checkpoint"]);
    let mnist = built_ins().iter().find(|built_in| built_in.name == "mnist").unwrap();
    let other = Fork { run: gpt2.clone(), step: None }.create(&runs, "fork", &mnist.preset).unwrap_err().to_string();
    assert!(other.contains("kind Gpt2") && other.contains("kind Mnist"), "{other}");
    // The newest is damaged: the one before it is used, unless that step was requested.
    let newest = run.path().join("checkpoint-00000060.safetensors");
    let mut bytes = fs::read(&newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&newest, &bytes).unwrap();
    refused(&run, Some(60), &[], &["step 60", "checksum is wrong"]);
    let older = fork(&run, None, &[]).unwrap();
    assert_eq!(history(&older).forked().unwrap().from_step, 50);
    assert_eq!(checkpoint::steps(&older).unwrap(), [50]);
    fs::remove_dir_all(older.path()).unwrap();
    bytes[middle] ^= 1;
    fs::write(&newest, &bytes).unwrap();
    assert_eq!(content(run.path()), before);
    fs::remove_dir_all(run.path()).unwrap();
    says(fork(&run, None, &[]).unwrap_err(), &[&run.name()]);
    assert_eq!(count(&runs), folders - 1);
}

#[test]
fn a_fork_without_its_checkpoint_does_not_begin_at_step_0() {
    let stage = Stage::new();
    let run = trained(&stage, 60);
    let fork = forked(&run, 50, &[("optimizer", "Adam")]);
    let path = |extension: &str| fork.path().join(format!("checkpoint-00000050.{extension}"));
    // A checkpoint of another step, or of another run, is not used.
    let other = stage.run(MnistSpec { learning_rate: rate(0.01), ..quick(50) });
    assert!(to_the_end(&other, false).status.success());
    for extension in ["safetensors", "ron"] {
        fs::remove_file(path(extension)).unwrap();
        let name = format!("checkpoint-00000050.{extension}");
        fs::copy(other.path().join(&name), fork.path().join(&name)).unwrap();
    }
    for expected in ["with another config", "the run has no checkpoint"] {
        for resume in [true, false] {
            let output = to_the_end(&fork, resume);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1));
            assert!(!resume || said.contains(expected) && said.contains(&run.name()), "{said}");
        }
        for extension in ["safetensors", "ron"] {
            let _ = fs::remove_file(path(extension));
        }
    }
    assert_eq!(curve(&fork).len(), 50);
}

/// Changes a byte of a file, and keeps its time.
fn rot(path: &Path, at: usize) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_fork_refuses_tensors_that_the_disk_has_lost() {
    let stage = Stage::new();
    let run = trained(&stage, 60);
    let about = run.path().join("checkpoint-00000060.ron");
    // A changed text is found at once, whatever its time.
    let text = fs::read_to_string(&about).unwrap();
    rot(&about, text.find("wall_s: ").unwrap() + "wall_s: ".len());
    assert_eq!(history(&fork(&run, None, &[]).unwrap()).forked().unwrap().from_step, 50);
    fs::write(&about, text).unwrap();
    let tensors = run.path().join("checkpoint-00000050.safetensors");
    let length = fs::metadata(&tensors).unwrap().len() as usize;
    let made = forked(&run, 50, &[]);
    rot(&tensors, length / 2);
    assert!(fork(&run, Some(50), &[]).unwrap_err().contains("the checksum is wrong"));
    let output = to_the_end(&made, true);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("the checksum is wrong") && said.contains("from another checkpoint"), "{said}");
    assert_eq!(curve(&made), curve(&run)[..50]);
    rot(&tensors, length / 2);
    assert!(to_the_end(&made, true).status.success());
    assert_eq!(curve(&made), curve(&run));
}

#[test]
fn a_fork_keeps_the_best_loss_if_evaluations_are_comparable() {
    let stage = Stage::new();
    let run = tiny(&stage, &[]);
    assert!(to_the_end(&run, false).status.success());
    let best = CheckpointChoice::Best.find(&run).unwrap();
    let end = (best.step + 5).to_string();
    // Steps so long that the model is worse after them.
    let worse = [("learning_rate", "1"), ("schedule.min_lr", "1"), ("eval_every", "1000"), ("steps", &*end)];
    for (field, value, is_kept) in [("log_every", "3", true), ("eval_batches", "3", false), ("batch_size", "3", false)]
    {
        let fork = forked(&run, best.step, &[&worse[..], &[(field, value)]].concat());
        assert!(to_the_end(&fork, true).status.success());
        let last = Checkpoint::examine(&fork, best.step + 5).unwrap();
        let expected = if is_kept { best.step } else { last.step };
        assert_eq!(last.best.map(|(step, _)| step), Some(expected), "{field}");
    }
}

#[test]
fn a_fork_may_change_its_data() {
    let stage = Stage::new();
    let run = trained(&stage, 60);
    let other = Stage::new();
    let labels = other.data().join("train-labels-idx1-ubyte");
    let mut bytes = fs::read(&labels).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&labels, bytes).unwrap();
    let data = format!("Folder({:?})", other.data().to_str().unwrap());
    let fork = forked(&run, 50, &[("data", &data)]);
    assert!(to_the_end(&fork, true).status.success());
    let print = |run: &RunFolder| history(run).started().unwrap().fingerprint.clone();
    assert_ne!(print(&fork), print(&run));
    assert_eq!(curve(&fork)[..50], curve(&run)[..50]);
    assert!(fork.check(false, &PresetConfigs).unwrap().is_intact());
}

#[test]
fn resuming_a_finished_run_with_a_damaged_last_checkpoint_trains_its_end_again() {
    let stage = Stage::new();
    let run = trained(&stage, 60);
    let (losses, path) = (curve(&run), run.path().join("checkpoint-00000060.safetensors"));
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&path, damaged).unwrap();
    let folder = run.path().to_str().unwrap();
    let train = |more: &[&str]| {
        let usual = ["train", "--worker", WORKER];
        valleyscope(&stage, &[&usual[..], more].concat())
    };
    let fork = train(&["--fork", folder, "--set", "steps=52"]);
    expect(&fork, 0, &["the checkpoint of step 60 cannot be used", "at step 50"]);
    let refused = train(&["--fork", &format!("{folder}@60"), "--set", "steps=70"]);
    expect(&refused, 2, &["of step 60", "cannot be used", "one of step 50 besides"]);
    expect(&train(&["--resume", folder]), 0, &["its last checkpoint is gone or damaged", "finished"]);
    assert_eq!((curve(&run), fs::read(&path).unwrap()), (losses, whole));
    expect(&train(&["--resume", folder]), 0, &["nothing left to train"]);
}

#[test]
fn commands_make_and_describe_forks() {
    let stage = Stage::new();
    let run = trained(&stage, 60);
    let runs = run.path().parent().unwrap();
    let place = runs.to_str().unwrap();
    let train = |point: &str, more: &[&str]| {
        let usual = ["train", "--worker", WORKER, "--runs", place, "--fork", point];
        valleyscope(&stage, &[&usual[..], more].concat())
    };
    let name = run.name();
    let point = format!("{name}@50");
    expect(&train(&format!("{name}@55"), &[]), 2, &["no checkpoint of step 55", "50, 60"]);
    expect(&train(&format!("{name}@x"), &[]), 2, &["expected a run, or a run, @ and the step"]);
    expect(&train("nothing", &[]), 2, &["there is no run `nothing`"]);
    expect(&train(&point, &["fig2cd"]), 2, &["expected a preset of one run"]);
    expect(&train(&point, &["fig3-cpu"]), 2, &["expected a preset of one run"]);
    assert_eq!(count(runs), 1, "nothing is left of what was refused");
    let output = train(&point, &["--set", "learning_rate=0.01"]);
    expect(&output, 0, &[&format!("forked from {name} at step 50, with its optimizer's state"), "finished"]);
    let fork = RunFolder::list(runs).unwrap().into_iter().find(|other| *other != run).unwrap();
    // Into a new folder.
    let new = stage.place.path().join("forks").join("runs");
    let point = format!("{}@50", run.path().display());
    let arguments = ["--runs", new.to_str().unwrap(), "--fork", &point, "--set", "steps=52"];
    let usual = ["train", "--worker", WORKER];
    expect(&valleyscope(&stage, &[&usual[..], &arguments].concat()), 0, &["at step 50", "finished"]);
    assert_eq!(RunFolder::list(&new).unwrap().len(), 1);
    assert_eq!(fork.stem(), run.stem());
    let config = Preset::read(&fork.config()).unwrap();
    assert_eq!(config.title(), "MNIST classifier · FOCUS, η 0.01");
    assert_eq!(config.description(), "“A small training”, changed: FOCUS; η 0.01.");
    // With a preset its settings apply, on the data that the command line names.
    let data = stage.data();
    let by_preset = ["mnist", "--device", "cpu", "--data", data.to_str().unwrap(), "--set", "steps=55"];
    expect(&train(&format!("{}@50", run.path().display()), &by_preset), 0, &["with its optimizer's state"]);
    let of = |args: &[&str]| valleyscope(&stage, &[&["runs", "--runs", place], args].concat());
    expect(&of(&["list"]), 0, &[" 60 ", " 55 ", "@50"]);
    expect(&of(&["show", &fork.name()]), 0, &["forked from", "that run is in", "60/60 steps"]);
    expect(&of(&["check", &fork.name()]), 0, &["fork", "intact"]);
    let table = stage.place.path().join("fork.csv");
    let export = ["export", &fork.name(), "--out", table.to_str().unwrap()];
    expect(&of(&export), 0, &[]);
    let rows = fs::read_to_string(&table).unwrap().lines().filter(|line| line.contains(",0.")).count();
    assert!(rows >= 60, "{rows}");
    fs::remove_dir_all(run.path()).unwrap();
    expect(&of(&["show", &fork.name()]), 0, &["is not found, so the curve begins at step 50"]);
    expect(&of(&export), 0, &["is not found, so the curve begins at step 50"]);
    expect(&of(&["check", &fork.name()]), 0, &["is not found"]);
}
