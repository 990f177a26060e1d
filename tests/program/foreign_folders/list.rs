//! One bad run is one bad line of the list.

use std::fs;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use valleyscope::export::{Element, NpzWriter};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_runs::{Event, Notes, RunFolder, Started};

use crate::doctor::{Sandbox, make_fifo, said};
use crate::says::says;

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
        assert!(line.chars().count() <= 250, "{line}");
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
        says(line(stem), words);
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

/// Words with a title for the window and a text for the clipboard, both by escape sequences; the bell; a colour by a
/// single character (CSI); a turned direction of writing; the ends of lines of old; and deletion.
const EVIL: &str =
    "ev\u{1b}]0;t\u{7}\u{1b}]52;c;ZXZpbA==\u{7}\u{9b}31m\u{202e}\u{2066}il\r\u{b}\u{c}\u{8}\u{85}\u{2028}\u{7f}";
/// Words that a path or a file name can contain.
const EVIL_NAME: &str = "ev\u{1b}]0;t\u{7}\u{9b}31m\u{202e}il";

/// Words that a title can contain, without control characters.
const TURNED: &str = "ev\u{202e}il";

/// Words that an optimizer's name can contain, with only visible characters.
const VISIBLE: &str = "évíl 邪";

/// Checks that an output contains no control sequence, and whether it contains the evil words.
#[track_caller]
fn tame(text: &str, has_evil: bool) {
    let acts = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    if let Some(found) = text.chars().find(|c| acts(*c)) {
        panic!("{found:?} in {text:?}");
    }
    assert!(!has_evil || text.contains("ev\\u{1b}]0;t\\u{7}"), "the words are not in {text:?}");
}

/// Returns the output of a command on a terminal, with the terminal's ends of lines made plain.
fn on_terminal(sandbox: &Sandbox, args: &[&str]) -> String {
    let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
    in_shell(sandbox, &format!("{} {}", env!("CARGO_BIN_EXE_valleyscope"), quoted.join(" ")))
}

/// Returns the output of a shell's command on a terminal, with the terminal's ends of lines made plain.
fn in_shell(sandbox: &Sandbox, command: &str) -> String {
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", command]);
    let output = sandbox.at_home(script).arg("/dev/null").output().expect("there is `script`, of util-linux");
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

/// Returns the text as a string of RON, with its characters as they are.
fn ron(text: &str) -> String {
    format!("r##\"{text}\"##")
}

fn landscape() -> String {
    format!(
        "// {EVIL}\nLandscape(version: 1, title: {1}, description: {0}, simulations: [(spec: (noise: 1.0, particles: 2, steps: 2,
        optimizers: [(id: 0, name: {2}, rule: Adam(learning_rate: 0.01))]))])",
        ron(EVIL),
        ron(TURNED),
        ron(VISIBLE)
    )
}

#[test]
fn presets() {
    let sandbox = Sandbox::new();
    let folder = sandbox.join("valleyscope/presets");
    fs::create_dir_all(&folder).unwrap();
    let own = folder.join(format!("{EVIL_NAME}.ron"));
    fs::write(&own, landscape()).unwrap();
    let broken = folder.join(format!("broken {EVIL_NAME}.ron"));
    fs::write(&broken, format!("Landscape(version: 1, title: {}, \u{1b}]0;t\u{7})", ron(EVIL))).unwrap();
    let [own, broken] = [&own, &broken].map(|path| path.to_str().unwrap());
    for args in [
        &["presets", "list"][..],
        &["presets", "check", own, broken],
        &["presets", "show", "nothing \u{1b}]0;t\u{7}"],
        &["presets", "show", broken],
        &["simulate", own, "--out", "out.csv"],
        &["simulate", own, "--out", EVIL_NAME],
        &["simulate", broken],
        &["simulate", own, EVIL_NAME],
        &["sweep", own, "--out", EVIL_NAME],
        &["sweep", broken, "--out", EVIL_NAME],
        &["figure", own, "--out", "f.svg"],
        &["figure", EVIL_NAME, "--out", "f.svg"],
        &["train", own],
        &["train", "mnist", "--set", EVIL_NAME],
        &["train", "mnist", "--set", &format!("title={EVIL_NAME}"), "--worker", "/nowhere"],
        &["data", "mnist", "--check", "--dir", EVIL_NAME],
        &["data", "mnist", "--dir", "d", "--from", EVIL_NAME],
        &["app", "--preset", broken],
        &["app", "--open", EVIL_NAME],
    ] {
        tame(&said(&sandbox.run(args)), false);
    }
    tame(&said(&sandbox.run(&["presets", "list"])), true);
    tame(&said(&sandbox.run(&["presets", "check", own])), true);
}

#[test]
fn content_is_unchanged_in_a_pipe_and_escaped_on_a_terminal() {
    let sandbox = Sandbox::new();
    let text = landscape();
    fs::write(sandbox.join("own.ron"), &text).unwrap();
    assert_eq!(sandbox.run(&["presets", "show", "own.ron"]).stdout, text.as_bytes());
    let table = String::from_utf8(sandbox.run(&["simulate", "own.ron"]).stdout).unwrap();
    assert!(table.contains(VISIBLE), "{table}");
    if cfg!(target_os = "linux") {
        tame(&on_terminal(&sandbox, &["presets", "show", "own.ron"]), true);
        let table = on_terminal(&sandbox, &["simulate", "own.ron"]);
        tame(&table, false);
        assert!(table.contains(VISIBLE), "{table}");
    }
}

/// Returns a run with the words in all its texts, which was ended by this event, if by any.
fn evil_run(sandbox: &Sandbox, stem: &str, goodbye: Option<Event>) -> PathBuf {
    let evil = || EVIL.to_owned();
    let started = Started {
        title: evil(),
        kind: evil(),
        steps: 9,
        optimizer: evil(),
        data: evil(),
        fingerprint: evil(),
        device: evil(),
        precision: evil(),
        version: evil(),
        ..Started::default()
    };
    let events = [
        Event::Sample { text: evil() },
        Event::Checkpoint { file: evil() },
        Event::Command { id: evil(), ok: true, message: evil(), steps: None },
        Event::Command { id: evil(), ok: false, message: evil(), steps: None },
        Event::Warning { message: evil() },
    ];
    let run = sandbox.record(stem, &landscape(), started, events.into_iter().chain(goodbye).collect());
    Notes { title: evil(), note: evil(), ..Notes::default() }.write(&run).unwrap();
    fs::write(run.log(), format!("{EVIL}\nlast words\n")).unwrap();
    fs::write(run.commands(), format!("{EVIL}\n")).unwrap();
    run.path().to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn a_list_of_runs_fits_the_terminal_and_shows_titles() {
    let sandbox = Sandbox::new();
    let title = "The title of a run ".repeat(6).trim().to_owned();
    let started = Started { title: title.clone(), steps: 9, ..Started::default() };
    sandbox.record("titled", &landscape(), started, vec![Event::Stopped]);
    let list = |columns: u16| {
        let program = env!("CARGO_BIN_EXE_valleyscope");
        in_shell(&sandbox, &format!("stty rows 40 cols {columns}; {program} runs list"))
    };
    let wide = list(220);
    assert!(wide.contains(&title) && wide.contains("STEP"), "{wide}");
    for columns in [80, 60] {
        let narrow = list(columns);
        assert!(!narrow.contains(&title) && narrow.contains("  The title of"), "{narrow}");
        assert!(narrow.lines().all(|line| line.chars().count() <= columns.into()), "{narrow}");
    }
}

#[test]
fn runs() {
    let sandbox = Sandbox::new();
    let ends = [
        ("failed", Some(Event::Failed { message: EVIL.to_owned() })),
        ("stopped", Some(Event::Stopped)),
        ("finished", Some(Event::Finished)),
        ("crashed", None),
    ];
    for (stem, goodbye) in ends {
        let evil = evil_run(&sandbox, stem, goodbye);
        let named = sandbox.runs().join(format!("{stem} {EVIL_NAME}"));
        fs::rename(&evil, &named).unwrap();
    }
    let elsewhere = evil_run(&sandbox, "elsewhere", None);
    let lock = fs::read_to_string(elsewhere.join("lock")).unwrap();
    let (before, after) = lock.split_once("\"host\":\"").unwrap();
    let host: String = EVIL.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let rest = after.split_once('"').unwrap().1;
    fs::write(elsewhere.join("lock"), format!("{before}\"host\":\"{host}\"{rest}")).unwrap();
    let list = said(&sandbox.run(&["runs", "list"]));
    tame(&list, true);
    assert_eq!(list.lines().count(), 6, "{list}");
    for stem in ["failed", "stopped", "finished", "crashed", "elsewhere"] {
        let show = said(&sandbox.run(&["runs", "show", stem]));
        tame(&show, true);
        let open = stem == "elsewhere";
        for (command, more) in [
            ("watch", &[][..]),
            ("stop", &[]),
            ("export", &["--out", "out.csv"]),
            ("export", &["--out", "out.npz"]),
            ("export", &["--out", EVIL_NAME]),
        ] {
            // Such a run may be training elsewhere, and the command waits for it.
            if !(open && matches!(command, "watch" | "stop")) {
                tame(&said(&sandbox.run(&[&["runs", command, stem], more].concat())), false);
            }
        }
        tame(&said(&sandbox.run(&["figure", stem, "--out", "f.png"])), false);
        tame(&said(&sandbox.run(&["train", "--resume", stem, "--worker", "/nowhere"])), false);
    }
    tame(&said(&sandbox.run(&["runs", "show", EVIL_NAME])), true);
    tame(&said(&sandbox.run(&["runs", "watch", "failed"])), true);
}

/// Numbers whose description in an array's header has control sequences.
#[derive(Clone, Copy)]
struct Evil;

impl Element for Evil {
    const DESCR: &'static str = "ev\u{1b}]0;t\u{7}\u{9b}31m\u{202e}il";

    fn write_to(self, _: &mut impl Write) -> std::io::Result<()> {
        Ok(())
    }

    fn from_bytes(_: &[u8]) -> Evil {
        Evil
    }
}

/// The archive of a result with these texts, or with a header that acts in the place of the first.
fn result(folder: &Path, spec: Option<&str>, program: &str) {
    fs::create_dir_all(folder).unwrap();
    let mut file = File::create(folder.join("phase.npz")).unwrap();
    let mut npz = NpzWriter::new(&mut file);
    match spec {
        Some(spec) => npz.text("spec", spec).unwrap(),
        None => npz.array("spec", &[1], [Evil]).unwrap(),
    }
    npz.text("program", program).unwrap();
    npz.finish().unwrap();
}

#[test]
fn results() {
    let sandbox = Sandbox::new();
    let Some(Preset::Sweep(mut preset)) =
        built_ins().iter().find(|built_in| built_in.name == "fig2a").map(|built_in| built_in.preset.clone())
    else {
        panic!("fig2a is a sweep");
    };
    (preset.title, preset.description) = (TURNED.to_owned(), EVIL.to_owned());
    let spec = Preset::Sweep(preset).to_ron();
    result(&sandbox.join("header"), None, "f32");
    result(&sandbox.join("program"), Some(&spec), EVIL);
    result(&sandbox.join("spec"), Some(&format!("Sweep(version: 1, title: {EVIL}")), "f32");
    for folder in ["header", "program", "spec"] {
        let output = said(&sandbox.run(&["figure", &format!("./{folder}"), "--out", "f.svg"]));
        tame(&output, false);
        assert!(output.contains("error: "), "{output}");
        tame(&said(&sandbox.run(&["app", "--open", &format!("./{folder}")])), false);
    }
    let program = said(&sandbox.run(&["figure", "./program", "--out", "f.svg"]));
    tame(&program, true);
    let header = said(&sandbox.run(&["figure", "./header", "--out", "f.svg"]));
    tame(&header, true);

    fs::write(sandbox.join("own.ron"), &spec).unwrap();
    let out = format!("out {EVIL_NAME}");
    let sweep = ["sweep", "own.ron", "--grid", "2x2", "--lrs", "2", "--replicates", "2", "--steps", "2", "--out", &out];
    tame(&said(&sandbox.run(&sweep)), true);
    tame(&said(&sandbox.run(&sweep)), true);
    tame(&said(&sandbox.run(&["figure", &format!("./{out}"), "--out", &format!("{EVIL_NAME}.svg")])), true);
}

#[test]
fn the_doctor() {
    let sandbox = Sandbox::new();
    let worker = sandbox.join("valleyscope/worker");
    fs::create_dir_all(&worker).unwrap();
    let status = format!("state=failed\nstep=1\nsteps=3\npid=1\nupdated=1\nmessage={EVIL}");
    fs::write(worker.join("setup.txt"), status).unwrap();
    let mut doctor = sandbox.command(&[]);
    let output = doctor.arg("doctor").env("DISPLAY", EVIL_NAME).env_remove("WAYLAND_DISPLAY").output().unwrap();
    tame(&said(&output), true);
}
