//! `valleyscope figure`.

use std::fs;

use crate::place::{Place, SMALL, expect_error, with};

#[test]
fn results_are_drawn_without_computing() {
    let place = Place::new();
    place.good(&with(&["sweep", "fig2a", "--out", "out"], &SMALL));
    for (out, start) in [("f.png", &b"\x89PNG"[..]), ("f.svg", b"<svg"), ("f.pdf", b"%PDF")] {
        for name in ["out", "out/phase.npz"] {
            let said = place.good(&["figure", name, "--out", out]);
            assert!(said.contains("85 ×") && said.contains(out), "{said}");
            assert!(fs::read(place.path(out)).unwrap().starts_with(start), "{out}");
        }
    }
    place.good(&["figure", "out", "--out", "again.svg"]);
    assert_eq!(fs::read(place.path("f.svg")).unwrap(), fs::read(place.path("again.svg")).unwrap());
    assert_eq!(fs::read(place.path("f.svg")).unwrap(), fs::read(place.path("out/phase.svg")).unwrap());
}

#[test]
fn certainty_is_shown_where_it_is_asked_for() {
    let place = Place::new();
    place.good(&with(&["sweep", "fig2a", "--out", "out"], &SMALL));
    place.good(&["figure", "out", "--certainty", "--out", "sure.svg"]);
    let [plain, sure] = ["out/phase.svg", "sure.svg"].map(|name| fs::read_to_string(place.path(name)).unwrap());
    let note = "less certain, to 50 %";
    assert!(sure.contains(note) && !plain.contains(note));
    let map = |svg: &str| svg.split_once("data:image/png;base64,").unwrap().1.split('"').next().unwrap().to_owned();
    assert!(map(&sure) != map(&plain), "no pixel is paler");
    place.good(&with(&["sweep", "fig2a", "--out", "few"], &SMALL.map(|word| if word == "4" { "3" } else { word })));
    place.good(&["figure", "few", "--certainty", "--out", "few.svg"]);
    assert!(fs::read_to_string(place.path("few.svg")).unwrap().contains("too few replicates to be certain"));
}

#[test]
fn a_preset_is_computed_first() {
    let place = Place::new();
    place.good(&with(&["sweep", "fig2b", "--out", "out"], &SMALL));
    let said = place.good(&["figure", "out/spec.ron", "--out", "computed.svg", "--width-mm", "120"]);
    assert!(said.contains("20 pixels") && said.contains("120 ×"), "{said}");
    place.good(&["figure", "out", "--out", "drawn.svg", "--width-mm", "120"]);
    assert_eq!(fs::read(place.path("computed.svg")).unwrap(), fs::read(place.path("drawn.svg")).unwrap());
}

#[test]
fn wrong_figures_are_refused_before_anything_is_computed() {
    let place = Place::new();
    for (args, words) in [
        (&["fig2a", "--out", "f.jpg"][..], [".png, .svg or .pdf", "f.jpg"]),
        (&["fig2a", "--out", "f.png", "--width-mm", "0"], ["--width-mm must be", "found 0"]),
        (&["fig2a", "--out", "f.png", "--width-mm", "NaN"], ["--width-mm must be", "found NaN"]),
        (&["fig2a", "--out", "f.png", "--dpi", "-5"], ["--dpi must be", "found -5"]),
        (&["pairs", "--out", "f.svg", "--width-mm", "21"], ["too narrow", "21"]),
        (&["fig9", "--out", "f.svg"], ["fig9", "preset"]),
        (&["fig1c", "--out", "f.svg"], ["fig1c", "Landscape"]),
        (&["./none", "--out", "f.svg"], ["there is no ./none", "folder of results"]),
        (&["gone/phase.npz", "--out", "f.svg"], ["cannot read", "gone/phase.npz"]),
        (&["pairs", "--certainty", "--out", "f.svg"], ["--certainty is for the winners of one", "pairs shows none"]),
    ] {
        expect_error(&place.run(&with(&["figure"], args)), 2, &words);
    }
    expect_error(&place.run(&["figure", "fig2a", "--out", "gone/f.svg"]), 1, &["cannot write", "gone"]);
    fs::create_dir(place.path("empty")).unwrap();
    expect_error(&place.run(&["figure", "empty", "--out", "f.svg"]), 2, &["empty", "phase.npz"]);
    assert_eq!(fs::read_dir(place.path("")).unwrap().count(), 1, "no figure, and nothing half-written");
}

#[test]
fn a_reason_is_said_once() {
    let place = Place::new();
    let output = place.run(&["figure", "gone/phase.npz", "--out", "f.svg"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("No such file").count(), 1, "{said}");
}
