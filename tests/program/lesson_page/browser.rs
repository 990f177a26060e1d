//! The page in a real browser: it loads without errors or requests, and its controls move the particles.
//!
//! These tests need a Chromium in the `PATH`, and are skipped with a message where there is none.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use super::{BESIDE, OTHER_BESIDE, WILD};
use crate::doctor::{Sandbox, make_fifo, wait_until};
use crate::left_out::left_out;

const LAPTOP: [u32; 2] = [1280, 720];
const SIZES: [[u32; 2]; 4] = [LAPTOP, [1920, 1080], [900, 600], [390, 844]];

impl Chromium {
    /// Returns the picture of the landscape, as the address of an image.
    fn pixels(&mut self) -> Value {
        self.value("document.getElementById('landscape').toDataURL()")
    }

    /// Returns the words beside the scrubber.
    fn step(&mut self) -> String {
        self.text("#step")
    }

    #[track_caller]
    fn expect_no_failures(&self) {
        assert_eq!(self.failures, Vec::<String>::new());
    }
}

#[test]
fn the_controls_move_the_particles() {
    let sandbox = Sandbox::new();
    let Some(mut browser) = Chromium::start(&sandbox, LAPTOP) else { return };
    sandbox.lesson_page("lesson", "page.html");
    browser.open(&sandbox.join("page.html"), "");
    assert_eq!((browser.text("#number"), browser.step()), ("1 / 7".to_owned(), "step 0 of 500".to_owned()));
    let start = browser.pixels();
    browser.drag("#scrubber", [0.01, 0.7]);
    let dragged: u32 = browser.step().split(' ').nth(1).unwrap().parse().unwrap();
    assert!((325..375).contains(&dragged), "the scrubber stands at {dragged}");
    assert!(browser.pixels() != start, "the scrubber moves nothing");
    browser.press("ArrowRight", false);
    assert_eq!(browser.step(), format!("step {} of 500", dragged + 1));
    browser.press("ArrowLeft", true);
    assert_eq!(browser.step(), format!("step {} of 500", dragged - 9));
    browser.press("Home", false);
    assert_eq!(browser.step(), "step 0 of 500");
    assert!(browser.pixels() == start, "the start looks different after a way back");
    browser.press("End", false);
    let end = browser.pixels();
    browser.press("f", false);
    assert!(browser.pixels() != end, "F does not zoom in");
    browser.press("f", false);
    assert!(browser.pixels() == end, "F does not zoom out");
    assert_eq!(browser.step(), "step 500 of 500");
    browser.drag(".plot", [0.2, 0.5]);
    let from_plot: u32 = browser.step().split(' ').nth(1).unwrap().parse().unwrap();
    assert!((200..250).contains(&from_plot), "half of a plot is step {from_plot}");
    browser.expect_no_failures();
}

#[test]
fn a_lesson_is_gone_through_and_plays() {
    let sandbox = Sandbox::new();
    let Some(mut browser) = Chromium::start(&sandbox, LAPTOP) else { return };
    sandbox.lesson_page("lesson", "page.html");
    browser.open(&sandbox.join("page.html"), "#3");
    browser.press("PageDown", false);
    assert_eq!((browser.text("#number"), browser.text("#play")), ("4 / 7".to_owned(), "Pause".to_owned()));
    wait_until("the run plays", || {
        thread::sleep(Duration::from_millis(50));
        browser.step() != "step 500 of 2000"
    });
    browser.press(" ", false);
    assert_eq!(browser.text("#play"), "Play");
    let paused = browser.step();
    thread::sleep(Duration::from_millis(200));
    assert_eq!(browser.step(), paused);
    let plots = browser.value("[...document.querySelectorAll('#plots h3')].map((title) => title.textContent)");
    assert_eq!(plots, json!(["depth u", "spread |v|", "effective step size"]));
    browser.click("#previous");
    assert_eq!(browser.text("#number"), "3 / 7");
    browser.click("#contents-button");
    browser.click("#list li:last-child button");
    assert_eq!(browser.text("#number"), "7 / 7");
    assert_eq!(browser.value("document.getElementById('next').disabled"), true);
    browser.press("PageDown", false);
    assert_eq!(browser.text("#number"), "7 / 7");
    browser.click("summary");
    assert!(browser.text("#rules").contains("m ← β₁ m + (1 − β₁) g"));
    browser.expect_no_failures();
}

#[test]
fn the_page_fits_windows_and_its_controls_have_names() {
    let sandbox = Sandbox::new();
    let Some(mut browser) = Chromium::start(&sandbox, LAPTOP) else { return };
    sandbox.lesson_page("lesson", "page.html");
    for size in SIZES {
        browser.resize(size);
        browser.open(&sandbox.join("page.html"), "#4:1500");
        assert_eq!(browser.step(), "step 1500 of 2000");
        assert_eq!(browser.value("document.documentElement.scrollWidth > window.innerWidth"), false, "{size:?}");
        let landscape = browser.value("document.getElementById('landscape').clientWidth");
        assert!(landscape.as_f64().unwrap() > 0.5 * f64::from(size[0]), "{size:?}: {landscape}");
    }
    let unnamed = "[...document.querySelectorAll('button, input, select, summary, a, canvas')].filter((it) =>
        !it.textContent.trim() && !it.ariaLabel && !it.ariaHidden && !it.labels?.length).map((it) => it.outerHTML)";
    assert_eq!(browser.value(unnamed), json!([]));
    browser.expect_no_failures();
}

#[test]
fn a_page_of_diverging_runs_opens() {
    let sandbox = Sandbox::new();
    let Some(mut browser) = Chromium::start(&sandbox, LAPTOP) else { return };
    sandbox.write("wild.ron", WILD);
    sandbox.lesson_page("wild.ron", "page.html");
    browser.open(&sandbox.join("page.html"), "#4");
    browser.press("End", false);
    assert_eq!((browser.text("#number"), browser.step()), ("4 / 4".to_owned(), "step 9001 of 9001".to_owned()));
    assert_eq!(browser.text("#title"), "</script><b>Wild</b> & \"odd\"");
    browser.expect_no_failures();
}

/// A lesson whose steps have sections, marks, a formula and a figure.
const MARKED: &str = r#"
Landscape(
    version: 1,
    title: "Marked",
    simulations: [(spec: (
        noise: 1.0,
        particles: 4,
        optimizers: [
            (id: 0, enabled: false, rule: Lion(learning_rate: 0.01)),
            (id: 1, rule: Adam(learning_rate: 0.01)),
            (id: 2, rule: Signum(learning_rate: 0.01)),
        ],
    ))],
    lesson: [
        (section: "Noise", text: "First.", set: [Steps(40)], marks: [(step: 10, text: "ten")], formula: 2),
        (text: "It goes on.", set: [Steps(80)], marks: [(step: 60, text: "<b>sixty</b>")]),
        (section: "A map", text: "Look.", set: [Noise(2.0)], figure: (name: "fig2a", point: (2.0, 10.0))),
    ],
)"#;

#[test]
fn sections_marks_formulas_and_figures_are_shown() {
    let sandbox = Sandbox::new();
    let Some(mut browser) = Chromium::start(&sandbox, LAPTOP) else { return };
    sandbox.write("marked.ron", MARKED);
    sandbox.lesson_page("marked.ron", "page.html");
    browser.open(&sandbox.join("page.html"), "");
    assert_eq!((browser.text("#section"), browser.text("#rule h3")), ("Noise".to_owned(), "Signum".to_owned()));
    assert!(browser.text("#rule").contains("m ← β₁ m + (1 − β₁) g"));
    let figure = "document.getElementById('figure')";
    assert_eq!(browser.value(&format!("{figure}.hidden")), true);
    browser.press("PageDown", false);
    assert_eq!((browser.text("#section"), browser.text("#rule")), ("Noise".to_owned(), String::new()));
    let names = "[...document.querySelectorAll('#marks button')].map((mark) => mark.ariaLabel)";
    assert_eq!(browser.value(names), json!(["Step 10: ten", "Step 60: <b>sixty</b>"]));
    browser.click("#marks button:last-child");
    assert_eq!(browser.step(), "step 60 of 80");
    browser.press("PageDown", false);
    assert_eq!(browser.text("#section"), "A map");
    let shown = format!(
        "{figure}.querySelector('img').decode().then(() => [{figure}.hidden, {figure}.querySelector('img').alt,
        {figure}.querySelector('img').naturalWidth > 300])"
    );
    assert_eq!(browser.value(&shown), json!([false, "Figure fig2a, with a marked point", true]));
    assert!(browser.text("#figure figcaption").contains("Phase diagram"));
    browser.click("#contents-button");
    let sections = "[...document.querySelectorAll('#list h3')].map((section) => section.textContent)";
    assert_eq!(browser.value(sections), json!(["Noise", "A map"]));
    browser.expect_no_failures();
}

/// A function that counts the pixels of a colour, given as red, green and blue, in the upper and lower halves of a
/// canvas.
const COLORED: &str = "((name, wanted) => {
    const canvas = document.getElementById(name);
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    const found = [0, 0];
    for (let i = 0; i < data.length; i += 4) {
        if (wanted.every((part, side) => data[i + side] === part)) found[i / 4 / width < height / 2 ? 0 : 1] += 1;
    }
    return found;
})";

#[test]
fn simulations_side_by_side_have_landscapes_rows_of_the_legend_and_curves() {
    let sandbox = Sandbox::new();
    let Some(mut browser) = Chromium::start(&sandbox, LAPTOP) else { return };
    sandbox.write("beside.ron", BESIDE);
    sandbox.lesson_page("beside.ron", "page.html");
    browser.open(&sandbox.join("page.html"), "#1:42");
    let rows = "[...document.querySelectorAll('#legend tbody')].map((body) => body.querySelector('th').textContent)";
    assert_eq!(browser.value(rows), json!(["Adam (cosine), warm-up 10, to 0.1 η"]));
    let plot = "document.querySelector('.plot').toDataURL()";
    let alone = (browser.pixels(), browser.value(plot));
    browser.press("PageDown", false);
    browser.press(" ", false);
    browser.press("End", false);
    assert_eq!((browser.text("#number"), browser.step()), ("2 / 4".to_owned(), "step 42 of 42".to_owned()));
    assert_eq!(browser.value(rows), json!(["A: σ = 0.5", "B: σ = 3"]));
    assert_eq!(browser.value("document.querySelectorAll('#legend tbody:last-child tr').length"), 3);
    let label = browser.value("document.getElementById('landscape').ariaLabel");
    assert_eq!(label, "The particles side by side at step 42; A: σ = 0.5; B: σ = 3");
    assert!(browser.text("#settings").contains("B: noise σ\u{a0}=\u{a0}3."), "{}", browser.text("#settings"));
    assert!(browser.pixels() != alone.0 && browser.value(plot) != alone.1);
    // The landscapes are below each other here, with Signum's colour on both.
    let signum = browser.value("data.optimizers[1].color.match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16))");
    let halves = browser.value(&format!("{COLORED}('landscape', {signum})"));
    assert!([0, 1].iter().all(|half| halves[half].as_u64().unwrap() > 10), "{halves}");
    browser.press("PageDown", false);
    assert_eq!(browser.step(), "step 42 of 9000", "the runs go on together");
    browser.press("PageDown", false);
    assert_eq!(browser.value("document.querySelectorAll('#legend tbody').length"), 4);
    let depth = "document.querySelectorAll('#legend tbody')[1].querySelectorAll('tr')[1].lastChild.textContent";
    assert_eq!(browser.value(depth), "", "Rosenbrock has no depth");
    browser.press("f", false);
    browser.resize([390, 844]);
    browser.drawn();
    assert_eq!(browser.value("document.documentElement.scrollWidth > window.innerWidth"), false);
    browser.expect_no_failures();
}

#[test]
fn another_simulation_beside_is_shown_with_its_own_optimizers() {
    let sandbox = Sandbox::new();
    let Some(mut browser) = Chromium::start(&sandbox, LAPTOP) else { return };
    sandbox.write("other.ron", OTHER_BESIDE);
    sandbox.lesson_page("other.ron", "page.html");
    browser.open(&sandbox.join("page.html"), "#1:60");
    let names = "[...document.querySelectorAll('#legend tbody th')].map((head) => head.textContent)";
    assert_eq!(
        browser.value(names),
        json!(["A", "Adam", "B: three others", "Lion, η 0.01", "Adam, η 0.02", "SGD, η 0.01"])
    );
    let rules = "[...document.querySelectorAll('#rules h3')].map((head) => head.textContent)";
    assert_eq!(browser.value(rules), json!(["Adam", "Lion, η 0.01 (B)", "Adam, η 0.02 (B)", "SGD, η 0.01 (B)"]));
    browser.expect_no_failures();
}

#[test]
fn the_address_names_the_step_of_the_lesson_and_of_the_run() {
    let sandbox = Sandbox::new();
    let Some(mut browser) = Chromium::start(&sandbox, LAPTOP) else { return };
    sandbox.write("marked.ron", MARKED);
    sandbox.lesson_page("marked.ron", "page.html");
    let expect = |browser: &mut Chromium, address: &str| {
        wait_until("the address", || {
            thread::sleep(Duration::from_millis(50));
            browser.value("location.hash") == address
        });
    };
    browser.open(&sandbox.join("page.html"), "#2:60");
    assert_eq!((browser.text("#number"), browser.step()), ("2 / 3".to_owned(), "step 60 of 80".to_owned()));
    thread::sleep(Duration::from_millis(400));
    expect(&mut browser, "#2:60");
    browser.press("ArrowRight", false);
    expect(&mut browser, "#2:61");
    browser.press("PageUp", false);
    expect(&mut browser, "#1");
    browser.press("End", false);
    expect(&mut browser, "#1:40");
    browser.expect_no_failures();
}

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The messages for the browser, and those from it, which it opens as its files 3 and 4.
const PIPES: [&str; 2] = ["to-browser", "from-browser"];
/// The longest time for which the browser runs, in seconds.
const LONGEST: u32 = 240;

pub(super) struct Chromium {
    process: Child,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    calls: u64,
    /// Exceptions, errors on the console, and requests other than for files and data.
    pub failures: Vec<String>,
    has_loaded: bool,
}

impl Chromium {
    /// Starts a browser with a window of this size. Returns none, and prints a message, where no Chromium is installed.
    pub(super) fn start(sandbox: &Sandbox, [width, height]: [u32; 2]) -> Option<Chromium> {
        let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success());
        let Some(name) = NAMES.into_iter().find(is_there) else {
            left_out("program::lesson_page::browser", &format!("{} is not installed", NAMES.join(" or ")));
            return None;
        };
        PIPES.iter().for_each(|pipe| make_fifo(sandbox.join(pipe)));
        let script = format!(
            "exec timeout {LONGEST} {name} --headless=new --no-sandbox --disable-gpu --hide-scrollbars \
             --user-data-dir=profile --remote-debugging-pipe 3<{} 4>{}",
            PIPES[0], PIPES[1]
        );
        let mut shell = sandbox.at_home(Command::new("bash"));
        let process = shell.args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The shell opens both ends in this order.
        let to = fs::OpenOptions::new().write(true).open(sandbox.join(PIPES[0])).unwrap();
        let from = BufReader::new(File::open(sandbox.join(PIPES[1])).unwrap());
        let (session, failures) = (None, Vec::new());
        let mut browser = Chromium { process, to, from, session, calls: 0, failures, has_loaded: false };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.resize([width, height]);
        Some(browser)
    }

    pub(super) fn resize(&mut self, [width, height]: [u32; 2]) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Opens a file, at a place such as `#3`, and returns when it has been loaded.
    pub(super) fn open(&mut self, file: &Path, place: &str) {
        self.has_loaded = false;
        let answer = self.call("Page.navigate", json!({"url": format!("file://{}{place}", file.display())}));
        // Another place of the same page loads nothing.
        while !self.has_loaded && answer["loaderId"] != Value::Null {
            self.message();
        }
        self.drawn();
    }

    /// Calls a method of the protocol and returns its result.
    #[track_caller]
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.message();
            if answer["id"] == self.calls {
                assert_eq!(answer["error"], Value::Null, "{method}");
                return answer["result"].clone();
            }
        }
    }

    fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        let params = &message["params"];
        let url = params["request"]["url"].as_str().unwrap_or_default();
        match message["method"].as_str().unwrap_or_default() {
            "Page.loadEventFired" => self.has_loaded = true,
            "Runtime.exceptionThrown" => self.failures.push(params["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" => self.failures.push(params["args"].to_string()),
            "Log.entryAdded" => self.failures.push(params["entry"].to_string()),
            "Network.requestWillBeSent" if !url.starts_with("file:") && !url.starts_with("data:") => {
                self.failures.push(url.to_owned());
            }
            _ => {}
        }
        message
    }

    /// Evaluates an expression on the page, which may be a promise.
    #[track_caller]
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", params);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}");
        answer["result"]["value"].clone()
    }

    /// Waits until what has changed is drawn.
    pub(super) fn drawn(&mut self) {
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    }

    pub(super) fn press(&mut self, key: &str, has_shift: bool) {
        let text = if key == " " { " " } else { "" };
        let modifiers = if has_shift { 8 } else { 0 };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "text": if kind == "keyDown" { text } else { "" },
                "modifiers": modifiers});
            self.call("Input.dispatchKeyEvent", event);
        }
        self.drawn();
    }

    pub(super) fn drag(&mut self, element: &str, parts: [f64; 2]) {
        let find = format!("document.querySelector({element:?})");
        let place = self.value(&format!(
            "{find}.scrollIntoView({{block: 'nearest'}}), (({{x, y, width, height}}) => [x, y + height / 2, width])\
             ({find}.getBoundingClientRect())"
        ));
        let [x, y, width] = [0, 1, 2].map(|index| place[index].as_f64().unwrap());
        let events = [("mousePressed", parts[0], 1), ("mouseMoved", parts[1], 1), ("mouseReleased", parts[1], 0)];
        for (kind, part, buttons) in events {
            let event = json!({"type": kind, "x": x + part * width, "y": y, "button": "left", "buttons": buttons,
                "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
        self.drawn();
    }

    /// Clicks an element in its middle.
    pub(super) fn click(&mut self, element: &str) {
        self.drag(element, [0.5, 0.5]);
    }

    pub(super) fn text(&mut self, element: &str) -> String {
        let text = self.value(&format!("document.querySelector({element:?}).textContent"));
        text.as_str().unwrap().to_owned()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The request fails if the browser has ended already.
        let _ = self.to.write_all(b"{\"id\": 0, \"method\": \"Browser.close\"}\0");
        let _ = self.process.wait();
    }
}
