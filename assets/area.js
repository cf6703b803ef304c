// What lies in an area of lanes and time: by name, by class, and why devices were idle in it.
import { spanName } from "./data.js";
import { el, swatch } from "./dom.js";
import { callsIn, hasCalls, stacksIn } from "./flame.js";
import { formatCount, formatPercent, formatTime, shortName } from "./format.js";
import { COLOURS } from "./palette.js";
import { makeTable } from "./tables.js";

// Lanes that are shown and meet the band [y, y]; all for none.
export function lanesIn(timeline, band) {
	return timeline.shown.flatMap((g) => g.rows.filter((r) => !band || r.y < band[1] && r.y + r.height > band[0])
		.flatMap((r) => g.flat ? g.lanes : [r.lane]));
}

// Lane below another of the same thread, which holds what runs inside its spans.
function laneInside(data, lane) {
	return data.lanes.find((o) => o.track === lane.track && o.kind === lane.kind && o.depth === lane.depth + 1);
}

// What a span is, in a word: the family of a kernel, the kind of anything else, the cause of a gap.
export function classOf(data, span) {
	const kind = data.enums["span.kind"][data.kind[span]];
	if (span >= data.first_gap && data.gap)
		return spanName(data, span);
	data.familyOfText ??= new Map(Array.from({ length: data.kernel?.n ?? 0 }, (_, i) => [data.kernel.name[i], data.enums.family[data.kernel.family[i]]]));
	return kind === "kernel" ? data.familyOfText.get(data.name[span]) ?? kind : kind.replaceAll("_", " ");
}

// Sums by name over [from, to) of some lanes; what reaches over an edge counts with its part inside.
// Self: without what runs inside it on the same thread.
export function sumByName(timeline, lanes, from, to) {
	const { data, levels } = timeline, { start, dur, name, kind } = data, sums = new Map();
	for (const lane of lanes) {
		const inside = lane.first < data.gpu.n ? null : laneInside(data, lane), gaps = lane.first >= data.first_gap && data.gap;
		for (let i = levels.endsAfter(from, lane.first, lane.last); i < lane.last && start[i] < to; i++) {
			const a = Math.max(from, start[i]), b = Math.min(to, start[i] + dur[i]);
			const key = gaps ? -1 - data.gap.cause[data.gapOfSpan[i - data.first_gap]] : name[i] * 256 + kind[i];
			let sum = sums.get(key);
			if (!sum)
				sums.set(key, sum = { span: i, count: 0, total: 0, self: 0, gap: !!gaps });
			sum.count++;
			sum.total += b - a;
			sum.self += b - a - (inside ? levels.covered(inside, a, b) : 0);
			if (dur[i] > dur[sum.span])
				sum.span = i;
		}
	}
	return [...sums.values()];
}

// The same over marked spans, wherever they are.
export function sumMarked(timeline) {
	const { data, match } = timeline, sums = new Map();
	for (let i = 0; i < match.hit.length; i++) {
		if (!match.hit[i])
			continue;
		const key = data.name[i] * 256 + data.kind[i], sum = sums.get(key) ?? { span: i, count: 0, total: 0, self: 0, gap: i >= data.first_gap };
		sums.set(key, sum);
		sum.count++;
		sum.total += data.dur[i];
		sum.self += data.dur[i];
		if (data.dur[i] > data.dur[sum.span])
			sum.span = i;
	}
	return [...sums.values()];
}

const numberColumns = (rows, whole) => [
	{ title: "count", number: true, value: (r) => r.count, show: (r) => formatCount(r.count) },
	{ title: "total", number: true, value: (r) => r.total, show: (r) => formatTime(r.total) },
	...(rows.some((r) => r.self !== r.total) ? [{ title: "self", number: true, value: (r) => r.self, show: (r) => formatTime(r.self) }] : []),
	{ title: "average", number: true, value: (r) => r.total / r.count, show: (r) => formatTime(r.total / r.count) },
	{ title: "share", number: true, value: (r) => r.total, show: (r) => formatPercent(r.total, whole) },
];

export function nameTable(timeline, rows, whole, caption) {
	const { data, colour } = timeline, href = (r) => `#${data.tag}span=${r.span}`;
	return makeTable([
		...numberColumns(rows, whole),
		{
			title: "name", name: true, value: (r) => spanName(data, r.span),
			show: (r) => el("span", { title: spanName(data, r.span) }, swatch(COLOURS[colour[r.span]]), el("a", { href: href(r) }, shortName(spanName(data, r.span)))),
		},
	], rows, { caption, rows: 12, sort: 1 });
}

function classTable(timeline, rows, whole) {
	const { data, colour } = timeline, sums = new Map();
	for (const r of rows) {
		const name = classOf(data, r.span), sum = sums.get(name) ?? { name, span: r.span, count: 0, total: 0, self: 0 };
		sums.set(name, sum);
		for (const key of ["count", "total", "self"])
			sum[key] += r[key];
	}
	return makeTable([...numberColumns(rows, whole),
		{ title: "class", value: (r) => r.name, show: (r) => el("span.nowrap", {}, swatch(COLOURS[colour[r.span]]), r.name) },
	], [...sums.values()], { caption: "By class", rows: 12, sort: 1 });
}

// A time of lanes as tables.
function areaTables(timeline, [from, to], band, title) {
	const lanes = lanesIn(timeline, band), rows = sumByName(timeline, lanes, from, to);
	const work = rows.filter((r) => !r.gap), idle = rows.filter((r) => r.gap);
	const count = work.reduce((sum, r) => sum + r.count, 0);
	return el("div.area", {},
		el("h3.name", { title: "Shares are of this time; events that overlap, on other streams or threads, count each." }, title, `${formatTime(to - from)} from ${formatTime(from)}: ${formatCount(count)} events in ${formatCount(lanes.length)} lanes`),
		el("div.columns", {},
			work.length ? nameTable(timeline, work, to - from, "By name") : null,
			work.length ? classTable(timeline, work, to - from) : null,
			idle.length ? nameTable(timeline, idle, to - from, "Why devices were idle") : null,
			timeline.data.look ? stacksIn(timeline.data, from, to) : null),
		hasCalls(timeline.data) ? callsIn(timeline.data, from, to) : null);
}

// The selected area.
export function areaPanel(timeline) {
	return areaTables(timeline, [Math.min(...timeline.measure), Math.max(...timeline.measure)], timeline.band, "");
}

// What to show when nothing is selected: the GPU's work of the steps that stand for the run.
export function steadyPanel(timeline) {
	const steady = timeline.steadyTime(), kinds = ["gpu", "gap"];
	if (!steady || !timeline.shown.some((g) => kinds.includes(g.kind)))
		return el("p.muted.hint-only", {}, "Click an event for its details, drag over lanes for what is in that area, or search with /.");
	const [from, length, steps] = steady, own = { ...timeline, shown: timeline.shown.filter((g) => kinds.includes(g.kind)) };
	return el("div", {}, el("p.muted.hint-only", {}, "Click an event for its details; drag over lanes for what is in that area."),
		areaTables(own, [from, from + length], null, steps > 1 ? "Two usual steps, on the GPU: " : "One step, on the GPU: "));
}
