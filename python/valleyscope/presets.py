"""Presets and landscapes."""

import json
import os

import numpy as np

from . import _native


def presets():
    """The names of the built-in presets, then those of your own."""
    return _native.presets()


def preset(source):
    """The preset of a name (``"fig2a"``), of a file, or of a preset's text.

    Raises ``FileNotFoundError`` where there is none, and ``ValueError`` where it has a fault.
    """
    return source if isinstance(source, Preset) else Preset(*_native.preset(os.fspath(source)))


class Preset:
    """An experiment that can be repeated: its ``kind``, its ``title`` and its ``text``."""

    def __init__(self, kind, title, text):
        self.kind, self.title, self.text = kind, title, text

    def set(self, path, value):
        """Sets a setting, by the paths and values of ``--set``: ``p.set("noise", 2.0)``. Returns the preset itself."""
        return self._set([(path, value)])

    def _set(self, settings):
        # Together, as some settings fit only each other.
        text = _native.with_settings(self.text, [(path, ron(value)) for path, value in settings])
        self.kind, self.title, self.text = _native.preset(text)
        return self

    def copy(self):
        return Preset(self.kind, self.title, self.text)

    def save(self, path):
        """Writes the preset's file, usually ``NAME.ron``."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)

    def __repr__(self):
        return f"<{self.kind} preset {self.title!r}>"


def ron(value):
    """A value as ``--set`` takes it. A text is taken as it is written."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(ron(item) for item in value) + "]"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


def ron_text(text):
    """A text in quotation marks."""
    return json.dumps(text, ensure_ascii=False)


def landscape(name, **parameters):
    """A landscape by its name and parameters, or by the text of its formula.

        vs.landscape("Valley", sharpness=10.0)
        vs.landscape("param b = 100 in 1..1000\\nL = (1 - x)^2 + b*(y - x^2)^2", b=50)
    """
    return Landscape(name, **parameters)


class Landscape:
    """A loss on the plane with its derivatives, in float64. Points have the shape (…, 2)."""

    def __init__(self, name, **parameters):
        self._native = _native.Landscape(name, [(key, float(value)) for key, value in parameters.items()])

    def value(self, xy):
        """L, of the shape (…)."""
        return self._native.value(np.asarray(xy, dtype=float))

    def gradient(self, xy):
        """∂L/∂x and ∂L/∂y, of the shape (…, 2)."""
        return self._native.gradient(np.asarray(xy, dtype=float))

    def curvature(self, xy):
        """∂²L/∂x² and ∂²L/∂y², of the shape (…, 2)."""
        return self._native.curvature(np.asarray(xy, dtype=float))
