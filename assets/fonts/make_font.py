#!/usr/bin/env python3
"""Makes ValleyscopeSans.otf from Inter-Regular.otf (SIL Open Font License, see LICENSE-OFL.txt).

Four changes: digits of equal width, so that live numbers do not dance; the gradient sign
(U+2207), which Inter lacks, as its capital delta turned upside down; theta with a
circumflex or a bar above it, which in Inter runs into the letter; and a clipboard (U+1F4CB),
which is on a button of egui's colour picker.

    pip install fonttools
    ./make_font.py Inter-Regular.otf ValleyscopeSans.otf
"""
import sys

from fontTools.otlLib.builder import buildLigatureSubstSubtable, buildLookup
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.pens.transformPen import TransformPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables._c_m_a_p import CmapSubtable


def tabular_digits(font):
    """Maps each digit to its tabular form, as the feature 'tnum' would."""
    names = {}
    gsub = font["GSUB"].table
    for record in gsub.FeatureList.FeatureRecord:
        if record.FeatureTag == "tnum":
            for index in record.Feature.LookupListIndex:
                for subtable in gsub.LookupList.Lookup[index].SubTable:
                    subtable = getattr(subtable, "ExtSubTable", subtable)
                    names.update(getattr(subtable, "mapping", {}))
    digits = {code: names[font.getBestCmap()[code]] for code in range(ord("0"), ord("9") + 1)}
    for table in font["cmap"].tables:
        if table.isUnicode():
            table.cmap.update(digits)


def outline(font, glyph):
    """A glyph's contours, and the lower and upper ends of its points."""
    glyphs = font.getGlyphSet()
    record = DecomposingRecordingPen(glyphs)
    glyphs[glyph].draw(record)
    points = [point for _, args in record.value for point in args]
    return record, [min(axis) for axis in zip(*points)], [max(axis) for axis in zip(*points)]


def add_glyph(font, name, width, parts):
    """Adds a glyph made of contours, each moved by its affine transformation."""
    cff = font["CFF "].cff
    top = cff.topDictIndex[0]
    pen = T2CharStringPen(width, font.getGlyphSet())
    for record, transform in parts:
        record.replay(TransformPen(pen, transform))
    private = top.Private if hasattr(top, "Private") else top.FDArray[0].Private
    strings = top.CharStrings
    strings.charStringsIndex.append(pen.getCharString(private=private, globalSubrs=cff.GlobalSubrs))
    strings.charStrings[name] = len(strings.charStringsIndex) - 1
    order = font.getGlyphOrder()
    if name not in order:
        order.append(name)
    top.charset = order
    font.setGlyphOrder(order)
    if hasattr(top, "FDSelect"):
        top.FDSelect.append(0)
    font["hmtx"][name] = (width, 0)
    font["maxp"].numGlyphs = len(order)


def add_nabla(font):
    """Adds U+2207 by mirroring U+0394 about half its height."""
    source = font.getBestCmap()[0x0394]
    record, low, high = outline(font, source)
    width, left = font["hmtx"][source]
    add_glyph(font, "nabla", width, [(record, (1, 0, 0, -1, 0, high[1] + low[1]))])
    font["hmtx"]["nabla"] = (width, left)
    for table in font["cmap"].tables:
        if table.isUnicode():
            table.cmap[0x2207] = "nabla"


def add_marked_theta(font):
    """Lets theta and a combining circumflex or macron become one glyph, with the mark above the letter."""
    names = font.getBestCmap()
    theta = names[0x03B8]
    letter, _, top = outline(font, theta)
    width, left = font["hmtx"][theta]
    gap = font["head"].unitsPerEm // 20
    ligatures = {}
    for code, name in [(0x0302, "theta_circumflex"), (0x0304, "theta_macron")]:
        mark, low, high = outline(font, names[code])
        shift = (width / 2 - (low[0] + high[0]) / 2, top[1] + gap - low[1])
        add_glyph(font, name, width, [(letter, (1, 0, 0, 1, 0, 0)), (mark, (1, 0, 0, 1, *shift))])
        font["hmtx"][name] = (width, left)
        ligatures[theta, names[code]] = name
    gsub = font["GSUB"].table
    gsub.LookupList.Lookup.append(buildLookup([buildLigatureSubstSubtable(ligatures)]))
    gsub.LookupList.LookupCount = len(gsub.LookupList.Lookup)
    for record in gsub.FeatureList.FeatureRecord:
        if record.FeatureTag == "ccmp":
            record.Feature.LookupListIndex.append(gsub.LookupList.LookupCount - 1)
            record.Feature.LookupCount = len(record.Feature.LookupListIndex)


def rectangle(left, bottom, right, top, is_hole=False):
    """A contour; that of a hole goes round the other way."""
    corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
    first, *others = corners[::-1] if is_hole else corners
    record = DecomposingRecordingPen({})
    record.moveTo(first)
    for corner in others:
        record.lineTo(corner)
    record.closePath()
    return record


def add_clipboard(font):
    """Adds U+1F4CB: a sheet with two lines of writing under a clip."""
    unit = font["hmtx"][font.getBestCmap()[ord("H")]][0] / 20
    parts = [
        rectangle(3 * unit, 0, 17 * unit, 18 * unit),
        rectangle(4.6 * unit, 1.6 * unit, 15.4 * unit, 16.4 * unit, is_hole=True),
        rectangle(7 * unit, 15.5 * unit, 13 * unit, 20 * unit),
        rectangle(6.6 * unit, 10 * unit, 13.4 * unit, 11.4 * unit),
        rectangle(6.6 * unit, 6 * unit, 13.4 * unit, 7.4 * unit),
    ]
    add_glyph(font, "clipboard", round(20 * unit), [(part, (1, 0, 0, 1, 0, 0)) for part in parts])
    cmap = font["cmap"].getcmap(3, 10)
    if cmap is None:
        cmap = CmapSubtable.newSubtable(12)
        cmap.platformID, cmap.platEncID, cmap.language = 3, 10, 0
        cmap.cmap = dict(font.getBestCmap())
        font["cmap"].tables.append(cmap)
    cmap.cmap[0x1F4CB] = "clipboard"


def rename(font, family):
    for record in font["name"].names:
        if record.nameID in (1, 4, 16):
            record.string = family
        elif record.nameID == 6:
            record.string = family.replace(" ", "")


def main(source, target):
    font = TTFont(source)
    tabular_digits(font)
    add_nabla(font)
    options = Options()
    options.layout_features = ["ccmp", "kern", "mark", "mkmk", "locl"]
    options.name_IDs = ["*"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[
        *range(0x20, 0x250), *range(0x2B0, 0x400), *range(0x1D2C, 0x1D6B),
        *range(0x2000, 0x2300), *range(0x25A0, 0x2600), *range(0x2713, 0x2718),
    ])
    subsetter.subset(font)
    add_marked_theta(font)
    add_clipboard(font)
    rename(font, "Valleyscope Sans")
    font.save(target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
