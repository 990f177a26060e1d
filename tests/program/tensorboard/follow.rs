//! Folders of event files that are followed while another program writes them.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use valleyscope::runs::import::{Follower, Imported, Outcome, import_runs};
use valleyscope_runs::{MetricId, Notes, RunFolder, RunReader, Status, now};

use super::{BEGAN, log, scalar};
use crate::doctor::{Sandbox, expect, signal, stdout, wait_until};

/// Appends points of the loss to an event file.
fn append(folder: &Path, steps: std::ops::Range<i64>) {
    let file = OpenOptions::new().append(true).open(folder.join("events.out.tfevents.1"));
    let records: Vec<u8> =
        steps.flat_map(|step| scalar("train/loss", BEGAN + step as f64, step, step as f32)).collect();
    file.and_then(|mut file| file.write_all(&records)).expect("the folder is writable");
}

fn begun(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    let folder = log(sandbox, name, &[]);
    append(&folder, 0..10);
    folder
}

fn set_age(folder: &Path, age: Duration) {
    let file = File::options().write(true).open(folder.join("events.out.tfevents.1"));
    file.and_then(|file| file.set_modified(SystemTime::now() - age)).expect("its time can be set");
}

/// Polls until this holds; returns what was found for the first time.
fn poll_until(follower: &mut Follower, mut holds: impl FnMut() -> bool) -> Vec<Imported> {
    let mut found = Vec::new();
    wait_until("the follower", || {
        follower.poll(|imported| found.push(imported)).expect("the folder can be read");
        holds()
    });
    found
}

fn runs(sandbox: &Sandbox) -> Vec<RunFolder> {
    RunFolder::list(&sandbox.runs()).expect("runs")
}

fn losses(reader: &mut RunReader) -> usize {
    reader.poll().expect("the events can be read");
    reader.history().curve(MetricId::LOSS).len()
}

fn status(run: &RunFolder) -> Status {
    RunReader::brief(run.clone()).status(now()).expect("it can be read")
}

#[test]
fn new_points_and_new_runs_are_added_and_old_ones_stay_as_they_are() {
    let sandbox = Sandbox::new();
    let folder = begun(&sandbox, "a");
    let mut follower = Follower::new(&sandbox.runs(), &sandbox.join("logs"));
    assert_eq!(poll_until(&mut follower, || !runs(&sandbox).is_empty()).len(), 1);
    let run = runs(&sandbox).remove(0);
    let mut reader = RunReader::new(run.clone());
    assert_eq!(losses(&mut reader), 10);
    let (generation, lines) = (reader.history().generation(), fs::read(run.events()).expect("it is there"));
    append(&folder, 10..15);
    let found = poll_until(&mut follower, || losses(&mut reader) == 15);
    assert!(found.is_empty(), "only the first import is reported");
    assert_eq!(reader.history().generation(), generation, "readers go on after the earlier lines");
    assert!(fs::read(run.events()).expect("it is there").starts_with(&lines));
    assert!(matches!(reader.status(now()).expect("it can be read"), Status::Silent { host: None, .. }));
    assert_eq!(reader.history().steps(), None);
    begun(&sandbox, "b");
    let found = poll_until(&mut follower, || runs(&sandbox).len() == 2);
    assert!(matches!(&found[..], [Imported { outcome: Outcome::Made { .. }, .. }]), "{found:?}");
}

#[test]
fn a_run_whose_files_do_not_grow_has_finished_until_they_grow_again() {
    let sandbox = Sandbox::new();
    let folder = begun(&sandbox, "a");
    set_age(&folder, Duration::from_secs(3600));
    let mut follower = Follower::new(&sandbox.runs(), &folder);
    poll_until(&mut follower, || !runs(&sandbox).is_empty());
    let run = runs(&sandbox).remove(0);
    assert_eq!(status(&run), Status::Finished);
    append(&folder, 10..12);
    poll_until(&mut follower, || matches!(status(&run), Status::Silent { .. }));
    set_age(&folder, Duration::from_secs(601));
    poll_until(&mut follower, || status(&run) == Status::Finished);
    assert_eq!(losses(&mut RunReader::new(run)), 12);
}

#[test]
fn an_import_updates_the_run_of_an_earlier_one_and_keeps_its_notes() {
    let sandbox = Sandbox::new();
    let folder = begun(&sandbox, "a");
    let import = || import_runs(&sandbox.runs(), &folder, |_| {}).expect("it can be imported");
    import();
    let run = runs(&sandbox).remove(0);
    let renamed = sandbox.runs().join("mine");
    fs::rename(run.path(), &renamed).expect("it can be renamed");
    let run = RunFolder::open(&renamed).expect("a run");
    Notes { title: "Mine".to_owned(), ..Notes::default() }.write(&run).expect("it can be written");
    append(&folder, 10..20);
    import();
    assert_eq!(runs(&sandbox), std::slice::from_ref(&run));
    assert_eq!(losses(&mut RunReader::new(run.clone())), 20);
    assert_eq!(Notes::read(&run).expect("notes").title, "Mine");
    // A single file is another run than its folder, which may have more of them.
    import_runs(&sandbox.runs(), &folder.join("events.out.tfevents.1"), |_| {}).expect("it can be imported");
    assert_eq!(runs(&sandbox).len(), 2);
    fs::remove_dir_all(run.path()).expect("it can be deleted");
    import();
    assert_eq!(runs(&sandbox).len(), 2);
}

#[test]
fn an_update_does_not_follow_links_in_the_folder_of_a_run() {
    let sandbox = Sandbox::new();
    let folder = begun(&sandbox, "a");
    let import = || {
        let mut outcomes = Vec::new();
        import_runs(&sandbox.runs(), &folder, |it| outcomes.push(it.outcome)).expect("it can be searched");
        outcomes.remove(0)
    };
    import();
    let run = runs(&sandbox).remove(0);
    sandbox.write("precious", "mine");
    fs::remove_file(run.other_config()).expect("it is there");
    std::os::unix::fs::symlink(sandbox.join("precious"), run.other_config()).expect("a link can be made");
    assert!(matches!(import(), Outcome::LeftOut(reason) if reason.contains("config.json")));
    assert_eq!(fs::read_to_string(sandbox.join("precious")).expect("it is there"), "mine");
}

#[test]
fn the_command_follows_until_it_is_interrupted() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.join("logs")).expect("a new folder");
    let mut command = sandbox.command(&["runs", "import", "--follow", "logs"]);
    let mut command = command.stderr(Stdio::piped()).spawn().expect("it is there");
    let folder = begun(&sandbox, "later");
    wait_until("the run", || !runs(&sandbox).is_empty());
    append(&folder, 10..30);
    wait_until("its points", || losses(&mut RunReader::new(runs(&sandbox).remove(0))) == 30);
    let listed = sandbox.run(&["runs", "list", "--csv", "--columns", "name,step,state"]);
    expect(&listed, 0, &[]);
    assert_eq!(stdout(&listed), "name,step,state\nlater,29,silent\n");
    signal("INT", command.id());
    assert_eq!(command.wait().expect("it ends").code(), Some(0));
}
