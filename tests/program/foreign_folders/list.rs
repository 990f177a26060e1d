//! One bad run is one bad line of the list.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use valleyscope_runs::{Event, Notes, RunFolder, Started};

use crate::sandbox::{Sandbox, make_fifo, said};

#[test]
fn bad_runs_take_a_line_each_and_the_others_are_listed() {
    let sandbox = Sandbox::new();
    let started = |title: &str| Started { title: title.to_owned(), optimizer: "Adam".into(), ..Started::default() };
    let run = |stem: &str| sandbox.record(stem, "Mnist()", started("Adam on digits"), vec![Event::Stopped]);
    run("good");
    let long = "x".repeat(70_000);
    let endless = Started { title: long.clone(), optimizer: long.clone(), ..Started::default() };
    sandbox.record("long", "Mnist()", endless, vec![Event::Failed { message: long.clone() }]);
    Notes { title: long, ..Notes::default() }.write(&run("noted")).unwrap();
    let fifo = run("fifo");
    fs::remove_file(fifo.events()).unwrap();
    make_fifo(fifo.events());
    let link = run("link");
    fs::rename(link.events(), sandbox.join("elsewhere")).unwrap();
    symlink(sandbox.join("elsewhere"), link.events()).unwrap();
    let notes = run("notes");
    fs::create_dir(notes.notes()).unwrap();
    let locked = run("locked");
    fs::set_permissions(locked.events(), PermissionsExt::from_mode(0o000)).unwrap();

    let output = sandbox.run(&["runs", "list"]);
    fs::set_permissions(locked.events(), PermissionsExt::from_mode(0o644)).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let [text, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let line = |stem: &str| {
        let found = text.lines().filter(|line| line.starts_with(stem)).collect::<Vec<_>>();
        let [line] = found[..] else { panic!("{} lines of {stem} in {text}", found.len()) };
        assert!(line.chars().count() <= 100, "{line}");
        line
    };
    assert_eq!(text.lines().count(), 8, "{text}");
    for (stem, words) in [
        ("good-", &["stopped", "Adam on digits"][..]),
        ("long-", &["failed", "xxx…xxx"]),
        ("noted-", &["stopped", "xxx…xxx"]),
        ("fifo-", &["unreadable"]),
        ("link-", &["unreadable"]),
        ("notes-", &["stopped", "Adam on digits"]),
        ("locked-", &[]),
    ] {
        for word in words {
            assert!(line(stem).contains(word), "no {word:?} in: {}", line(stem));
        }
    }
    for (run, words) in [(&fifo, "found a FIFO"), (&link, "found a symbolic link")] {
        let reason = format!("cannot read {}", run.events().display());
        assert!(errors.lines().any(|line| line.contains(&reason) && line.contains(words)), "{errors}");
    }
    // Root can read everything.
    assert!(["stopped", "unreadable"].iter().any(|word| line("locked-").contains(word)));
}

#[test]
fn every_command_reports_files_that_are_not_regular() {
    let sandbox = Sandbox::new();
    let run = sandbox.record("fifo", "Mnist()", Started::default(), vec![Event::Stopped]);
    fs::remove_file(run.events()).unwrap();
    make_fifo(run.events());
    for command in ["show", "watch", "stop"] {
        let output = sandbox.run(&["runs", command, "fifo"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(said(&output).contains("found a FIFO"), "{}", said(&output));
    }
    let output = sandbox.run(&["runs", "export", "fifo", "--out", "a.csv"]);
    assert!(said(&output).contains(RunFolder::EVENTS) && said(&output).contains("found a FIFO"), "{}", said(&output));
}
