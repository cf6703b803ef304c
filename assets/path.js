// The critical path: what the length of a step depends on, as a line over the lanes and as tables.
import { bar, legend } from "./bars.js";
import { countColumn, momentColumn, shareColumn, timeColumn } from "./columns.js";
import { markOf } from "./data.js";
import { el, section, swatch } from "./dom.js";
import { formatCount, formatMoment, formatPercent, formatTime, shortName, spaced } from "./format.js";
import { CLASS_COLOURS, causeColour } from "./palette.js";
import { css } from "./strip.js";
import { makeTable } from "./tables.js";

const classColour = (name) => name === "hand_off" ? "--other" : CLASS_COLOURS[{ communication: "exposed_comm", copy: "exposed_copy" }[name] ?? name] ?? causeColour(name);

const ABOVE = 2.5; // pixels above the lanes of a group

// Stretches with where they begin and the span they are of; null when the page does not carry them. A delay is time
// between work and what it waited for: no span is busy in it.
export function stretchesOf(data) {
	const p = data.path_stretch;
	if (!p || data.pathMade)
		return data.pathMade ?? null;
	const names = data.enums["path.class"], delay = names.map((name) => !/^(host_|hand_off$|compute$|comm|copy$)/.test(name));
	const start = new Float64Array(p.n + 1), span = new Float64Array(p.n), hit = new Uint8Array(data.start.length);
	start[0] = data.path_start;
	for (let i = 0; i < p.n; i++) {
		start[i + 1] = start[i] + p.dur[i];
		span[i] = /^(host_|hand_off$)/.test(names[p.class[i]]) || p.gpu[i] < 0 ? p.host[i] : p.gpu[i];
		if (span[i] >= 0 && !delay[p.class[i]])
			hit[span[i]] = 1;
	}
	return data.pathMade = { ...p, start, span, hit, name: (i) => names[p.class[i]], delayed: (i) => delay[p.class[i]] };
}

// Time of a span on the path.
export function onPath(data, span) {
	const p = stretchesOf(data);
	let sum = 0;
	for (let i = 0; p?.hit[span] && i < p.n; i++)
		if (p.span[i] === span && !p.delayed(i))
			sum += p.dur[i];
	return sum;
}

// First stretch that ends after t.
function stretchAt(p, t) {
	let from = 0, to = p.n;
	while (from < to) {
		const mid = (from + to) >> 1;
		if (p.start[mid + 1] > t)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

// Groups of lanes that the stretches belong to; of a thread the one of its calls stands for all.
function groupsOf(t, p) {
	const groupOf = new Map(t.groups.flatMap((g) => g.lanes.map((lane) => [lane, g])));
	const thread = new Map(["python", "range", "host"].flatMap((kind) => t.groups.filter((g) => g.kind === kind).map((g) => [g.lanes[0].track, g])));
	return Array.from(p.span, (span, i) => {
		const lane = span >= 0 ? t.laneOf(span) : null;
		return thread.get(lane?.track ?? p.track[i]) ?? groupOf.get(lane);
	});
}

// The line as [x, y, x, y, inferred]: level along a thread or stream, steps between them, slopes where work was held up.
function strokes(t, p, top) {
	const out = [], last = t.time(t.width), groups = t.pathGroups ??= groupsOf(t, p);
	let end = null, column = -1, low = 0, high = 0; // the stroke before; a step of this column from low to high
	for (let i = stretchAt(p, t.t0); i < p.n && p.start[i] < last; i++) {
		if (!groups[i]?.rows.length)
			continue; // not shown
		const y = groups[i].y - ABOVE - top, from = t.x(p.start[i]), to = t.x(p.start[i + 1]), inferred = p.inferred[i] > 0;
		if (end && end[1] === end[3] && end[3] === y && end[4] === inferred) {
			end[2] = to;
			continue;
		}
		const before = end ? end[3] : y;
		if (Math.round(from) !== column)
			[column, low, high] = [Math.round(from), before, before];
		if (p.delayed(i))
			out.push([from, before, to, y, inferred]);
		else if (y < low || y > high)
			out.push([from, before, from, y, inferred]);
		[low, high] = [Math.min(low, y), Math.max(high, y)];
		out.push(end = [p.delayed(i) ? to : from, y, to, y, inferred]);
	}
	return out;
}

const CLOSE = 6; // pixels between steps from lane to lane

// Steps so close to each other that they would make a block; they are drawn fainter.
function closeSteps(lines) {
	const out = new Set();
	let last = null;
	for (const line of lines) {
		if (line[1] === line[3])
			continue;
		if (last && line[0] - last[0] < CLOSE)
			out.add(last).add(line);
		last = line;
	}
	return out;
}

function strokeLines(ctx, lines, width, colour, dash) {
	ctx.lineWidth = width;
	ctx.strokeStyle = colour;
	ctx.setLineDash(dash);
	ctx.beginPath();
	for (const [x0, y0, x1, y1] of lines) {
		ctx.moveTo(x0, y0);
		ctx.lineTo(x1, y1);
	}
	ctx.stroke();
	ctx.setLineDash([]);
}

// The line over the lanes: dark on a light rim, dashed where a dependency is inferred.
export function drawPath(t, ctx, top) {
	const lines = strokes(t, stretchesOf(t.data), top), close = closeSteps(lines), clear = lines.filter((line) => !close.has(line));
	strokeLines(ctx, [...close], 1, css(t.ink, 0.4), []);
	for (const [width, colour] of [[6, css(t.ground, 0.85)], [3, css(t.ink)]]) {
		strokeLines(ctx, clear.filter((line) => !line[4]), width, colour, []);
		strokeLines(ctx, clear.filter((line) => line[4]), width, colour, [5, 3]);
	}
}

// Switch the line on or off; its step comes into view when none of it is.
export function togglePath(t, on = !t.path) {
	const p = stretchesOf(t.data);
	t.path = on && p ? markOf(t.data, p.hit) : null;
	if (t.path && (p.start[p.n] < t.time(0) || p.start[0] > t.time(t.width))) {
		const length = p.start[p.n] - p.start[0];
		t.show(p.start[0] - length * 0.02, length * 1.04);
	}
	t.onpath();
	t.dirty();
	t.onchange();
}

function stretchTable(data, p) {
	const href = (i) => `#${data.tag}span=${p.span[i]}`, at = (i) => p.start[i] - p.start[0];
	const what = (i) => p.span[i] < 0 ? p.name(i) === "hand_off" ? "from another thread" : "(nothing recorded)" : shortName(data.texts[data.name[p.span[i]]] || "(no name)");
	const where = (i) => {
		const track = data.tracks[p.track[i]];
		return !track ? "" : track.kind === "stream" ? `GPU ${track.pid} stream ${track.tid}` : `thread ${track.tid}`;
	};
	return makeTable([
		timeColumn("length", (i) => p.dur[i]),
		momentColumn("at", at, { show: (i) => el("a", { href: `#${data.tag}time=${p.start[i]},${p.dur[i]}` }, formatMoment(at(i))) }),
		{ title: "class", value: (i) => p.name(i), show: (i) => el("span.nowrap", {}, swatch(classColour(p.name(i))), spaced(p.name(i)), p.inferred[i] ? " (inferred)" : "") },
		{ title: "where", value: where, show: where },
		{ title: "what", name: true, value: what, show: (i) => p.span[i] < 0 ? what(i) : el("a", { href: href(i), title: data.texts[data.name[p.span[i]]] }, what(i)) },
	], Array.from({ length: p.n }, (_, i) => i), { caption: `All ${formatCount(p.n)} stretches, longest first; "at" counts from the start of the path`, rows: 15, sort: 0, search: "Filter stretches" });
}

function sumTable(rows, whole, caption) {
	return !rows.length ? null : makeTable([
		timeColumn("on the path", (r) => r.path_ns),
		shareColumn("share", (r) => r.path_ns, whole),
		countColumn("stretches", (r) => r.count),
		{ title: "name", name: true, value: (r) => r.name, show: (r) => el("span", { title: r.name }, shortName(r.name)) },
	], rows, { caption, rows: 10, sort: 0 });
}

// The tab: figures as `assay path` prints them.
export function pathSection(data, show) {
	const { path } = data, p = stretchesOf(data);
	if (!path)
		return null;
	const whole = path.measured_ns, classes = Object.entries(path.classes_ns).filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]);
	return section("path", "Critical path",
		el("p", {}, el("b", {}, `${path.summary[0].toUpperCase()}${path.summary.slice(1)}.`), " ",
			p ? el("button", { type: "button", onclick: show }, "Show it on the timeline")
				: `Its ${formatCount(data.path_stretches)} stretches are too many for this page; "assay path --json" has them.`),
		legend(classes.map(([name]) => [classColour(name), spaced(name)])),
		bar(classes.map(([name, ns]) => [ns / whole, classColour(name), `${spaced(name)} ${formatPercent(ns, whole)}`])),
		makeTable([
			{ title: "class", value: ([name]) => name, show: ([name]) => el("span.nowrap", {}, swatch(classColour(name)), spaced(name)) },
			timeColumn("on the path", ([, ns]) => ns),
			shareColumn("share", ([, ns]) => ns, whole),
		], classes, { caption: `The classes sum to ${formatTime(whole)}`, sort: 1 }),
		p ? stretchTable(data, p) : null,
		sumTable(path.kernels, whole, "Kernels on the path"),
		sumTable(path.scopes, whole, "Scopes on the path, with what is inside them"),
		el("p.muted", {}, `Replayed with nothing changed it takes ${formatTime(path.replay.step_ns)} (${path.replay.error_pct.toFixed(2)} % off): ${formatCount(path.replay.dependencies)} dependencies, ${formatCount(path.replay.inferred_hand_offs + path.replay.inferred_waits)} of them inferred.`));
}
