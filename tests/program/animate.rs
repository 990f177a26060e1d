//! `valleyscope animate`: animations without a window.

use std::fs::File;
use std::io::BufReader;

use image::AnimationDecoder as _;
use image::codecs::gif::GifDecoder;

use super::doctor::{Sandbox, expect_code, expect_error, stderr};
use super::golden_bytes::expect_same_bytes;
#[cfg(unix)]
use super::put_program::put_program;

const SMALL: &str = "Landscape(version: 1, title: \"Small\", simulations: [(spec: (noise: 1, steps: 12, particles: 3, \
    optimizers: [(id: 0, rule: Adam(learning_rate: 0.01))]))])";

#[test]
fn a_preset_is_animated_without_a_window() {
    let sandbox = Sandbox::new();
    sandbox.write("small.ron", SMALL);
    let args = ["animate", "small.ron", "--size", "240x180", "--every", "5", "--out", "small.gif"];
    let output = sandbox.run(&args);
    expect_code(&output, 0);
    assert!(stderr(&output).contains("4 frames, 0.2 seconds"), "{}", stderr(&output));
    let decoder = GifDecoder::new(BufReader::new(File::open(sandbox.join("small.gif")).unwrap())).unwrap();
    let frames = decoder.into_frames().collect_frames().unwrap();
    assert_eq!(frames.len(), 4);
    assert!(frames.iter().all(|frame| frame.buffer().dimensions() == (240, 180)));
    let first = std::fs::read(sandbox.join("small.gif")).unwrap();
    expect_code(&sandbox.run(&args), 0);
    assert!(first == std::fs::read(sandbox.join("small.gif")).unwrap(), "the same run has the same bytes");
}

#[test]
fn what_cannot_be_animated_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    sandbox.write("small.ron", SMALL);
    let refused = |args: &[&str], words: &[&str]| {
        let args: Vec<&str> = ["animate"].iter().chain(args).copied().collect();
        expect_error(&sandbox.run(&args), 2, words);
    };
    refused(&["small.ron", "--out", "a.png"], &["ends in .gif, .apng, .mp4 or .webm", "a.png"]);
    refused(&["fig2a", "--out", "a.gif"], &["expected a preset of the kind Landscape", "valleyscope sweep fig2a"]);
    refused(&["small.ron", "--from", "20", "--out", "a.gif"], &["--from 20 is after the last step, 12"]);
    let steps = ["--to", "18446744073709551615", "--every", "1"];
    refused(
        &["small.ron", "--out", "a.gif", steps[0], steps[1], steps[2], steps[3]],
        &["--every 1", "too many", "99999"],
    );
    refused(&["small.ron", "--size", "20x20", "--out", "a.gif"], &["--size", "64 to 8192 pixels"]);
    sandbox.write("rosenbrock.ron", &SMALL.replace("noise: 1,", "landscape: Rosenbrock(), noise: 1,"));
    let known = "the landscape Rosenbrock has, which are loss, effective-step, free-energy, noise, signal, noise-share, \
                 oscillation, found u";
    refused(&["rosenbrock.ron", "--plots", "u", "--out", "a.gif"], &["--plots", known]);
    refused(&["small.ron", "--size", "large", "--out", "a.gif"], &["such as 800x600", "large"]);
    // Without ffmpeg on the PATH, the error says how to get it.
    let mut command = sandbox.command(&["animate", "small.ron", "--size", "64x64", "--out", "a.mp4"]);
    expect_error(&command.env("PATH", sandbox.path()).output().unwrap(), 1, &["ffmpeg", "not on the PATH", "apt-get"]);
    assert!(!sandbox.join("a.mp4").exists());
}

#[cfg(unix)]
#[test]
fn a_video_that_ffmpeg_did_not_write_is_an_error_and_the_file_of_before_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("small.ron", SMALL);
    for (script, reason) in [
        ("cat > /dev/null", "it wrote an empty file"),
        // ffmpeg 5.1 exits with 0 where the disk is full when it closes its file.
        (
            "cat > /dev/null; for out; do :; done; echo begun > \"$out\"; echo \"Error closing $out: No space\" >&2",
            "Error closing a.webm: No space",
        ),
        ("exit 0", "ffmpeg did not write"),
    ] {
        sandbox.write("a.webm", "good");
        put_program(&sandbox.join("bin/ffmpeg"), &format!("#!/bin/sh\n{script}"));
        let mut command = sandbox.command(&["animate", "small.ron", "--size", "64x64", "--out", "a.webm"]);
        let path = format!("{}:/usr/bin:/bin", sandbox.join("bin").display());
        expect_error(&command.env("PATH", path).output().unwrap(), 1, &["a.webm", reason]);
        assert_eq!(std::fs::read_to_string(sandbox.join("a.webm")).unwrap(), "good");
        let left = std::fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(left.into_iter().all(|name| !name.to_string_lossy().ends_with(".tmp")), "{reason}");
    }
}

#[test]
fn commands_write_the_bytes_of_before() {
    let sandbox = Sandbox::new();
    let run = |command: &str| expect_code(&sandbox.run(&command.split(' ').collect::<Vec<_>>()), 0);
    expect_same_bytes(include_str!("bytes.txt"), run, |_, file| sandbox.join(file));
}
