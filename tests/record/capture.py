"""A second, independent reader of captures, written from docs/formats/capture.md, for the tests."""
import struct

TYPES = ("PAD STRING PROCESS CLOCK META DEVICE CONTEXT STREAM THREAD API API_NAME KERNEL COPY SET SYNC EVENT "
         "MEMORY GRAPH OVERHEAD RANGE LOST END SCRATCH BARRIER CODE STACK SAMPLE "
         "TALLY DEATH PRODUCT SWITCH OPEN SYMBOL FUNCTION").split()
MASK = (1 << 64) - 1


def checksum(data):
    h = 0x9e3779b97f4a7c15 ^ (len(data) * 0xff51afd7ed558ccd & MASK)
    tail = len(data) % 8
    for (w,) in struct.iter_unpack("<Q", data[:len(data) - tail]):
        h = (h ^ w) * 0xd6e8feb86659fd93 & MASK
        h ^= h >> 32
    h = (h ^ int.from_bytes(data[len(data) - tail:] if tail else b"", "little")) * 0xd6e8feb86659fd93 & MASK
    return h ^ h >> 32


WORK = "start end corr node graph device context stream"
API_WITH_ARGUMENTS = ("<qqQIHHiIQQQQII", "start end corr function domain given status stack stream event arg0 arg1 context stream_id")
FIELDS = {
    "PROCESS": ("<IIqqIIII", "pid ppid start real recorder version host command"),
    "CLOCK": ("<qq", "boot real"),
    "META": ("<II", "key value"),
    "DEVICE": ("<IIIIQII", "id vendor name arch memory units warp"),
    "CONTEXT": ("<III", "id device null_stream"),
    "STREAM": ("<QIIIIiIqq", "handle id context device flags priority corr created destroyed"),
    "THREAD": ("<I", "name"),
    "API": ("<qqQIHHiI", "start end corr function domain _ status stack"),
    "API_NAME": ("<IHHI", "function domain _ name"),
    "KERNEL": ("<qqQQIIIIIIIIHHHHIIIIIHH", WORK + " name gx gy gz bx by bz regs static dynamic local queue dispatch "
               "acc_regs scalar_regs"),
    "GRAPH": ("<qqQQIIII", WORK),
    "COPY": ("<qqQQIIIIQBBBBII", WORK + " size kind src dst flags from_device to_device"),
    "SET": ("<qqQQIIIIQIB", WORK + " size value memory"),
    "MEMORY": ("<qQQQIIIBB", "time address size corr device context stream op kind"),
    "OVERHEAD": ("<qqII", "start end name corr"),
    "SYNC": ("<qqQQQIIIi", "start end corr event sync_id kind context stream status"),
    "EVENT": ("<QQQqIII", "corr event sync_id device_time device context stream"),
    "RANGE": ("<qQIIHHI", "time id name domain op length category"),
    "LOST": ("<QqqII", "count first last why text"),
    "END": ("<qq", "time real"),
    "TALLY": ("<HHIQ", "kind cause _ count"),
    "SWITCH": ("<qII", "time on why"),
    "DEATH": ("<qII", "time how whole"),
    "SCRATCH": ("<qqQQIIII", "start end corr size device queue flags op"),
    "CODE": ("<IiHHH", "id line kind file_length name_length"),
    "STACK": ("<IIIi", "id caller code line"),
    "SAMPLE": ("<qqqqIIIIIIiBBBB", "start end cpu delay count stack file native pid holder call state gil flags kind"),
    "PRODUCT": ("<qqQQQIIHHHHiBBB", "start end m n k batch function type_a type_b type_c compute status library "
                "trans_a trans_b"),
    "OPEN": ("<qQQQIHHQ", "start corr stream event function domain given arg"),
    "SYMBOL": ("<QI", "number name"),
    "FUNCTION": ("<HHH", "file_length name_length symbol_length"),
    "BARRIER": ("<qqQQIIIIQIII", WORK + " event queue source op"),
}


class Capture:
    def __init__(self, path):
        self.rows, self.strings, self.bad, self.chunks = {t: [] for t in TYPES}, {0: ""}, 0, 0
        self.numbers = []  # of its chunks
        self.codes, self.stacks = {}, {}  # by ring and id
        self.functions = {}  # file and name of native code -> symbol
        data, pos, seen = open(path, "rb").read(), 0, set()
        while pos < len(data):
            head = data[pos:pos + 64]
            if len(head) == 64 and head[:4] == b"ASYC":
                (_, major, _, hb, n, s, ring, tid, at, _, pid, number, hs) = struct.unpack("<IHHIIQIIQqIIQ", head)
                body = data[pos + hb:pos + hb + n]
                if hs == checksum(head[:56]) and len(body) == n and checksum(body) == s:
                    self.chunks += 1
                    self.numbers.append(number)
                    if not ring or (ring, at) not in seen:
                        self.records(body, tid, ring)
                    seen.add((ring, at))
                    pos += hb + n
                    continue
            self.bad += 1
            nxt = data.find(b"ASYC", pos + 1)
            pos = nxt if nxt > 0 else len(data)

    def records(self, body, tid, ring):
        pos = 0
        while pos < len(body):
            kind, size, thread = struct.unpack_from("<HHI", body, pos)
            rec = body[pos + 8:pos + size]
            name = TYPES[kind]
            if name == "STRING":
                i, n = struct.unpack_from("<II", rec)
                self.strings[i] = rec[8:8 + n].decode()
            elif name in FIELDS:
                fmt, names = API_WITH_ARGUMENTS if name == "API" and size == 88 else FIELDS[name]
                row = dict(zip(names.split(), struct.unpack_from(fmt, rec)))
                row["thread"], row["ring"] = thread or tid, ring
                if name == "CODE":
                    text = rec[16:]
                    row["file"] = text[:row["file_length"]].decode()
                    row["name"] = text[row["file_length"]:][:row["name_length"]].decode()
                    self.codes[ring, row["id"]] = row
                if name == "FUNCTION":
                    at, texts = 8, []
                    for length in ("file_length", "name_length", "symbol_length"):
                        texts.append(rec[at:at + row[length]].decode())
                        at += row[length]
                    self.functions[texts[0], texts[1]] = texts[2]
                if name == "STACK":
                    self.stacks[ring, row["id"]] = row
                if name == "RANGE":
                    row["text"] = self.strings.get(row["name"], "?") if row["name"] else \
                        rec[40:40 + row["length"]].decode()
                self.rows[name].append(row)
            pos += size

    def stack(self, row):
        """[(file, function, line)] of a call or sample, innermost first."""
        out, at = [], row["stack"]
        while at:
            s = self.stacks[row["ring"], at]
            code = self.codes[row["ring"], s["code"]]
            out.append((code["file"], code["name"], s["line"]))
            at = s["caller"]
        return out

    def text(self, i):
        return self.strings[i]
