"""Compares a page with its reference, using pictures of some hundred dots in width."""
import struct
import zlib


def dots(png):
    """Returns the grey values of a PNG file with eight bits per channel, row by row, each from 0 to 255."""
    place, data, width, height, channels = 8, b"", 0, 0, 0
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place:place + 8])
        body = png[place + 8:place + 8 + length]
        place += length + 12
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack(">IIBB", body[:10])
            channels = {0: 1, 2: 3, 6: 4}[colours]
            assert depth == 8, "eight bits a channel are expected"
        elif kind == b"IDAT":
            data += body
    raw, stride = zlib.decompress(data), width * channels
    rows, before = [], bytearray(stride)
    for number in range(height):
        start = number * (stride + 1)
        row = bytearray(raw[start + 1:start + 1 + stride])
        unfilter(raw[start], row, before, channels)
        rows.append([sum(row[x:x + min(channels, 3)]) // min(channels, 3) for x in range(0, stride, channels)])
        before = row
    return rows


def unfilter(kind, row, above, step):
    """Undoes the filter of one row (PNG, 9.2)."""
    for place in range(len(row)):
        left = row[place - step] if place >= step else 0
        corner = above[place - step] if place >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = above[place]
        elif kind == 3:
            guess = (left + above[place]) // 2
        elif kind == 4:
            guess = paeth(left, above[place], corner)
        else:
            guess = 0
        row[place] = (row[place] + guess) & 0xff


def paeth(left, above, corner):
    base = left + above - corner
    return min((abs(base - left), 0, left), (abs(base - above), 1, above), (abs(base - corner), 2, corner))[2]


def signature(png, columns=24, rows=16):
    """Returns the mean grey of each field of a grid."""
    picture = dots(png)
    height, width = len(picture), len(picture[0])
    fields = []
    for row in range(rows):
        lines = picture[row * height // rows:max((row + 1) * height // rows, row * height // rows + 1)]
        for column in range(columns):
            begin, end = column * width // columns, max((column + 1) * width // columns, column * width // columns + 1)
            values = [value for line in lines for value in line[begin:end]]
            fields.append(sum(values) // len(values))
    return fields


def difference(one, other):
    """Returns the mean difference of two signatures over the fields, from 0 to 255."""
    return sum(abs(a - b) for a, b in zip(one, other)) / len(one) if len(one) == len(other) else 255.0
