"""The code of the book's page on Python runs as it is printed, in order."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/src/python.md"


def test_code_of_the_page(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert (tmp_path / "map/phase.npz").exists()


def test_a_notebook_shows_a_diagram(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    code = 'import valleyscope as vs\nvs.sweep("fig2a", grid=(4, 5), replicates=2, steps=100)'
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = notebook.cells[0].outputs
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs), outputs
