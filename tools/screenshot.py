#!/usr/bin/env python3
"""A terminal command's coloured output as a picture, for docs/. Needs Pillow and DejaVu Sans Mono.
usage: screenshot.py OUT.png LINES COMMAND..."""
import os
import pty
import re
import sys

from PIL import Image, ImageDraw, ImageFont

os.environ["ASSAY_PAGER"] = ""  # a pager would wait for a key
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono%s.ttf"
SIZE, PAD = 15, 18
COLOURS = {"32": "#4fb069", "35": "#b07fd6", "33": "#d9a441", "90": "#6b7280", "31": "#e06c75", "36": "#56b6c2"}


def capture(argv):
    out = bytearray()

    def read(fd):
        data = os.read(fd, 65536)
        out.extend(data)
        return data

    pty.spawn(argv, read)
    return out.decode("utf-8", "replace").replace("\r", "")


def main():
    path, lines, argv = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    text = ["$ " + " ".join(os.path.basename(a) if i == 0 else a for i, a in enumerate(argv)), *capture(argv).split("\n")][:lines]
    font = {b: ImageFont.truetype(FONT % ("-Bold" if b else ""), SIZE) for b in (False, True)}
    width = max(len(re.sub(r"\x1b\[[0-9;]*m", "", t)) for t in text)
    cell = font[False].getlength("M")
    line = SIZE + 5
    image = Image.new("RGB", (int(width * cell) + 2 * PAD, len(text) * line + 2 * PAD), "#16181d")
    draw = ImageDraw.Draw(image)
    for row, t in enumerate(text):
        x, bold, colour = 0, row == 0, "#d7dae0"
        for part in re.split(r"(\x1b\[[0-9;]*m)", t):
            code = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
            if code:
                bold, colour = (code[1] == "1"), COLOURS.get(code[1], "#d7dae0")
                continue
            draw.text((PAD + x * cell, PAD + row * line), part, font=font[bold], fill=colour)
            x += len(part)
    image.save(path, optimize=True)


main()
