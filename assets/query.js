// The query box: words and comparisons, all of which must hold. "gemm dur>100us step=5 lane~stream kind=kernel"
import { classOf } from "./area.js";
import { spanName } from "./data.js";
import { ownLine, stackRows } from "./stacks.js";

const UNIT_NS = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };
const TERM = /(?:([a-z]+)(>=|<=|!=|>|<|=|!~|~))?("[^"]*"|\S+)/gi;
const COMPARE = {
	">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b, "=": (a, b) => a === b, "!=": (a, b) => a !== b,
};
const TEXT = { "~": (a, b) => a.includes(b), "!~": (a, b) => !a.includes(b), "=": (a, b) => a === b, "!=": (a, b) => a !== b };

function timeOf(text) {
	const [, number, unit] = text.match(/^(\d+(?:\.\d+)?)(ns|us|µs|ms|s)?$/i) ?? [];
	return number === undefined ? NaN : Number(number) * UNIT_NS[(unit ?? "ns").toLowerCase()];
}

// Step number by time, of the steps of the first source; GPU work belongs to the step that launched it.
function stepOf(timeline) {
	const { data } = timeline, s = data.step, known = data.gpu_scope?.step;
	if (!s)
		return () => -1;
	const number = (row) => s.number[row] >= 0 ? s.number[row] : row + 1;
	const own = Array.from({ length: s.n }, (_, i) => i).filter((i) => s.source[i] === s.source[0]).sort((a, b) => s.ts[a] - s.ts[b]);
	const starts = Float64Array.from(own, (i) => s.ts[i]);
	return (span) => {
		if (span < data.gpu.n && known?.[span] >= 0)
			return number(known[span]);
		let from = 0, to = starts.length;
		while (from < to) {
			const mid = (from + to) >> 1;
			if (starts[mid] <= data.start[span])
				from = mid + 1;
			else
				to = mid;
		}
		return from && data.start[span] < s.ts[own[from - 1]] + s.dur[own[from - 1]] ? number(own[from - 1]) : -1;
	};
}

// By lane: name, rank and title of the group it stands in.
function laneTitles(timeline) {
	const out = new Map();
	for (const g of timeline.groups)
		for (const lane of g.lanes)
			out.set(lane, `${g.rank} ${g.title}`.trim().toLowerCase());
	return out;
}

// A test of spans by a text of theirs that few share, so that each text is looked at once.
function byText(textOf, keyOf, op, want) {
	const seen = new Map();
	return (span) => {
		const key = keyOf(span);
		let good = seen.get(key);
		if (good === undefined)
			seen.set(key, good = TEXT[op](textOf(span).toLowerCase(), want));
		return good;
	};
}

function numberTest(value, op, want, text) {
	if (!COMPARE[op] || Number.isNaN(want))
		throw new Error(`no number or comparison: ${text}`);
	return (span) => COMPARE[op](value(span), want);
}

const FIELDS = {
	dur: (t, op, v, text) => numberTest((i) => t.data.dur[i], op, timeOf(v), text),
	start: (t, op, v, text) => numberTest((i) => t.data.start[i], op, timeOf(v), text),
	step: (t, op, v, text) => numberTest(stepOf(t), op, Number(v), text),
	name: (t, op, v) => byText((i) => spanName(t.data, i), (i) => i >= t.data.first_gap ? -1 - t.colour[i] : t.data.name[i], op, v),
	kind: (t, op, v) => byText((i) => t.data.enums["span.kind"][t.data.kind[i]], (i) => t.data.kind[i], op, v),
	class: (t, op, v) => byText((i) => classOf(t.data, i), (i) => t.data.name[i] * 256 + t.colour[i], op, v),
	lane: (t, op, v) => {
		const titles = laneTitles(t);
		let lane = t.data.lanes[0];
		return (i) => {
			if (i < lane.first || i >= lane.last)
				lane = t.laneOf(i);
			return TEXT[op](titles.get(lane), v);
		};
	},
	line: (t, op, v) => {
		const rows = stackRows(t.data);
		return byText((i) => ownLine(t.data, rows[i]), (i) => rows[i], op, v);
	},
	text: (t, op, v) => byText((i) => t.data.args ? t.data.texts[t.data.args[i]] : "", (i) => t.data.args?.[i] ?? 0, op, v),
};

// A word without a comparison: part of a name, or a class ("gemm" finds kernels of that family whatever their names).
function wordTest(t, word) {
	const tests = [FIELDS.name(t, "~", word), FIELDS.class(t, "=", word)];
	return (span) => tests.some((test) => test(span));
}

const NUMBERS = ["dur", "start", "step"];
const COMPARISON = new RegExp(`(^|\\s)(${Object.keys(FIELDS).join("|")})(>|<|=|~|!)`, "i");

// Tests for the terms of a query; throws when one cannot be understood.
function testsOf(timeline, query) {
	return [...query.matchAll(TERM)].map(([text, field, op, raw]) => {
		const value = raw.replace(/^"|"$/g, "").toLowerCase();
		if (!field)
			return wordTest(timeline, value);
		const make = FIELDS[field.toLowerCase()];
		if (!make)
			throw new Error(`${field} is not one of ${Object.keys(FIELDS).join(", ")}`);
		if (!(op in TEXT) && !NUMBERS.includes(field.toLowerCase()))
			throw new Error(`${field} compares with ~ (contains), !~, = or !=`);
		return make(timeline, op, value, text);
	});
}

// 1 for every span that the query holds for; null for an empty query.
export function runQuery(timeline, query) {
	// a name as it stands, with spaces and signs of its own, is looked for as a whole
	const plain = query.trim().toLowerCase();
	if (!plain)
		return null;
	const tests = COMPARISON.test(query) ? testsOf(timeline, query) : [wordTest(timeline, plain)];
	const hit = new Uint8Array(timeline.data.name.length);
	for (let i = 0; i < hit.length; i++)
		hit[i] = tests.every((test) => test(i)) ? 1 : 0;
	return hit;
}
