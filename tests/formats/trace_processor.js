"use strict";
// Perfetto's trace processor, as its page runs it: node trace_processor.js FOLDER TRACE SQL...
// FOLDER has the page's engine_bundle.js and trace_processor*.wasm. Prints the rows of every query as JSON.
const fs = require("fs"), path = require("path"), vm = require("vm");
const [folder, trace, ...queries] = process.argv.slice(2);

// ---- messages of its byte pipe: protos/perfetto/trace_processor/trace_processor.proto
const APPEND = 1, FINALIZE = 2, QUERY = 3;

function varint(n) {
  const out = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
  return Buffer.from([...out, Number(n)]);
}
const message = (field, bytes) => Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
const integer = (field, n) => Buffer.concat([varint(field * 8), varint(n)]);
let sent = 0;
const call = (method, args) => message(1, Buffer.concat([integer(1, ++sent), integer(2, method), args]));

function* varints(b, state = { at: 0 }) {
  while (state.at < b.length) {
    let n = 0n, shift = 0n, c;
    do {
      c = b[state.at++];
      n |= BigInt(c & 127) << shift;
      shift += 7n;
    } while (c > 127);
    yield n;
  }
}

function* fields(b) {
  const state = { at: 0 }, numbers = varints(b, state);
  while (state.at < b.length) {
    const tag = Number(numbers.next().value), wire = tag & 7;
    if (wire === 0) {
      yield [tag >> 3, numbers.next().value];
      continue;
    }
    const n = wire === 1 ? 8 : wire === 5 ? 4 : Number(numbers.next().value);
    yield [tag >> 3, Buffer.from(b.subarray(state.at, state.at + n))];
    state.at += n;
  }
}

// Cells of all rows stand one after the other, by type.
function takeBatch(answer, batch) {
  const kinds = [], whole = [], real = [];
  let texts = [], last = false;
  for (const [f, v] of fields(batch)) {
    if (f === 1) kinds.push(...varints(v));
    else if (f === 2) whole.push(...varints(v));
    else if (f === 3) for (let i = 0; i < v.length; i += 8) real.push(v.readDoubleLE(i));
    else if (f === 5) texts = v.toString().split("\0");
    else if (f === 6) last = v !== 0n;
  }
  const next = { 2: () => Number(BigInt.asIntN(64, whole.shift())), 3: () => real.shift(), 4: () => texts.shift() };
  for (const k of kinds) answer.cells.push(k in next ? next[k]() : null);
  return last;
}

const answers = [];
let answer = { columns: 0, cells: [] };

function takeResult(result) {
  let last = false;
  for (const [f, v] of fields(result)) {
    if (f === 1) answer.columns++;
    if (f === 2 && v.length) throw new Error(v.toString());
    if (f === 3) last = takeBatch(answer, v) || last;
  }
  if (!last) return;
  const rows = [];
  for (let i = 0; i < answer.cells.length; i += answer.columns) rows.push(answer.cells.slice(i, i + answer.columns));
  answers.push(rows);
  answer = { columns: 0, cells: [] };
}

function onReply(bytes) {
  for (const [, reply] of fields(bytes))
    for (const [f, v] of fields(reply)) {
      if (f === 5) throw new Error(v.toString());
      if (f === 203) takeResult(v);
    }
}

// ---- the page's worker, which must not see that this is node
const file = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));
const worker = vm.createContext({
  WorkerGlobalScope: Object, location: { href: "http://page/engine_bundle.js", protocol: "http:", host: "page" },
  console: { log() {}, warn() {}, error() {} }, performance, URL, TextDecoder, TextEncoder, setTimeout, file,
  crypto: require("crypto").webcrypto,
});
vm.runInContext(`var self = globalThis;
class XMLHttpRequest {
  open(how, url) { this.url = url; }
  send() { this.status = 200; this.response = new Uint8Array(file(this.url)).buffer; }
}`, worker);
const bytesOf = vm.runInContext("(b) => new Uint8Array(b)", worker);

function ask(send) {
  const data = fs.readFileSync(trace), piece = 16 << 20;
  for (let i = 0; i < data.length; i += piece) send(call(APPEND, message(101, data.subarray(i, i + piece))));
  send(call(FINALIZE, Buffer.alloc(0)));
  for (const q of queries) send(call(QUERY, message(103, message(1, Buffer.from(q)))));
  console.log(JSON.stringify(answers));
}

vm.runInContext(file("engine_bundle.js").toString(), worker);
worker.self.onmessage({
  data: {
    postMessage: onReply,
    // it gets ready in promises, all of which are done before the next timer
    set onmessage(f) { setTimeout(() => ask((b) => f({ data: bytesOf(b) })), 0); },
  },
});
