"""Presets, landscapes, simulations and sweeps have the bits of the command line."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import valleyscope as vs


def test_presets_are_those_of_the_program(program):
    listed = {line.split()[0] for line in program("presets", "list").splitlines() if line.strip()}
    assert {"fig1c", "fig2a", "zoo"} <= set(vs.presets())
    assert {name for name in vs.presets() if name.startswith("fig")} <= listed
    preset = vs.preset("fig1c")
    assert preset.kind == "Landscape"
    assert preset.text == vs.preset(preset.text).text
    assert "noise: " in preset.set("noise", 2.0).text


def test_a_simulation_has_the_bits_of_the_command_line(program, tmp_path):
    program("simulate", "fig1c", "--steps", 50, "--set", "noise=0.5", "--every", 7, "--out", tmp_path / "own.npz")
    simulation = vs.simulate("fig1c", steps=50, noise=0.5, every=7, progress=False)
    with np.load(tmp_path / "own.npz") as own:
        assert own.files == simulation.arrays()
        for name in own.files:
            if name != "spec":
                np.testing.assert_array_equal(own[name], getattr(simulation, name))
    simulation.save(tmp_path / "saved.npz")
    assert vs.read(tmp_path / "saved.npz").positions.tobytes() == simulation.positions.tobytes()
    assert simulation._repr_svg_().lstrip().startswith("<")


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_sweep_has_the_bits_of_the_command_line(program, tmp_path, adaptive):
    options = ["--adaptive"] if adaptive else ["--replicates", 3]
    program("sweep", "fig2a", "--grid", "4x5", "--steps", 200, *options, "--out", tmp_path / "own")
    settings = {"adaptive": True} if adaptive else {"replicates": 3}
    sweep = vs.sweep("fig2a", grid=(4, 5), steps=200, progress=False, **settings)
    with np.load(tmp_path / "own/phase.npz") as own:
        assert own.files == sweep.arrays()
        for name in own.files:
            if name != "spec":
                np.testing.assert_array_equal(own[name], getattr(sweep, name), err_msg=name)
    sweep.save(tmp_path / "saved")
    for name in ["phase.npz", "phase.csv", "phase.svg", "phase.png", "spec.ron"]:
        assert (tmp_path / "saved" / name).stat().st_size > 100
    again = vs.read(tmp_path / "saved")
    np.testing.assert_array_equal(again.score, sweep.score)
    assert again._repr_svg_() == sweep._repr_svg_()


def test_a_sweep_is_a_table_and_a_dataset():
    sweep = vs.sweep("fig2a", grid=(3, 4), steps=50, replicates=2, progress=False)
    table = sweep.to_pandas()
    assert len(table) == sweep.score.size
    row = table.iloc[5]
    at = np.unravel_index(5, sweep.score.shape)
    assert row["score"] == sweep.score[at]
    assert row["optimizer"] == sweep.optimizers[at[0]]
    assert row["best_learning_rate"] == sweep.lrs[sweep.best_lr[at]]
    data = sweep.to_xarray()
    np.testing.assert_array_equal(data["score"], sweep.score)
    assert data.sizes["optimizer"] == len(sweep.optimizers)


def test_landscapes_are_formulas_with_their_derivatives():
    xy = np.random.default_rng(1).normal(size=(5, 4, 2))
    x, y = xy[..., 0], xy[..., 1]
    landscape = vs.landscape("param b = 100 in 1..1000\nL = (1 - x)^2 + b*(y - x^2)^2", b=50)
    np.testing.assert_allclose(landscape.value(xy), (1 - x) ** 2 + 50 * (y - x**2) ** 2, rtol=1e-12)
    slope = np.stack([-2 * (1 - x) - 200 * x * (y - x**2), 100 * (y - x**2)], axis=-1)
    np.testing.assert_allclose(landscape.gradient(xy), slope, rtol=1e-10)
    np.testing.assert_allclose(landscape.curvature(xy)[..., 1], 100.0)
    built_in = vs.landscape("Rosenbrock", b=50)
    np.testing.assert_allclose(built_in.value(xy), landscape.value(xy), rtol=1e-12)
    assert landscape.value([0.5, 0.5]).shape == ()


def test_errors_are_pythons_with_the_programs_texts(tmp_path):
    with pytest.raises(FileNotFoundError, match="no preset named `fig2`.*fig2a"):
        vs.preset("fig2")
    with pytest.raises(ValueError, match="noise=-1"):
        vs.simulate("fig1c", noise=-1)
    with pytest.raises(ValueError, match="kind Sweep"):
        vs.sweep("fig1c")
    with pytest.raises(ValueError, match="kind Landscape"):
        vs.simulate("fig2a")
    with pytest.raises(FileNotFoundError):
        vs.read(tmp_path / "nothing")
    with pytest.raises(ValueError, match="Valley"):
        vs.landscape("Valey")
    with pytest.raises(ValueError, match="shape"):
        vs.landscape("Valley").value(np.zeros(3))
    with pytest.raises(TypeError, match="beta1"):
        vs.Adam(beta=0.9)
    (tmp_path / "bad.npz").write_bytes(b"PK\x05\x06" + bytes(18))
    with pytest.raises(ValueError):
        vs.read(tmp_path / "bad.npz")
    with pytest.raises(AttributeError, match="score"):
        vs.sweep("fig2a", grid=(2, 2), steps=5, replicates=1, progress=False).scores


def test_control_c_ends_long_work():
    script = "import valleyscope as vs; print('begun', flush=True); vs.sweep('fig2a')"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    time.sleep(1.0)
    begun = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert time.monotonic() - begun < 5.0
    assert "KeyboardInterrupt" in errors


def test_the_stubs_name_what_there_is():
    from pathlib import Path

    stubs = (Path(vs.__file__).parent / "__init__.pyi").read_text(encoding="utf-8")
    names = {line.split()[1].split("(")[0].rstrip(":") for line in stubs.splitlines() if line.startswith(("class ", "def "))}
    assert names | {"Run", "__version__", "torch"} == set(vs.__all__)
