// What is known of the selected span, with links to what it came from and what came of it.
import { chainArrows, chainList, waitsOf } from "./chains.js";
import { copyButton } from "./copy.js";
import { endsAfter, spanName } from "./data.js";
import { el, elided } from "./dom.js";
import { extremes, formatBytes, formatCount, formatMoment, formatPercent, formatRate, formatTime, shortName } from "./format.js";
import { sameName } from "./neighbours.js";
import { lanesAround, spansAround } from "./nest.js";
import { onPath } from "./path.js";
import { stackText } from "./stacks.js";
import { factTable, factsText } from "./tables.js";

const MOST_LINKS = 20;

// data.tag tells the runs of a page with two apart.
export function spanLink(data, span, text) {
	const name = spanName(data, span);
	return el("a", { href: `#${data.tag}span=${span}`, title: name }, text ?? shortName(name));
}

const LISTED = 40;

// The same in a list, where a long name gives up its middle.
function listLink(data, span) {
	const name = shortName(spanName(data, span));
	return spanLink(data, span, name.length <= LISTED ? name : `${name.slice(0, LISTED / 2)}…${name.slice(1 - LISTED / 2)}`);
}

// GPU work of each launching call, made when first needed: the first of each span, and behind each the next of the same call.
function launchIndex(data) {
	if (!data.byLaunch) {
		const first = new Int32Array(data.start.length).fill(-1), next = new Int32Array(data.gpu.n).fill(-1);
		for (let i = data.gpu.n - 1; i >= 0; i--)
			if (data.gpu.launch[i] >= 0) {
				next[i] = first[data.gpu.launch[i]];
				first[data.gpu.launch[i]] = i;
			}
		data.byLaunch = { first, next };
	}
	return data.byLaunch;
}

function launchedBy(data, span) {
	const { first, next } = launchIndex(data), found = [];
	for (let i = first[span]; i >= 0; i = next[i])
		found.push(i);
	return found;
}

// Orderings a span takes part in, from the wait resolver.
function edgesOf(data, span) {
	const found = [], edge = data.edge;
	for (let i = 0; edge && i < edge.n && found.length < MOST_LINKS; i++) {
		if (edge.from_gpu[i] !== span && edge.to_gpu[i] !== span && edge.to_host[i] !== span)
			continue;
		const wait = edge.wait[i], record = wait >= 0 && data.wait ? data.wait.record_host[wait] : -1;
		found.push({
			from: edge.from_gpu[i], record, host: edge.to_host[i], to: edge.to_gpu[i],
			kind: (data.enums["edge.kind"]?.[edge.kind[i]] ?? "").replaceAll("_", " "),
		});
	}
	return found;
}

// Arrows of a selection: [from, to, kind]. "launch" goes from start to start, "order" from the end of what must end first to
// the start of what follows, "return" to the end of the call that waited, "record" from the call that recorded an event to the one that
// waits for it.
export function arrowsOf(data, span) {
	const arrows = [];
	if (span < 0)
		return arrows;
	if (span < data.gpu.n && data.gpu.launch[span] >= 0)
		arrows.push([data.gpu.launch[span], span, "launch"]);
	for (const work of launchedBy(data, span).slice(0, 200))
		arrows.push([span, work, "launch"]);
	for (const wait of waitsOf(data, span))
		arrows.push(...chainArrows(data, wait));
	for (const { from, record, host, to } of edgesOf(data, span)) {
		if (record >= 0 && host >= 0)
			arrows.push([record, host, "record"]);
		if (host >= 0 && to >= 0)
			arrows.push([host, to, "launch"]);
		if (from >= 0)
			arrows.push(to >= 0 ? [from, to, "order"] : [from, host, "return"]);
	}
	if (span >= data.first_gap && data.gap) {
		const gap = data.gapOfSpan[span - data.first_gap];
		if (data.gap.launch[gap] >= 0 && data.gap.gpu[gap] >= 0)
			arrows.push([data.gap.launch[gap], data.gap.gpu[gap], "launch"]);
	}
	const seen = new Map(arrows.filter(([from, to]) => from >= 0 && to >= 0).map((arrow) => [arrow.join(), arrow]));
	return [...seen.values()];
}

// GPU work launched by calls inside a host span, in order of launch; stops after a while for spans that hold everything.
const MOST_INSIDE = 3000;

function launchedInside(data, timeline, span) {
	const { start, dur } = data, end = start[span] + dur[span], found = [];
	for (const lane of lanesAround(data, timeline.laneOf(span)) ?? [])
		for (let i = endsAfter(data, start[span], lane.first, lane.last); i < lane.last && start[i] < end && found.length < MOST_INSIDE; i++)
			if (start[i] > start[span] || start[i] === start[span] && dur[i] <= dur[span])
				found.push(...launchedBy(data, i));
	return found.sort((a, b) => data.start[a] - data.start[b]);
}

const MOST_NAMES = 6;

// By name, most time first; a name leads to its first event.
function insideText(data, spans) {
	const names = new Map(), total = spans.reduce((sum, s) => sum + data.dur[s], 0);
	for (const s of spans) {
		const sum = names.get(data.name[s]) ?? { first: s, count: 0, time: 0 };
		names.set(data.name[s], sum);
		sum.count++;
		sum.time += data.dur[s];
	}
	const sorted = [...names.values()].sort((a, b) => b.time - a.time), rest = sorted.length - MOST_NAMES;
	return spans.length ? el("span", {}, `${spans.length >= MOST_INSIDE ? "more than " : ""}${formatCount(spans.length)} GPU event${spans.length > 1 ? "s" : ""}, ${formatTime(total)}: `,
		...sorted.slice(0, MOST_NAMES).flatMap(({ first, count }, i) => [i ? ", " : "", listLink(data, first), count > 1 ? ` × ${formatCount(count)}` : ""]), rest > 0 ? ` and ${formatCount(rest)} more names` : "") : null;
}

const list = (data, spans) => spans.length ? el("span", {}, ...spans.slice(0, MOST_LINKS).flatMap((s, i) =>
	[i ? ", " : "", listLink(data, s)]), spans.length > MOST_LINKS ? ` and ${formatCount(spans.length - MOST_LINKS)} more` : "") : null;

function stepFact(data, span) {
	const row = data.gpu_scope?.step?.[span] ?? -1, s = data.step;
	return row >= 0 && s ? el("a", { href: `#${data.tag}time=${s.ts[row]},${s.dur[row]}` }, String(s.number[row] >= 0 ? s.number[row] : row + 1)) : null;
}

// JSON of shapes without quotes and doubled brackets.
const plainShapes = (text) => text.replaceAll('"', "").replace(/^\[(.*)\]$/, "$1");

// The operator that caused GPU work: arguments, and what the call achieved beside what the device can do.
function operatorFacts(data, span) {
	const call = data.gpu_op?.call[span] ?? -1, c = data.op_call, s = data.op_shape;
	if (call < 0 || !c)
		return [];
	const shape = c.shape[call], busy = c.busy[call], host = c.host[call];
	const has = (v) => Number.isFinite(v) && v > 0;
	const name = shape >= 0 ? data.texts[s.name[shape]] : "";
	const rate = shape >= 0 && has(s.flops[shape]) && busy > 0 ? formatRate(s.flops[shape] / busy * 1e9) : "";
	const bound = shape >= 0 && s.bound[shape] ? `bound by ${data.enums.bound[s.bound[shape]]}` : "";
	const least = shape >= 0 && has(s.bound_ns[shape]) && busy > 0 ? `${formatTime(s.bound_ns[shape])} at best, ${formatPercent(s.bound_ns[shape], busy)} of that reached` : "";
	return [
		["operator", host >= 0 ? spanLink(data, host, name || undefined) : name || null],
		["shapes", shape >= 0 ? plainShapes(data.texts[s.dims[shape]]) : null],
		["types", shape >= 0 ? plainShapes(data.texts[s.types[shape]]) : null],
		["achieved", [rate, bound, least].filter(Boolean).join(", ")],
	];
}

const BINS = 40;

// Lengths of all spans of the name and kind of a span, rising.
function lengthsLike({ name, kind, dur }, span) {
	const id = name[span], what = kind[span];
	let n = 0;
	for (let i = 0; i < name.length; i++)
		n += name[i] === id && kind[i] === what && dur[i] > 0 ? 1 : 0;
	const out = new Float64Array(n);
	n = 0;
	for (let i = 0; i < name.length; i++)
		if (name[i] === id && kind[i] === what && dur[i] > 0)
			out[n++] = dur[i];
	return out.sort();
}

// The same on a scale of powers, this one marked.
function histogram(data, span) {
	const all = lengthsLike(data, span), { dur } = data;
	if (all.length < 3 || !data.name[span])
		return null;
	const low = Math.log(all[0]), range = Math.log(all.at(-1)) - low || 1, bin = (ns) => Math.min(BINS - 1, Math.floor((Math.log(ns) - low) / range * BINS));
	const counts = new Array(BINS).fill(0);
	for (let i = 0; i < all.length; i++)
		counts[bin(all[i])]++;
	const [, most] = extremes(counts), own = dur[span] > 0 ? bin(dur[span]) : -1, at = (q) => formatTime(all[Math.floor((all.length - 1) * q)]);
	return el("div.histogram", {},
		el("div.bins", { role: "img", "aria-label": `lengths of ${formatCount(all.length)} events of this name` }, ...counts.map((n, i) => el(i === own ? "i.own" : "i", {
			title: formatCount(n), style: { height: `${n ? 6 + 94 * n / most : 0}%` },
		}))),
		el("p.muted", {}, `${formatCount(all.length)} of this name: ${at(0)} shortest, ${at(0.5)} median, ${at(0.95)} 95 %, ${at(1)} longest`));
}

// Buttons to the events of the same name around this one.
function siblings(timeline) {
	const go = (text, title, step) => el("button", { type: "button", title, onclick: () => sameName(timeline, step) }, text);
	return [go("‹ previous", "one before of the same name (,)", -1), go("next ›", "next of the same name (.)", 1)];
}

function gpuFacts(data, span) {
	if (span >= data.gpu.n)
		return [];
	const g = data.gpu, three = (a) => [g[`${a}_x`][span], g[`${a}_y`][span], g[`${a}_z`][span]];
	const launch = g.launch[span], scope = data.gpu_scope?.scope[span] ?? -1;
	return [
		...operatorFacts(data, span),
		["step", stepFact(data, span)],
		["launched by", launch >= 0 ? el("span", {}, spanLink(data, launch), `, ${formatTime(data.start[span] - data.start[launch])} before`) : "no recorded call"],
		["scope", scope >= 0 ? [data.texts[data.scope.name[scope]], data.enums["gpu_scope.how"]?.[data.gpu_scope.how[span]]].filter(Boolean).join(": ") || null : null],
		["grid × block", g.grid_x[span] ? [`${three("grid").join("×")} × ${three("block").join("×")}`, g.regs[span] < 0xffff ? `${g.regs[span]} registers a thread` : "",
			g.shared[span] >= 0 && g.shared[span] < 0xffffffff ? `${formatBytes(g.shared[span])} shared` : ""].filter(Boolean).join(", ") : null],
		["bytes", g.bytes[span] >= 0 ? `${formatBytes(g.bytes[span])} (${(g.bytes[span] / Math.max(1, data.dur[span])).toFixed(2)} GB/s)` : null],
		["called from", stackText(data, g.stack?.[span] ?? -1)],
		["correlation", g.corr[span] ? String(g.corr[span]) : null],
		["graph", g.graph[span] ? String(g.graph[span]) : null],
	];
}

function gapFacts(data, span) {
	if (span < data.first_gap || !data.gap)
		return [];
	const gap = data.gapOfSpan[span - data.first_gap], g = data.gap;
	const parts = [];
	let where = -1, calls = -1, longest = 0;
	for (let i = 0; data.gap_part && i < data.gap_part.n; i++) {
		if (data.gap_part.gap[i] !== gap)
			continue;
		if (data.gap_part.stack[i] >= 0 && data.gap_part.dur[i] > longest)
			[where, calls, longest] = [data.gap_part.stack[i], data.look?.calls?.[data.gap_part.sample?.[i]] ?? -1, data.gap_part.dur[i]];
		parts.push(`${data.enums.cause[data.gap_part.cause[i]]} ${formatTime(data.gap_part.dur[i])}`);
	}
	return [
		["cause", data.enums.cause_text?.[g.cause[gap]] ?? null],
		["made of", parts.join(", ")],
		["the launching thread was at", stackText(data, where)],
		["in libraries", stackText(data, calls)],
		["ended by", g.gpu[gap] >= 0 ? spanLink(data, g.gpu[gap]) : null],
		["launched by", g.launch[gap] >= 0 ? spanLink(data, g.launch[gap]) : null],
		["meanwhile the launching thread ran", g.during[gap] >= 0 ? spanLink(data, g.during[gap]) : null],
		["waited behind", g.behind[gap] >= 0 ? spanLink(data, g.behind[gap]) : null],
	];
}

// Arguments as [name, text]; the input's own text where it is no JSON.
function argumentFacts(data, span) {
	const text = data.args ? data.texts[data.args[span]] : "";
	if (!text)
		return [];
	try {
		return Object.entries(JSON.parse(`{${text}}`)).map(([key, value]) =>
			[key, typeof value === "string" ? value : JSON.stringify(value)]);
	} catch {
		return [["arguments", text]];
	}
}

export function details(data, timeline, span) {
	const facts = factTable(factsOf(data, timeline, span)), given = factTable(argumentFacts(data, span));
	given.classList.add("given");
	const named = span < data.first_gap, name = spanName(data, span), short = named ? shortName(name) : name;
	return el("div.selection", {},
		el("div.head", {}, el("h3.name", { title: name }, elided(short, 60, short.length - 16)), ...(named ? siblings(timeline) : []),
			copyButton("Copy", "copy these facts as text", () => `${name}\n${factsText(facts)}\n${factsText(given)}`.trimEnd() + "\n")),
		short === name ? null : el("p.whole", { title: name }, name),
		facts,
		named ? histogram(data, span) : null,
		given,
		...waitsOf(data, span).map((wait) => chainList(data, wait)));
}

function factsOf(data, timeline, span) {
	const at = timeline.rowOf(span), start = data.start[span], dur = data.dur[span];
	const edges = edgesOf(data, span), host = span >= data.gpu.n && span < data.first_gap;
	return [
		["length", `${formatTime(dur)} (${formatCount(dur)} ns)`],
		["start", formatMoment(start, 6)],
		["kind", [data.enums["span.kind"][data.kind[span]], at?.group.rank, at?.group.title].filter(Boolean).join(" · ")],
		["on the critical path", onPath(data, span) ? formatTime(onPath(data, span)) : null],
		...gpuFacts(data, span),
		...gapFacts(data, span),
		["launched", host ? insideText(data, launchedInside(data, timeline, span)) : null],
		["inside", host ? list(data, spansAround(data, timeline.laneOf(span), span).reverse()) : null],
		...edges.map((e) => [`ordering: ${e.kind}`, el("span", {},
			...[e.from, e.record, e.host, e.to].filter((s) => s >= 0).flatMap((s, i) => [i ? " → " : "", spanLink(data, s)]))]),
	];
}
