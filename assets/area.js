// What lies in an area of lanes and time: by name, by class, and why devices were idle in it.
import { countColumn, shareColumn, timeColumn } from "./columns.js";
import { causeName, causeOf, endsAfter, spanName } from "./data.js";
import { el, swatch } from "./dom.js";
import { callsIn, hasCalls, stacksIn } from "./flame.js";
import { formatCount, formatMoment, formatTime, shortName } from "./format.js";
import { lanesAround, walkNest } from "./nest.js";
import { COLOURS, causeColour } from "./palette.js";
import { makeTable } from "./tables.js";

// Lanes that are shown and meet the band [y, y]; all for none.
export function lanesIn(timeline, band) {
	return timeline.shown.flatMap((g) => g.rows.filter((r) => !band || r.y < band[1] && r.y + r.height > band[0])
		.flatMap((r) => g.flat ? g.lanes : [r.lane]));
}

// What a span is, in a word: the family of a kernel, the kind of anything else, the cause of a gap.
export function classOf(data, span) {
	const kind = data.enums["span.kind"][data.kind[span]];
	if (causeOf(data, span) >= 0)
		return spanName(data, span);
	data.familyOfText ??= new Map(Array.from({ length: data.kernel?.n ?? 0 }, (_, i) => [data.kernel.name[i], data.enums.family[data.kernel.family[i]]]));
	return kind === "kernel" ? data.familyOfText.get(data.name[span]) ?? kind : kind.replaceAll("_", " ");
}

// Sums by key, each { span: the longest, cause: of idle time, else -1, count, total, self }.
class Sums extends Map {
	add(key, span, cause, total, inside, length) {
		let sum = this.get(key);
		if (!sum)
			this.set(key, sum = { span, cause, longest: 0, count: 0, total: 0, self: 0 });
		sum.count++;
		sum.total += total;
		sum.self += total - inside;
		if (length > sum.longest)
			[sum.span, sum.longest] = [span, length];
	}
}

export function rowName(data, r) {
	return r.cause >= 0 ? causeName(data, r.cause) : spanName(data, r.span);
}

export function rowClass(data, r) {
	return r.cause >= 0 ? causeName(data, r.cause) : classOf(data, r.span);
}

export function rowColour({ data, colour }, r) {
	return r.cause >= 0 ? causeColour(data.enums.cause[r.cause]) : COLOURS[colour[r.span]];
}

// Sums by name over [from, to) of some lanes; what reaches over an edge counts with its part inside. A gap is the sum of its parts,
// by cause. Self: without what runs inside it on the same thread, in whatever lane.
export function sumByName({ data }, lanes, from, to) {
	const { start, dur, name, kind, gap_part: part, partOfGap } = data, sums = new Sums(), chosen = new Set(lanes), nests = new Set();
	const add = (i, inside) => {
		const total = Math.min(to, start[i] + dur[i]) - Math.max(from, start[i]);
		if (causeOf(data, i) < 0)
			return sums.add(name[i] * 256 + kind[i], i, -1, total, inside, dur[i]);
		const gap = data.gapOfSpan[i - data.first_gap];
		for (let k = partOfGap[gap]; k < partOfGap[gap + 1]; k++)
			sums.add(-1 - part.cause[k], i, part.cause[k], total * part.dur[k] / dur[i], 0, part.dur[k]);
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

// The same over marked spans, wherever they are; a gap is of the cause it is marked for.
export function sumMarked({ data, match: { hit } }) {
	const sums = new Sums();
	for (let i = 0; i < hit.length; i++) {
		const cause = hit[i] ? causeOf(data, i) : -1;
		if (hit[i])
			sums.add(cause >= 0 ? -1 - cause : data.name[i] * 256 + data.kind[i], i, cause, data.dur[i], 0, data.dur[i]);
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
	const { data } = timeline, href = (r) => `#${data.tag}span=${r.span}`;
	return makeTable([
		...numberColumns(rows, { average: true }),
		{
			title: "name", name: true, value: (r) => rowName(data, r),
			show: (r) => el("span", { title: rowName(data, r) }, swatch(rowColour(timeline, r)), el("a", { href: href(r) }, shortName(rowName(data, r)))),
		},
	], rows, { caption, rows: 12, sort: 1 });
}

function classTable(timeline, rows) {
	const { data } = timeline, sums = new Map();
	for (const r of rows) {
		const name = rowClass(data, r), sum = sums.get(name) ?? { ...r, name, count: 0, total: 0, self: 0 };
		sums.set(name, sum);
		for (const key of ["count", "total", "self"])
			sum[key] += r[key];
	}
	return makeTable([...numberColumns(rows, { average: false }),
		{ title: "class", value: (r) => r.name, show: (r) => el("span.nowrap", {}, swatch(rowColour(timeline, r)), r.name) },
	], [...sums.values()], { caption: "By class", rows: 12, sort: 1 });
}

// A time of lanes as tables.
function areaTables(timeline, [from, to], band, title) {
	const lanes = lanesIn(timeline, band), rows = sumByName(timeline, lanes, from, to);
	const work = rows.filter((r) => r.cause < 0), idle = rows.filter((r) => r.cause >= 0);
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
