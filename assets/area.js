// What lies in an area of lanes and time: by name, by class, and why devices were idle in it.
import { countColumn, shareColumn, timeColumn } from "./columns.js";
import { endsAfter, spanName } from "./data.js";
import { el, swatch } from "./dom.js";
import { callsIn, hasCalls, stacksIn } from "./flame.js";
import { formatCount, formatMoment, formatTime, shortName } from "./format.js";
import { lanesAround, walkNest } from "./nest.js";
import { COLOURS } from "./palette.js";
import { makeTable } from "./tables.js";

// Lanes that are shown and meet the band [y, y]; all for none.
export function lanesIn(timeline, band) {
	return timeline.shown.flatMap((g) => g.rows.filter((r) => !band || r.y < band[1] && r.y + r.height > band[0])
		.flatMap((r) => g.flat ? g.lanes : [r.lane]));
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
// Self: without what runs inside it on the same thread, in whatever lane.
export function sumByName({ data }, lanes, from, to) {
	const { start, dur, name, kind } = data, sums = new Map(), chosen = new Set(lanes), nests = new Set();
	const add = (i, inside) => {
		const gap = i >= data.first_gap && !!data.gap, part = Math.min(to, start[i] + dur[i]) - Math.max(from, start[i]);
		const key = gap ? -1 - data.gap.cause[data.gapOfSpan[i - data.first_gap]] : name[i] * 256 + kind[i];
		let sum = sums.get(key);
		if (!sum)
			sums.set(key, sum = { span: i, count: 0, total: 0, self: 0, gap });
		sum.count++;
		sum.total += part;
		sum.self += part - inside;
		if (dur[i] > dur[sum.span])
			sum.span = i;
	};
	for (const lane of lanes)
		if (lanesAround(data, lane))
			nests.add(lanesAround(data, lane));
		else
			for (let i = endsAfter(data, from, lane.first, lane.last); i < lane.last && start[i] < to; i++)
				add(i, 0);
	for (const nest of nests)
		walkNest(data, nest, from, to, () => {}, (i, inside, lane) => chosen.has(lane) && add(i, inside));
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

// Shares are of the self times of all, and so sum to the whole however many run at once.
const numberColumns = (rows, { average }) => [
	countColumn("count", (r) => r.count),
	timeColumn("total", (r) => r.total),
	...(rows.some((r) => r.self !== r.total) ? [timeColumn("self", (r) => r.self)] : []),
	...(!average ? [] : [timeColumn("average", (r) => r.total / r.count, { spare: true })]),
	shareColumn("share", (r) => r.self, rows.reduce((sum, o) => sum + o.self, 0)),
];

export function nameTable(timeline, rows, caption) {
	const { data, colour } = timeline, href = (r) => `#${data.tag}span=${r.span}`;
	return makeTable([
		...numberColumns(rows, { average: true }),
		{
			title: "name", name: true, value: (r) => spanName(data, r.span),
			show: (r) => el("span", { title: spanName(data, r.span) }, swatch(COLOURS[colour[r.span]]), el("a", { href: href(r) }, shortName(spanName(data, r.span)))),
		},
	], rows, { caption, rows: 12, sort: 1 });
}

function classTable(timeline, rows) {
	const { data, colour } = timeline, sums = new Map();
	for (const r of rows) {
		const name = classOf(data, r.span), sum = sums.get(name) ?? { name, span: r.span, count: 0, total: 0, self: 0 };
		sums.set(name, sum);
		for (const key of ["count", "total", "self"])
			sum[key] += r[key];
	}
	return makeTable([...numberColumns(rows, { average: false }),
		{ title: "class", value: (r) => r.name, show: (r) => el("span.nowrap", {}, swatch(COLOURS[colour[r.span]]), r.name) },
	], [...sums.values()], { caption: "By class", rows: 12, sort: 1 });
}

// A time of lanes as tables.
function areaTables(timeline, [from, to], band, title) {
	const lanes = lanesIn(timeline, band), rows = sumByName(timeline, lanes, from, to);
	const work = rows.filter((r) => !r.gap), idle = rows.filter((r) => r.gap);
	const count = work.reduce((sum, r) => sum + r.count, 0);
	return el("div.area", {},
		el("h3.name", { title: "Shares are of the time of all events here, less what runs inside them." }, title, `${formatTime(to - from)} from ${formatMoment(from)}: ${formatCount(count)} events in ${formatCount(lanes.length)} lanes`),
		el("div.columns", {},
			work.length ? nameTable(timeline, work, "By name") : null,
			work.length ? classTable(timeline, work) : null,
			idle.length ? nameTable(timeline, idle, "Why devices were idle") : null,
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
