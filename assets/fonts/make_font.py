#!/usr/bin/env python3
"""Makes ValleyscopeSans.otf from Inter-Regular.otf (SIL Open Font License, see LICENSE-OFL.txt).

Three changes: digits of equal width, so that live numbers do not dance; the gradient sign
(U+2207), which Inter lacks, as its capital delta turned upside down; and theta with a
circumflex or a bar above it, which in Inter runs into the letter.

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
    rename(font, "Valleyscope Sans")
    font.save(target)


main(*sys.argv[1:3])
