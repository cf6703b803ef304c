// The same time of two runs side by side: what is in it, by class and by name.
import { classOf, lanesIn, sumByName } from "./area.js";
import { pairColumn, timeColumn } from "./columns.js";
import { spanName } from "./data.js";
import { el, swatch } from "./dom.js";
import { formatTime, shortName } from "./format.js";
import { COLOURS } from "./palette.js";
import { makeTable } from "./tables.js";

// Sums of both runs by a key of their rows: { key, span, side, by: [ns, ns], counts }.
function pairs(timelines, sums, keyOf) {
	const out = new Map();
	sums.forEach((rows, side) => {
		for (const r of rows) {
			const key = keyOf(timelines[side].data, r.span);
			if (!out.has(key))
				out.set(key, { key, span: r.span, side, by: [0, 0], counts: [0, 0] });
			const pair = out.get(key);
			pair.by[side] += r.total;
			pair.counts[side] += r.count;
		}
	});
	return [...out.values()];
}

function pairTable(timelines, rows, title, show) {
	const change = (r) => r.by[1] - r.by[0];
	return makeTable([
		timeColumn("change", change, { value: (r) => Math.abs(change(r)), show: (r) => `${change(r) > 0 ? "+" : ""}${formatTime(change(r))}` }),
		timeColumn("before", (r) => r.by[0] || null),
		timeColumn("after", (r) => r.by[1] || null),
		...(title === "class" ? [] : [pairColumn("events", (r) => r.counts[0], (r) => r.counts[1])]), // names of classes want the room
		{ title, name: true, value: (r) => r.key, show: (r) => el("span", { title: r.key }, swatch(COLOURS[timelines[r.side].colour[r.span]]), show(r)) },
	], rows, { caption: `By ${title}, largest change first`, rows: 12, sort: 0 });
}

// times: [from, to] of each run; lanes: of each.
export function pairPanel(timelines, times, lanes, title) {
	const sums = timelines.map((t, i) => sumByName(t, lanes[i], ...times[i]));
	const link = (r) => el("a", { href: `#${timelines[r.side].data.tag}span=${r.span}` }, shortName(r.key));
	return el("div.area", {}, el("h3.name", {}, title),
		el("div.columns", {}, pairTable(timelines, pairs(timelines, sums, spanName), "name", link), pairTable(timelines, pairs(timelines, sums, classOf), "class", (r) => r.key)));
}

// Two usual steps of each, on the GPU.
export function steadyPair(timelines) {
	const lanes = timelines.map((t) => t.groups.filter((g) => g.kind === "gpu" || g.kind === "gap").flatMap((g) => g.lanes));
	const steady = timelines.map((t) => t.steadyTime()), times = steady.map((s, i) => s ? [s[0], s[0] + s[1]] : [0, timelines[i].data.length_ns]);
	return el("div", {}, el("p.muted.hint-only", {}, "Click an event for its details; drag over lanes for what both runs do in that time."),
		pairPanel(timelines, times, lanes, `What the GPU ran during ${steady.every(Boolean) ? "usual steps" : "the runs"}: ${times.map(([from, to]) => formatTime(to - from)).join(" → ")}`));
}

// The area selected on one, and the same time after the start of the steady steps on the other.
export function areaPair(timelines, t) {
	const [from, to] = [...t.measure].sort((a, b) => a - b), start = (o) => o.steadyTime()?.[0] ?? 0;
	const kinds = new Set(t.shown.filter((g) => !t.band || g.y < t.band[1] && g.y + g.height > t.band[0]).map((g) => g.kind));
	const lanes = timelines.map((o) => o === t ? lanesIn(t, t.band) : o.groups.filter((g) => kinds.has(g.kind)).flatMap((g) => g.lanes));
	return pairPanel(timelines, timelines.map((o) => [from, to].map((at) => at - start(t) + start(o))), lanes, `${formatTime(to - from)} of both runs, from ${formatTime(from - start(t))} after the start of the usual steps`);
}
