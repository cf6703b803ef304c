// The same time of two runs side by side: what is in it, by class and by name.
import { lanesIn, rowClass, rowColour, rowName, sumByName } from "./area.js";
import { pairColumn, timeColumn } from "./columns.js";
import { el, swatch } from "./dom.js";
import { formatCount, formatMean, formatTime, shortName } from "./format.js";
import { countedTime } from "./steady.js";
import { makeTable } from "./tables.js";

// Sums of both runs by a key of their rows, each divided by its steps: { key, span, side, by: [ns, ns], counts }.
function pairs(timelines, sums, keyOf, steps = [1, 1]) {
	const out = new Map();
	sums.forEach((rows, side) => {
		for (const r of rows) {
			const key = keyOf(timelines[side].data, r);
			if (!out.has(key))
				out.set(key, { key, span: r.span, cause: r.cause, side, by: [0, 0], counts: [0, 0] });
			const pair = out.get(key);
			pair.by[side] += r.total / steps[side];
			pair.counts[side] += r.count / steps[side];
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
		...(title === "class" ? [] : [pairColumn("events", (r) => r.counts[0], (r) => r.counts[1], formatMean, { spare: true })]), // names of classes want the room
		{ title, name: true, value: (r) => r.key, show: (r) => el("span", { title: r.key }, swatch(rowColour(timelines[r.side], r)), show(r)) },
	], rows, { caption: `By ${title}, largest change first`, rows: 12, sort: 0 });
}

// times: [from, to] of each run; lanes: of each; steps: how many each has in its time, 1 for the time itself.
function pairPanel(timelines, times, lanes, title, steps) {
	const sums = timelines.map((t, i) => sumByName(t, lanes[i], ...times[i])), by = (key) => pairs(timelines, sums, key, steps);
	const link = (r) => el("a", { href: `#${timelines[r.side].data.tag}span=${r.span}` }, shortName(r.key));
	return el("div.area", {}, el("h3.name", {}, title),
		el("div.columns", {}, pairTable(timelines, by(rowName), "name", link), pairTable(timelines, by(rowClass), "class", (r) => r.key)));
}

// Work and idle time of the device whose steps count, as the tables of changes have them.
function mainLanes({ groups, data }) {
	const device = data.report.devices[data.steady?.device[0]];
	return groups.filter((g) => (g.kind === "gpu" || g.kind === "gap") && (!device || g.track.source === device.source && g.track.pid === device.device)).flatMap((g) => g.lanes);
}

// A step of each on the GPU, the mean of those that count.
export function steadyPair(timelines) {
	const counted = timelines.map((t) => countedTime(t.data)), stepped = counted.every(([from]) => Number.isFinite(from));
	const times = timelines.map((t, i) => stepped ? counted[i].slice(0, 2) : [0, t.data.length_ns]), steps = counted.map(([, , n]) => stepped ? n : 1);
	const lengths = times.map(([from, to], i) => formatTime((to - from) / steps[i])).join(" → ");
	return el("div", {}, el("p.muted.hint-only", {}, "Click an event for its details; drag over lanes for what both runs do in that time."),
		pairPanel(timelines, times, timelines.map(mainLanes), stepped ? `A step on the GPU: ${lengths}, the mean of ${steps.map(formatCount).join(" and ")}` : `What the GPU ran during the runs: ${lengths}`, steps));
}

// The area selected on one, and the same time after the start of the steady steps on the other.
export function areaPair(timelines, t) {
	const [from, to] = [...t.measure].sort((a, b) => a - b), start = (o) => o.steadyTime()?.[0] ?? 0;
	const kinds = new Set(t.shown.filter((g) => !t.band || g.y < t.band[1] && g.y + g.height > t.band[0]).map((g) => g.kind));
	const lanes = timelines.map((o) => o === t ? lanesIn(t, t.band) : o.groups.filter((g) => kinds.has(g.kind)).flatMap((g) => g.lanes));
	return pairPanel(timelines, timelines.map((o) => [from, to].map((at) => at - start(t) + start(o))), lanes, `${formatTime(to - from)} of both runs, from ${formatTime(from - start(t))} after the start of the usual steps`);
}
