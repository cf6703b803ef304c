"""Changes to what a file says, not to its bytes: values, members, columns, rows and messages that are odd, missing, doubled,
exchanged or in another order. change(r, path) makes some in a file of any format, by the random numbers of r."""
import json
import os
import sqlite3
import struct

NUMBERS = [0, 1, -1, 2, -0.0, 0.1, 1e-320, 1e308, -1e308, 10**30, 1 << 31, 1 << 32, 1 << 53, (1 << 63) - 1, -(1 << 63), 1 << 63, (1 << 64) - 1,
           9 * 10**18, -9 * 10**18, 10**17]
TEXTS = ["", "x" * 3000, "\0", "\x1b[31m\u202e", "-1", "1e400", "0x10", "null", "99999999999999999999", "=1+1", "ProfilerStep#1", "<" * 500, "((((((",
         "ncclDevKernel_AllReduce", "cudaLaunchKernel", "Memcpy HtoD (Pageable -> Device)", "void f<(int)3>(", "../../x", "aten::mm", "7"]
LITTLE = 1 << 16  # so long a message is put into others


def some(r):
    return range(r.choice((1, 2, 5, 20, 80)))


def value(r):
    return r.choice((lambda: r.choice(NUMBERS), lambda: r.choice(NUMBERS), lambda: r.choice(TEXTS), lambda: None, lambda: True, list, dict,
                     lambda: [[[[]]]], lambda: {"a": {"b": [1, {"c": 2}]}}, lambda: [r.choice(NUMBERS) for _ in range(r.randrange(20))],
                     lambda: r.randrange(-5, 2000)))()


# ---- JSON ----

def places(document):
    """Every (list or object, key) in it."""
    found, todo = [], [document]
    while todo:
        x = todo.pop()
        for key, inside in x.items() if isinstance(x, dict) else enumerate(x):
            found.append((x, key))
            if isinstance(inside, (dict, list)):
                todo.append(inside)
    return found


def change_everywhere(r, holders, key):
    """One member of all objects that have it."""
    new, factor = value(r), r.choice((-1, 1e3, 1e9, 1e-6, 0))
    how = r.choice((lambda h: h.update({key: new}), lambda h: h.pop(key), lambda h: h.update({key: value(r)}), lambda h: h.update({key: r.choice(NUMBERS)}),
                    lambda h: isinstance(h[key], (int, float)) and h.update({key: h[key] * factor})))
    for h in holders:
        if key in h:
            how(h)


def change_json(r, data):
    document = json.loads(data)
    every = places(document)
    members = {}
    for holder, key in every:
        if isinstance(holder, dict):
            members.setdefault(key, []).append(holder)
    lists = [h for h, key in every if isinstance(h, list) and key == 0]
    for _ in some(r) if members else ():
        holder, key = r.choice(every)
        name, other = r.choice(list(members)), r.choice(list(members))
        a, b = r.choice(members[name]), r.choice(members[name])
        way = r.randrange(7)
        if way < 2 and (isinstance(holder, dict) or key < len(holder)):
            holder[key] = value(r)
        elif way == 2:
            change_everywhere(r, members[name], name)
        elif way == 3 and name in a and name in b:
            a[name], b[name] = b[name], a[name]
        elif way == 4 and name in a:
            a[other] = a.pop(name)
        elif way == 5 and lists:
            r.shuffle(r.choice(lists))
        elif way == 6 and lists:
            items = r.choice(lists)
            items[r.randrange(len(items) + 1):0] = json.loads(json.dumps(r.sample(items, min(len(items), 3))))
    return json.dumps(document).encode()


# ---- CSV ----

def change_table(r, data):
    rows = [line.split(",") for line in data.decode("utf-8", "replace").split("\n")]
    for _ in some(r):
        row, way = r.choice(rows), r.randrange(7)
        at = r.randrange(len(row))
        if way < 2:
            row[at] = str(r.choice(NUMBERS + TEXTS))
        elif way == 2:
            row[at:at + 1] = []
        elif way == 3:
            row.insert(at, row[at])
        elif way == 4:
            rows.insert(r.randrange(len(rows) + 1), list(row))
        elif way == 5:
            row[at] = '"' + row[at] + r.choice(('"', "", '",', '\n"'))
        elif way == 6:
            for each in rows[1:]:
                each[at:at + 1] = [str(r.choice(NUMBERS + TEXTS))] * (at < len(each))
        row += [""] * (not row)
    return "\n".join(map(",".join, rows)).encode("utf-8", "replace")


# ---- SQLite ----

def statement(r, table, columns):
    column, other = r.choice(columns), r.choice(columns)
    return r.choice((
        f'update "{table}" set "{column}" = ? where rowid in (select rowid from "{table}" order by rowid % {r.randrange(1, 9)} limit {r.choice((1, 3, 1 << 20))})',
        f'update "{table}" set "{column}" = "{other}"', f'update "{table}" set "{column}" = "{column}" * {r.choice((-1, 0, 1000000, 0.5))}',
        f'update "{table}" set "{column}" = null where rowid % 3 = 0', f'insert into "{table}" select * from "{table}" limit 5',
        f'alter table "{table}" rename column "{column}" to "{column}_x"', f'alter table "{table}" drop column "{column}"',
        f'delete from "{table}" where rowid % 2 = 0', f'delete from "{table}"', f'drop table "{table}"',
        f'alter table "{table}" rename to "{table}_x"'))


def change_database(r, path):
    db = sqlite3.connect(path, isolation_level=None)
    for _ in some(r):
        tables = [t for t, in db.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite%'")]
        table = r.choice(tables) if tables else None
        columns = [c[1] for c in db.execute(f'pragma table_info("{table}")')] if table else []
        new = r.choice((r.choice(NUMBERS), r.choice(TEXTS), None, bytes(r.randrange(256) for _ in range(r.randrange(200))), r.randrange(-3, 3000)))
        if isinstance(new, int) and not -(1 << 63) <= new < 1 << 63:
            new = float(new)
        try:
            text = statement(r, table, columns) if columns else "select 1"
            db.execute(text, (new,) * text.count("?"))
        except sqlite3.Error:
            pass  # it does not fit the table: as good as none
    db.close()


# ---- protobuf ----

def take_number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def put_number(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


FIXED = {1: 8, 5: 4}


def parsed(data, depth=0):
    """[field, wire type, value] of each; a text that can be a message is taken for one."""
    at, out = 0, []
    while at < len(data):
        tag, at = take_number(data, at)
        wire = tag & 7
        if wire == 0:
            inside, at = take_number(data, at)
        else:
            n, at = take_number(data, at) if wire == 2 else (FIXED[wire], at)
            inside, at = data[at:at + n], at + n
        if tag < 8 or at > len(data):
            raise ValueError("no message")
        if wire == 2 and depth < 9 and len(inside) > 1:
            try:
                inside = parsed(inside, depth + 1)
            except (ValueError, KeyError, IndexError):
                pass
        out.append([tag >> 3, wire, inside])
    return out


def packed(message):
    out = bytearray()
    for field, wire, inside in message:
        inside = packed(inside) if isinstance(inside, list) else inside
        out += put_number(field << 3 | wire) + (put_number(inside) if wire == 0 else put_number(len(inside)) + inside if wire == 2 else inside)
    return bytes(out)


def odd_value(r, wire, before):
    if wire == 0:
        return r.choice([n & (1 << 64) - 1 for n in NUMBERS if isinstance(n, int)] + [r.randrange(100)])
    if wire == 2:
        return r.choice((b"", b"\xff" * 9, r.choice(TEXTS).encode(), before * 3 if isinstance(before, bytes) else before))
    return struct.pack("<Q", r.choice(NUMBERS[:2] + NUMBERS[10:14]) & (1 << 64) - 1)[:FIXED[wire]]


def change_messages(r, data):
    whole = parsed(data)
    every = [whole]
    for message in every:
        every += [f[2] for f in message if isinstance(f[2], list)]
    for _ in some(r):
        message, way = r.choice(every), r.randrange(7)
        if not message:
            continue
        at = r.randrange(len(message))
        field = message[at]
        if way < 2:
            field[2] = odd_value(r, field[1], field[2])
        elif way == 2:
            message.insert(r.randrange(len(message) + 1), list(field))
        elif way == 3:
            message.pop(at)
        elif way == 4:
            field[0] = r.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 100, field[0] + 1))
        elif way == 5:
            r.shuffle(message)
        elif way == 6 and field[1] == 2:
            other = packed(r.choice(every))
            field[2] = other if len(other) < LITTLE else b""
    return packed(whole)


def change(r, path):
    with open(path, "rb") as f:
        data = f.read()
    if data.startswith(b"SQLite format 3"):
        return change_database(r, path)
    way = change_json if data[:1] in (b"{", b"[") else change_messages if path.endswith((".pb", ".pftrace")) else change_table
    with open(path, "wb") as f:
        f.write(way(r, data))
    return None
