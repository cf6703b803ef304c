"""Fields of a protobuf message, without a schema."""


def varint(b, i):
    r = s = 0
    while True:
        c = b[i]
        i += 1
        r |= (c & 127) << s
        s += 7
        if c < 128:
            return r, i


def fields(b):
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        if tag & 7 == 0:
            v, i = varint(b, i)
        elif tag & 7 == 1:
            v, i = b[i:i + 8], i + 8
        else:
            n, i = varint(b, i)
            v, i = b[i:i + n], i + n
        yield tag >> 3, v


def signed(v):
    return v - (1 << 64) if v >> 63 else v


def first(b, number, default):
    return next((v for f, v in fields(b) if f == number), default)
