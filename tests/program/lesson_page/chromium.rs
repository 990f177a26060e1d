//! A real Chromium, driven through the pipe of its debugging protocol.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::left_out::left_out;
use crate::sandbox::{Sandbox, make_fifo};

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The messages for the browser, and those from it, which it opens as its files 3 and 4.
const PIPES: [&str; 2] = ["to-browser", "from-browser"];
/// The longest time for which the browser runs, in seconds.
const LONGEST: u32 = 240;

/// A browser with one page open.
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

    /// Reads a message, and keeps what it reports.
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

    /// Presses a key, with Shift or without.
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

    /// Drags the pointer over an element from one part of its width to another.
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
        // The browser may have ended by itself; then the request fails.
        let _ = self.to.write_all(b"{\"id\": 0, \"method\": \"Browser.close\"}\0");
        let _ = self.process.wait();
    }
}
