// The page's data: JSON, and columns of numbers (docs/formats/html.md).
import { keepLabels, spaced } from "./format.js";

// Columns that are kept small; the others become doubles, exact to 2^53.
const TYPES = {
	"span.name": Uint32Array, "span.args": Uint32Array, "span.kind": Uint8Array, "gap_part.cause": Uint8Array,
	"text.utf8": Uint8Array,
};

// Bytes of a block of the page.
export async function inflate(base64) {
	let packed;
	if (Uint8Array.fromBase64) {
		packed = Uint8Array.fromBase64(base64);
	} else {
		const text = atob(base64);
		packed = new Uint8Array(text.length);
		for (let i = 0; i < text.length; i++)
			packed[i] = text.charCodeAt(i);
	}
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// n unsigned varints from bytes[at...] into out.
function readPlain(bytes, at, n, out) {
	for (let i = 0; i < n; i++) {
		let b = bytes[at++];
		if (b < 128) {
			out[i] = b;
			continue;
		}
		let value = b & 127, scale = 128;
		do {
			b = bytes[at++];
			value += (b & 127) * scale;
			scale *= 128;
		} while (b >= 128);
		out[i] = value;
	}
}

// n differences as zigzag varints.
function readDelta(bytes, at, n, out) {
	readPlain(bytes, at, n, out);
	let last = 0;
	for (let i = 0; i < n; i++) {
		const z = out[i];
		if (z < 0x80000000) // small numbers, which most are, without division
			last += z >>> 1 ^ -(z & 1);
		else
			last += z % 2 ? -(z + 1) / 2 : z / 2;
		out[i] = last;
	}
}

function readColumns(index, bytes) {
	const columns = new Map();
	let at = 0;
	for (const { name, code, n, bytes: size } of index) {
		let out;
		if (code === "bytes") {
			out = bytes.subarray(at, at + size);
		} else if (code === "f64") {
			out = new Float64Array(bytes.slice(at, at + size).buffer);
		} else {
			out = new (TYPES[name] ?? Float64Array)(n);
			(code === "delta" ? readDelta : readPlain)(bytes, at, n, out);
		}
		columns.set(name, out);
		at += size;
	}
	return columns;
}

function readTexts(columns) {
	const utf8 = new TextDecoder();
	const bytes = columns.get("text.utf8"), texts = [""];
	let at = 0;
	for (const size of columns.get("text.bytes")) {
		texts.push(utf8.decode(bytes.subarray(at, at + size)));
		at += size;
	}
	return texts;
}

// Lanes with their spans: spans of a lane do not overlap and rise in time.
function readLanes(columns) {
	const gap = columns.get("span.gap"), dur = columns.get("span.dur");
	const lanes = [];
	let i = 0;
	for (let l = 0; l < columns.get("lane.spans").length; l++) {
		const first = i, last = i + columns.get("lane.spans")[l];
		for (let end = 0; i < last; i++) {
			gap[i] += end; // the gap column becomes the start column
			end = gap[i] + dur[i];
		}
		lanes.push({
			first, last, track: columns.get("lane.track")[l],
			depth: columns.get("lane.depth")[l], kind: columns.get("lane.kind")[l],
		});
	}
	return lanes;
}

// Rows of a table as an object of columns with n, or null when the run has none.
function tableOf(columns, name) {
	const table = { n: 0 };
	for (const [key, values] of columns)
		if (key.startsWith(name + ".")) {
			table[key.slice(name.length + 1)] = values;
			table.n ||= values.length;
		}
	return table.n ? table : null;
}

// Spans of gaps: of each gap its span, its first part, and when it was, which the table leaves out when all have one.
function placeGaps(data) {
	const { gap, gap_part: part, gapOfSpan, start, dur } = data;
	if (!gap)
		return;
	data.spanOfGap = new Float64Array(gap.n).fill(-1);
	gapOfSpan.forEach((row, i) => { data.spanOfGap[row] = data.first_gap + i; });
	data.partOfGap = new Uint32Array(gap.n + 1); // and behind the last one
	for (let i = 0; i < (part?.n ?? 0); i++)
		data.partOfGap[part.gap[i] + 1]++;
	for (let i = 0; i < gap.n; i++)
		data.partOfGap[i + 1] += data.partOfGap[i];
	gap.ts ??= data.spanOfGap.map((span) => start[span]);
	gap.dur ??= data.spanOfGap.map((span) => dur[span]);
}

// Blocks of columns with a place of their own; all others are tables of the run.
const notTables = new Set(["span", "lane", "text", "sample", "gpu", "gap_span"]);

// A run of the page from its part of the JSON block and its columns.
export async function readRun(data, base64) {
	const columns = readColumns(data.columns, await inflate(base64.trim()));
	data.texts = readTexts(columns);
	data.lanes = readLanes(columns);
	data.start = columns.get("span.gap");
	data.dur = columns.get("span.dur");
	data.name = columns.get("span.name");
	data.kind = columns.get("span.kind");
	data.args = columns.get("span.args"); // absent when there were too many to carry
	data.sample = { time: columns.get("sample.time"), value: columns.get("sample.value") };
	data.gpu = tableOf(columns, "gpu") ?? { n: 0, launch: [] };
	data.gapOfSpan = columns.get("gap_span.gap");
	for (const name of new Set([...columns.keys()].map((key) => key.split(".")[0])))
		if (!notTables.has(name))
			data[name] = tableOf(columns, name);
	placeGaps(data);
	if (data.kernel)
		keepLabels(Array.from(data.kernel.name, (text) => data.texts[text]), data.kernel_labels);
	return data;
}

// Numbers of the rows of a table.
export const rowsOf = (table) => Array.from({ length: table.n }, (_, i) => i);

export const enumText = (data, list, value) => (data.enums[list]?.[value] ?? String(value)).replaceAll("_", " ");

// A figure of the report, and whether it has a value.
export const metricOf = (data, name) => data.report.metrics.find((m) => m.name === name);
export const known = (m) => m && m.state !== "unknown" && m.value !== null;

// What the inputs are told apart by: rank, process, or place in the list.
export function sourceName(data, source) {
	const rank = data.sources[source]?.rank ?? -1;
	if (rank >= 0)
		return `rank ${rank}`;
	const thread = data.tracks.find((t) => t.source === source && t.kind === "thread" && t.pid >= 0);
	return thread ? `pid ${thread.pid}` : `input ${source + 1}`;
}

// Of a job of many ranks the page has the events of a few: their names, null when it has all.
export function ranksInFull(data) {
	const worked = new Set(data.report.devices.map((d) => d.source)), full = [...worked].filter((i) => data.report.inputs[i].in_full);
	return full.length && full.length < worked.size ? full.map((i) => sourceName(data, i)) : null;
}

// A row of device_time as readers know it.
export function deviceName(data, d) {
	const device = data.report.devices[d];
	const many = data.report.devices.length > 1;
	return (device.rank !== null || many && data.sources.length > 1 ? `${sourceName(data, device.source)}, ` : "") +
		(device.device >= 0 ? `GPU ${device.device}` : "unnamed GPU");
}

export const listed = (words) => words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

// Cause of a span of a gap lane, that which took most of it; -1 of every other span.
export const causeOf = (data, span) => span >= data.first_gap && data.gap ? data.gap.cause[data.gapOfSpan[span - data.first_gap]] : -1;

export function causeName(data, cause) {
	return `idle: ${spaced(data.enums.cause[cause])}`;
}

// What each span of a gap lane is called: its cause.
export function spanName(data, span) {
	const cause = causeOf(data, span);
	if (cause >= 0)
		return causeName(data, cause);
	return data.texts[data.name[span]] || "(no name)";
}

// Marked spans (1 in hit, by span): how many there are before each, how many and how long in all.
export function markOf({ dur }, hit) {
	const before = new Uint32Array(hit.length + 1);
	let total = 0;
	for (let i = 0; i < hit.length; i++) {
		before[i + 1] = before[i] + hit[i];
		if (hit[i])
			total += dur[i];
	}
	return { hit, before, count: before[hit.length], total };
}

// First span of [from, to), of one lane, that ends after t.
export function endsAfter({ start, dur }, t, from, to) {
	while (from < to) {
		const mid = (from + to) >> 1;
		if (start[mid] + dur[mid] > t)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

// Aggregates over ranges of spans: sums by prefix, the longest span by blocks of blocks. Together they
// say what a pixel that holds many spans must show, at any zoom, in a few steps.
const BLOCK = 16;

export class Levels {
	constructor(start, dur) {
		this.start = start;
		this.dur = dur;
		const n = dur.length;
		this.sum = new Float64Array(n + 1);
		for (let i = 0; i < n; i++)
			this.sum[i + 1] = this.sum[i] + dur[i];
		this.longestIn = []; // [level][block] = span
		for (let below = null, m = n; m > BLOCK; below = this.longestIn.at(-1), m = below.length) {
			const level = new Uint32Array(Math.ceil(m / BLOCK));
			for (let b = 0; b < level.length; b++) {
				let best = below ? below[b * BLOCK] : b * BLOCK;
				for (let k = b * BLOCK + 1; k < Math.min(m, (b + 1) * BLOCK); k++) {
					const s = below ? below[k] : k;
					if (dur[s] > dur[best])
						best = s;
				}
				level[b] = best;
			}
			this.longestIn.push(level);
			if (level.length <= BLOCK)
				break;
		}
	}

	// The longest span of [from, to), which is not empty.
	longest(from, to) {
		const { dur, longestIn } = this;
		let best = from, most = dur[from], level = null; // of the spans themselves, then of blocks
		const take = (at, end) => {
			for (; at < end; at++) {
				const s = level ? level[at] : at, d = dur[s];
				if (d > most)
					[best, most] = [s, d];
			}
		};
		for (let depth = 0; to - from > 2 * BLOCK && depth < longestIn.length; depth++) {
			const first = Math.ceil(from / BLOCK), last = Math.floor(to / BLOCK);
			take(from, first * BLOCK);
			take(last * BLOCK, to);
			[from, to, level] = [first, last, longestIn[depth]];
		}
		take(from, to);
		return best;
	}

	endsAfter(t, from, to) {
		return endsAfter(this, t, from, to);
	}

	// First span of [from, to) that starts at t or later, near from more quickly.
	startsFrom(t, from, to) {
		let step = 1;
		while (from + step < to && this.start[from + step] < t) {
			from += step;
			step *= 2;
		}
		to = Math.min(to, from + step);
		while (from < to) {
			const mid = (from + to) >> 1;
			if (this.start[mid] >= t)
				to = mid;
			else
				from = mid + 1;
		}
		return from;
	}

	// Time of [t0, t1) covered by the lane's spans.
	covered(lane, t0, t1) {
		const i = this.endsAfter(t0, lane.first, lane.last);
		if (i >= lane.last || this.start[i] >= t1)
			return 0;
		const j = this.startsFrom(t1, i, lane.last);
		const over = Math.max(0, this.start[j - 1] + this.dur[j - 1] - t1);
		return this.sum[j] - this.sum[i] - Math.max(0, t0 - this.start[i]) - over;
	}
}
