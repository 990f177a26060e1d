//! Commands: sent, received once, answered.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use valleyscope_runs::{
    CommandRequest, Event, Reply, RunCommand, RunFolder, RunReader, RunSession, Started, Status, TextRequest,
    Timestamp, send,
};

use super::reader::read;
use super::worker::{self, fresh_run, wait_until};

fn begin(run: &RunFolder) -> RunSession {
    let mut session = RunSession::begin(run).unwrap();
    if session.is_new() {
        session.record(0, Event::Started(Started::default())).unwrap();
    } else {
        session.resume(0, 0.0).unwrap();
    }
    session
}

/// Waits until there are commands; sessions look for them only now and then.
fn next(session: &mut RunSession) -> Vec<(String, RunCommand)> {
    let mut found = Vec::new();
    wait_until("commands", || {
        found = session.commands().unwrap();
        !found.is_empty()
    });
    found
}

fn all(run: &RunFolder, session: &mut RunSession) -> Vec<RunCommand> {
    let last = send(run, RunCommand::SetSteps { n: 1_000_000_000 }).unwrap();
    let mut found = Vec::new();
    loop {
        for (id, command) in next(session) {
            if id == last {
                return found;
            }
            found.push(command);
        }
    }
}

fn append(run: &RunFolder, text: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(run.commands()).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn each_command_is_received_once() {
    let (_place, run) = fresh_run();
    let mut session = begin(&run);
    let request = TextRequest { prompt: "\"θ\"\n".into(), tokens: 5, temperature: 0.8, top_k: Some(40) };
    let sample = RunCommand::Sample(request);
    let sent = [RunCommand::Save, sample, RunCommand::SetSteps { n: 7 }, RunCommand::Stop];
    for command in &sent {
        send(&run, command.clone()).unwrap();
    }
    assert_eq!(all(&run, &mut session), sent);
    send(&run, RunCommand::Save).unwrap();
    assert_eq!(all(&run, &mut session), [RunCommand::Save]);
}

#[test]
fn the_format_is_that_of_the_reference() {
    let (_place, run) = fresh_run();
    let id = send(&run, RunCommand::Stop).unwrap();
    send(&run, RunCommand::SetSteps { n: 7 }).unwrap();
    let text = fs::read_to_string(run.commands()).unwrap();
    assert!(text.starts_with(&format!("{{\"id\":\"{id}\",\"command\":\"Stop\"}}\n")), "{text}");
    assert!(text.ends_with(",\"command\":{\"SetSteps\":{\"n\":7}}}\n"), "{text}");
}

#[test]
fn an_incomplete_line_is_not_read_yet() {
    let (_place, run) = fresh_run();
    let mut session = begin(&run);
    append(&run, "{\"id\": 7, \"command\"");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(250) {
        assert_eq!(session.commands().unwrap(), []);
    }
    append(&run, ": \"Save\"}\n");
    assert_eq!(next(&mut session), [("7".to_owned(), RunCommand::Save)]);
    session.answer("7", true, "saved").unwrap();
    append(&run, "{\"id\": \"cut");
    send(&run, RunCommand::Stop).unwrap();
    assert_eq!(all(&run, &mut session), [RunCommand::Stop], "a line that nobody completes does not swallow the next");
}

#[test]
fn bad_lines_are_answered() {
    let (_place, run) = fresh_run();
    let mut session = begin(&run);
    append(&run, "nonsense\n\n{\"id\": \"a\", \"command\": \"Dance\"}\n{\"id\": \"b\"}\n[\"Stop\"]\n");
    assert_eq!(all(&run, &mut session), []);
    let history = read(&run);
    let answers: Vec<(&str, bool)> = history.answers().iter().map(|answer| (&*answer.id, answer.ok)).collect();
    assert_eq!(answers, [("line 1", false), ("a", false), ("b", false), ("line 5", false)]);
    assert!(history.answers()[1].message.contains("Dance"), "{}", history.answers()[1].message);
    assert!(history.answers()[1].message.contains("line 3"));
}

#[test]
fn errors_of_a_line_name_expected_and_found_values() {
    let (_place, run) = fresh_run();
    let mut session = begin(&run);
    let forms = "{\"SetSteps\": {\"n\": 1000}}";
    let bad = [
        ("stop please", "expected a JSON object such as"),
        (r#"{"command": "Stop"}"#, "expected an \"id\""),
        (r#"{"id": "1", "command": {"SetSteps": 1000}}"#, forms),
        (r#"{"id": "2", "command": {"SetSteps": {"steps": 1000}}}"#, forms),
        (r#"{"id": "3", "command": {"SetSteps": {"n": -5}}}"#, forms),
    ];
    append(&run, &(bad.map(|(line, _)| line).join("\n") + "\n"));
    assert_eq!(all(&run, &mut session), []);
    let history = read(&run);
    for ((line, expected), answer) in bad.into_iter().zip(history.answers()) {
        let message = &answer.message;
        assert!(message.contains(expected) && message.ends_with(&format!(", found {line}")), "{message}");
        assert!(["variant", "invalid type", "missing field"].iter().all(|word| !message.contains(word)), "{message}");
    }
}

#[test]
fn numbers_of_steps_beyond_a_presets_limit_are_refused() {
    let (_place, run) = fresh_run();
    let mut session = begin(&run);
    for n in [0, 1_000_000_001, u64::MAX] {
        send(&run, RunCommand::SetSteps { n }).unwrap();
    }
    assert_eq!(all(&run, &mut session), []);
    let messages: Vec<String> =
        read(&run).answers().iter().map(|answer| format!("{} {}", answer.ok, answer.message)).collect();
    let refusal = |line: u64, n: u64| {
        let expected = "expected a whole number from 1 to 1000000000 as the steps `n`";
        format!("false line {line} of commands.jsonl: {expected}, found {n}")
    };
    assert_eq!(messages[..3], [refusal(1, 0), refusal(2, 1_000_000_001), refusal(3, u64::MAX)]);
}

#[test]
fn answers_have_the_order_of_the_commands() {
    let (_place, run) = fresh_run();
    let mut session = begin(&run);
    let lines =
        [("a", "Save"), ("b", "Dance"), ("c", "Save"), ("d", "Save"), ("a", "Save"), ("e", "Jump"), ("f", "Stop")];
    append(&run, &lines.map(|(id, command)| format!("{{\"id\": \"{id}\", \"command\": \"{command}\"}}\n")).concat());
    let mut stopped = false;
    while !stopped {
        for (id, command) in next(&mut session) {
            session.answer(&id, true, "done").unwrap();
            stopped = command == RunCommand::Stop;
        }
    }
    let answers: Vec<(String, bool)> =
        read(&run).answers().iter().map(|answer| (answer.id.clone(), answer.ok)).collect();
    let expected = [("a", true), ("b", false), ("c", true), ("d", true), ("a", false), ("e", false), ("f", true)];
    assert_eq!(answers, expected.map(|(id, ok)| (id.to_owned(), ok)));
}

#[test]
fn a_line_without_end_is_refused_once_and_does_not_hide_others() {
    let (_place, run) = fresh_run();
    let mut session = begin(&run);
    append(&run, &"x".repeat(5 << 20));
    assert_eq!(all(&run, &mut session), []);
    append(&run, "\n{\"id\": \"a\", \"command\": \"Save\"}\n");
    assert_eq!(all(&run, &mut session), [RunCommand::Save]);
    let answers: Vec<_> = read(&run).answers().iter().map(|answer| (answer.id.clone(), answer.ok)).collect();
    assert_eq!(answers[0], ("line 1".to_owned(), false));
}

#[test]
fn commands_sent_before_the_first_session_are_received() {
    let (_place, run) = fresh_run();
    send(&run, RunCommand::Stop).unwrap();
    let mut session = begin(&run);
    assert_eq!(all(&run, &mut session), [RunCommand::Stop]);
}

#[test]
fn a_resumed_run_does_not_obey_old_commands() {
    let (_place, run) = fresh_run();
    let mut session = begin(&run);
    let answered = send(&run, RunCommand::Save).unwrap();
    let (id, _) = next(&mut session).remove(0);
    session.answer(&id, true, "saved").unwrap();
    drop(session);
    let unanswered = send(&run, RunCommand::Stop).unwrap();
    let mut session = begin(&run);
    assert_eq!(all(&run, &mut session), []);
    drop(session);
    let answers = read(&run).answers().to_vec();
    let of = |id: &str| answers.iter().filter(|answer| answer.id == id).map(|answer| answer.ok).collect::<Vec<_>>();
    assert_eq!(of(&answered), [true]);
    assert_eq!(of(&unanswered), [false]);
    let mut session = begin(&run);
    let again = send(&run, RunCommand::Stop).unwrap();
    assert_eq!(next(&mut session), [(again, RunCommand::Stop)]);
}

#[test]
fn many_processes_can_send_simultaneously() {
    let (_place, run) = fresh_run();
    let mut session = begin(&run);
    thread::scope(|scope| {
        for sender in 0..4 {
            let run = &run;
            scope.spawn(move || {
                (1..=50).for_each(|n| drop(send(run, RunCommand::SetSteps { n: 100 * sender + n }).unwrap()))
            });
        }
    });
    let mut heard = all(&run, &mut session);
    heard.sort_by_key(|command| if let RunCommand::SetSteps { n } = command { *n } else { panic!("{command:?}") });
    let sent = (0..4).flat_map(|sender| (1..=50).map(move |n| RunCommand::SetSteps { n: 100 * sender + n }));
    assert_eq!(heard, sent.collect::<Vec<_>>());
}

#[test]
fn a_request_is_answered_by_a_living_worker() {
    let (_place, run) = fresh_run();
    let mut worker = worker::start(&run, u64::MAX, "slow");
    let mut reader = RunReader::brief(run.clone());
    wait_until("the worker", || reader.status(Timestamp::now()).unwrap() != Status::Starting);
    let mut more = CommandRequest::send(&run, RunCommand::SetSteps { n: 1 << 29 }).unwrap();
    let mut stop = CommandRequest::send(&run, RunCommand::Stop).unwrap();
    let mut poll = |request: &mut CommandRequest| {
        let status = reader.status(Timestamp::now()).unwrap();
        request.poll(reader.history(), &status, Instant::now())
    };
    wait_until("an answer", || poll(&mut stop) == Reply::Answered { ok: true, message: "stopping".into() });
    assert!(matches!(poll(&mut more), Reply::Answered { ok: true, .. }));
    assert!(worker.wait().unwrap().success());
    assert_eq!(reader.status(Timestamp::now()).unwrap(), Status::Stopped);
    assert_eq!(reader.history().steps(), Some(1 << 29));
    let mut late = CommandRequest::send(&run, RunCommand::Stop).unwrap();
    assert_eq!(late.poll(reader.history(), &Status::Stopped, Instant::now()), Reply::Gone);
}

/// A signal is sent only after half a minute without an answer, only once, and only on this machine.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_that_does_not_answer_gets_a_signal() {
    let (_place, run) = fresh_run();
    let mut worker = worker::start(&run, u64::MAX, "slow deaf");
    let mut reader = RunReader::brief(run.clone());
    wait_until("the worker", || {
        reader.status(Timestamp::now()).unwrap() != Status::Starting && reader.history().step() > 0
    });
    let before = Instant::now();
    let mut stop = CommandRequest::send(&run, RunCommand::Stop).unwrap();
    let mut save = CommandRequest::send(&run, RunCommand::Save).unwrap();
    let after = Instant::now();
    let status = reader.status(Timestamp::now()).unwrap();
    assert_eq!(stop.poll(reader.history(), &status, before + Duration::from_secs(29)), Reply::Waiting);
    assert_eq!(save.poll(reader.history(), &status, after + Duration::from_secs(99)), Reply::Waiting);
    assert!(worker.try_wait().unwrap().is_none());
    assert_eq!(stop.poll(reader.history(), &status, after + Duration::from_secs(31)), Reply::Signalled);
    assert_eq!(stop.poll(reader.history(), &status, after + Duration::from_secs(32)), Reply::Waiting);
    assert!(worker.wait().unwrap().success(), "it saves a checkpoint and ends in order");
    assert_eq!(reader.status(Timestamp::now()).unwrap(), Status::Stopped);
    assert_eq!(stop.poll(reader.history(), &Status::Stopped, Instant::now()), Reply::Gone);
}

/// Otherwise, anyone who can write to the lock could end any process.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_not_the_worker_gets_no_signal() {
    let (_place, run) = fresh_run();
    let mut worker = worker::start(&run, u64::MAX, "slow deaf");
    let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let mut reader = RunReader::brief(run.clone());
    wait_until("the worker", || {
        reader.status(Timestamp::now()).unwrap() != Status::Starting && reader.history().step() > 0
    });
    let lock = std::fs::read_to_string(run.lock()).unwrap();
    let named = |pid: u32| lock.replacen(&format!("\"pid\":{}", worker.id()), &format!("\"pid\":{pid}"), 1);
    for (pid, expected) in
        [(other.id(), "does not hold the lock"), (std::process::id(), "does not hold the lock"), (0, "not a process")]
    {
        std::fs::write(run.lock(), named(pid)).unwrap();
        let mut stop = CommandRequest::send(&run, RunCommand::Stop).unwrap();
        let status = reader.status(Timestamp::now()).unwrap();
        assert!(matches!(&status, Status::Running(Some(owner)) if owner.pid == pid), "{status}");
        let late = Instant::now() + Duration::from_secs(31);
        let reply = stop.poll(reader.history(), &status, late);
        assert!(matches!(&reply, Reply::NotSignalled(reason) if reason.contains(expected)), "{reply:?}");
        assert_eq!(stop.poll(reader.history(), &status, late), Reply::Waiting);
    }
    assert!(other.try_wait().unwrap().is_none() && worker.try_wait().unwrap().is_none());
    for process in [&mut other, &mut worker] {
        process.kill().unwrap();
        process.wait().unwrap();
    }
}
