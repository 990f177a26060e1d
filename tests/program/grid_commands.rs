//! Trainings with varying settings on the command line: what is refused, and what is put into the queue.

use std::collections::BTreeSet;
use std::fs;

use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::MnistSpec;
use valleyscope_runs::Queue;

use super::doctor::{Sandbox, expect, expect_error, stdout};

/// Returns the trainings of the queue in its order.
fn queued(sandbox: &Sandbox, runs: &str) -> Vec<(String, MnistSpec)> {
    let entries = Queue::of(&sandbox.join(runs)).entries().expect("the queue can be read");
    let spec = |entry: valleyscope_runs::QueueEntry| match Preset::parse(&entry.config, "an entry") {
        Ok(Preset::Mnist(mut preset)) if preset.runs.len() == 1 => (entry.name, preset.runs.remove(0)),
        other => panic!("expected a training of one run, found {other:?}"),
    };
    entries.into_iter().map(spec).collect()
}

/// What distinguishes trainings of a grid of batch sizes, learning rates and seeds.
fn key(run: &MnistSpec) -> (usize, u64, u64) {
    (run.batch_size.get(), run.learning_rate.get().to_bits(), run.seed)
}

#[test]
fn varying_settings_are_refused_before_anything_is_written() {
    let sandbox = Sandbox::new();
    for (args, words) in [
        (&["--vary", "learning_rate"][..], ["expected SETTING=VALUE,VALUE,…", "learning_rate"]),
        (&["--vary", "learning_rate=1..0:3"], ["a range such as 0.0001..0.01:5:log", "1..0:3"]),
        (&["--vary", "learning_rate=0.1,0.1"], ["takes the value 0.1 twice", "learning_rate"]),
        (&["--vary", "nose=1,2"], ["cannot be", "nose"]),
        (&["--vary", "learning_rate=0.1,-1"], ["cannot be", "learning_rate=-1"]),
        (&["--vary", "optimizer=Adam,Nobody"], ["cannot be", "Nobody"]),
        (&["--vary", "seed=1,2", "--vary", "seed=3"], ["varies `seed` a second time", "vary[1]"]),
        (&["--vary", "batch_size=1..1000:1000", "--seeds", "30"], ["makes 30000 trainings", "20000"]),
        (&["--seeds", "0"], ["--seeds", "0"]),
        (&["--seeds", "few"], ["--seeds", "few"]),
        (&["--part", "1/2"], ["--part 1/2", "at most 1 parts"]),
        (&["--seeds", "3", "--part", "4/3"], ["--part", "4/3"]),
    ] {
        for command in [&["train", "mnist"][..], &["queue", "add", "mnist"]] {
            let output = sandbox.run(&[command, args, &["--runs", "runs"]].concat());
            expect_error(&output, 2, &words);
        }
    }
    let sweep = sandbox.run(&["train", "fig2a", "--vary", "noise=1,2", "--runs", "runs"]);
    expect_error(&sweep, 2, &["expected a training, of the kind Grid, Mnist, Gpt2"]);
    assert_eq!(fs::read_dir(sandbox.path()).expect("a folder").count(), 0, "nothing is written");
}

#[test]
fn the_trainings_of_a_grid_are_put_into_the_queue() {
    let sandbox = Sandbox::new();
    let grid = ["queue", "--runs", "runs", "add", "mnist", "--vary", "learning_rate=1e-4,1e-3", "--seeds", "2"];
    let output = sandbox.run(&grid);
    expect(&output, 0, &[]);
    let names: Vec<String> = stdout(&output).lines().map(str::to_owned).collect();
    let entries = queued(&sandbox, "runs");
    assert_eq!(entries.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
    let found: Vec<(f64, u64)> = entries.iter().map(|(_, run)| (run.learning_rate.get(), run.seed)).collect();
    assert_eq!(found, [(1e-4, 0), (1e-4, 1), (1e-3, 0), (1e-3, 1)]);
    let list = sandbox.run(&["queue", "--runs", "runs", "list"]);
    expect(&list, 0, &[]);
    let lines: Vec<&str> = stdout(&list).lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    for (line, (name, _)) in lines.iter().zip(&entries) {
        assert!(line.contains(name.as_str()), "{line}");
    }
    // The title says what varies.
    assert!(stdout(&list).contains("2 learning rates, 2 seeds"), "{}", stdout(&list));
    // Settings and a grid of another preset.
    let output = sandbox.run(&[
        "queue",
        "--runs",
        "other",
        "add",
        "fig2cd",
        "--set",
        "steps=7",
        "--vary",
        "batch_size=2,4",
        "--vary",
        "learning_rate=0.1",
        "--seeds",
        "1",
    ]);
    expect(&output, 0, &[]);
    let entries = queued(&sandbox, "other");
    assert_eq!(entries.len(), 4 * 2, "the optimizers of the preset vary, too");
    assert!(entries.iter().all(|(_, run)| run.steps.get() == 7 && run.learning_rate.get() == 0.1));
}

#[test]
fn parts_divide_the_trainings_of_any_preset() {
    let sandbox = Sandbox::new();
    let of = |preset: &[&str], part: &str| {
        let folder = format!("runs-{}", part.replace('/', "-"));
        let output = sandbox.run(&[&["queue", "--runs", &folder, "add"], preset, &["--part", part]].concat());
        expect(&output, 0, &[]);
        let found = queued(&sandbox, &folder);
        fs::remove_dir_all(sandbox.join(&folder)).expect("it can be removed");
        found
    };
    let grid = ["mnist", "--vary", "batch_size=2,64,1024", "--vary", "learning_rate=1e-3,1e-2", "--seeds", "2"];
    let parts: Vec<Vec<(String, MnistSpec)>> = ["1/3", "2/3", "3/3"].map(|part| of(&grid, part)).into();
    let all: Vec<_> = parts.iter().flatten().map(|(_, run)| key(run)).collect();
    let distinct: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!((all.len(), distinct.len()), (12, 12), "each training is in one part");
    assert!(parts.iter().all(|part| !part.is_empty()));
    // Costs are about equal: large batches are spread over the parts.
    let large = parts.iter().map(|part| part.iter().filter(|(_, run)| run.batch_size.get() == 1024).count());
    assert_eq!(large.clone().max().zip(large.min()), Some((2, 1)));
    assert!(parts[0][0].0.starts_with("mnist-part-1-of-3-"), "{}", parts[0][0].0);
    // A preset of several runs.
    let path = sandbox.join("two.ron");
    let run = |rate: f64| format!("(optimizer: Adam(), learning_rate: {rate}, steps: 5)");
    let two = format!("Mnist(version: 1, title: \"Two\", runs: [{}, {}])", run(0.1), run(0.2));
    fs::write(&path, two).expect("it can be written");
    let rates = ["1/2", "2/2"].map(|part| of(&["two.ron"], part)).concat();
    let mut rates: Vec<f64> = rates.iter().map(|(_, run)| run.learning_rate.get()).collect();
    rates.sort_by(f64::total_cmp);
    assert_eq!(rates, [0.1, 0.2]);
    let output = sandbox.run(&["queue", "add", "two.ron", "--part", "1/3"]);
    expect_error(&output, 2, &["--part 1/3: expected at most 2 parts", "two.ron"]);
}
