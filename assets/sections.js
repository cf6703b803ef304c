// The parts of the page other than the timeline, in order. A part whose table the run does not have is null.
import { listed, ranksInFull, sourceName } from "./data.js";
import { spanLink } from "./details.js";
import { el, folded, hatched, section, swatch } from "./dom.js";
import { commands } from "./environment.js";
import { extremes, formatBytes, formatCount, formatNumber, formatPercent, formatTime, runTitle, shortName } from "./format.js";
import { CLASS_COLOURS, causeColour, familyColour } from "./palette.js";
import { rankMatrix } from "./matrix.js";
import { lineText } from "./stacks.js";
import { factTable, makeTable } from "./tables.js";
import { seriesTitle, seriesValue } from "./series.js";

export const PARTS = [["compute", "compute"], ["exposed_comm", "exposed communication"], ["exposed_copy", "exposed copies"], ["idle", "idle"]];

const rowsOf = (table) => Array.from({ length: table.n }, (_, i) => i);
const enumText = (data, list, value) => (data.enums[list]?.[value] ?? String(value)).replaceAll("_", " ");
const metricOf = (data, name) => data.report.metrics.find((m) => m.name === name);
const known = (m) => m && m.state !== "unknown" && m.value !== null;
const marked = (m) => m?.state === "estimated" ? "≈ " : "";

function tile(title, value, about) {
	return value === null ? null : el("div.tile", { title: about || false }, el("dt", {}, title), el("dd", {}, value));
}

// Step time as a tile, and the shortest to the longest one.
function stepTiles(data) {
	const [m, low, high] = ["step_seconds", "step_seconds_min", "step_seconds_max"].map((name) => metricOf(data, name));
	const text = (x) => `${marked(x)}${formatTime(x.value * 1e9)}`;
	return [
		tile(m?.how?.includes("median") ? "step time, median" : "step time", known(m) ? text(m) : "unknown", m?.how),
		known(low) && known(high) && low.value < high.value ? tile("spread", `${text(low)} to ${text(high)}`, high.how) : null,
	];
}

function whenText(data) {
	if (!data.epoch)
		return "the input does not say when";
	const ms = Number(BigInt(data.origin_ns) / 1000000n);
	return new Date(ms).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC");
}

// How many of each kind: the most that one input names and used, since two inputs may mean the same device.
function gpuText(data) {
	const most = new Map(), own = new Map();
	for (const d of data.devices) {
		const name = d.name || d.arch, key = `${d.source} ${name}`;
		own.set(key, (own.get(key) ?? 0) + 1);
		most.set(name, Math.max(most.get(name) ?? 0, own.get(key)));
	}
	const bySource = new Map();
	for (const { source } of data.report.devices)
		bySource.set(source, (bySource.get(source) ?? 0) + 1);
	const used = Math.max(0, ...bySource.values());
	return [...most].map(([name, all]) => [name, most.size === 1 && used ? Math.min(all, used) : all]).map(([name, n]) => n > 1 ? `${n} × ${name}` : name).join(", ") || null;
}

// [title, value] of how many took part, null for one.
function partners(data) {
	const sources = new Set(data.report.devices.map((d) => d.source));
	const ranked = data.sources.filter((s) => s.rank >= 0), world = Math.max(0, ...ranked.map((s) => s.world));
	if (sources.size < 2)
		return null;
	const n = formatCount(sources.size);
	return ranked.length > 1 ? ["ranks", world > ranked.length ? `${formatCount(ranked.length)} of ${formatCount(world)}` : n] : ["processes", n];
}

// Said wherever the events of a few ranks stand for a job.
export function ranksNote(data) {
	const full = ranksInFull(data);
	return full ? el("p.muted", {}, `Of ${listed(full)}, whose events are on this page.`) : null;
}

// Rows of budget that sum to the window; the others are parts of them, or no time.
function buckets(data) {
	const b = data.budget;
	return rowsOf(b).filter((i) => data.texts[b.unit[i]] === "ns" && b.state[i] > 0 && data.texts[b.name[i]] !== "total" && !b.part_of[i]);
}

// One bar of the steady step: buckets of the budget, else the parts of the device's time.
function stepBar(data) {
	const b = data.budget;
	if (b) {
		const times = buckets(data);
		const total = times.reduce((sum, i) => sum + Math.max(0, b.value[i]), 0);
		return bar(times.map((i) => [b.value[i] / (total || 1), bucketColour(data, i), `${data.texts[b.name[i]].replaceAll("_", " ")} ${formatTime(b.value[i])}`]), "bar.step-bar");
	}
	const d = data.report.devices[0];
	return d ? bar(PARTS.map(([key, title]) => [d[`${key}_ns`] / (d.span_ns || 1), CLASS_COLOURS[key], `${title} ${formatPercent(d[`${key}_ns`], d.span_ns)}`]), "bar.step-bar") : null;
}

export function versionsOf(data) {
	return ["pytorch_version", "cuda_version", "rocm_version"].map((n) => metricOf(data, n)).filter(known)
		.map((m) => `${{ pytorch_version: "PyTorch", cuda_version: "CUDA", rocm_version: "ROCm" }[m.name]} ${m.value}`);
}

// Two lines: what ran, and how a step went.
export function header(data, ...buttons) {
	const figure = (name, title, show) => {
		const m = metricOf(data, name);
		return known(m) ? tile(title, marked(m) + show(m.value), m.how) : null;
	};
	const steps = metricOf(data, "steps"), several = partners(data);
	return el("header", {},
		el("div.line", {}, el("h1", {}, runTitle(data)),
			el("div.ran", {}, ...commands(data), el("p.muted", {}, [whenText(data), ...versionsOf(data)].filter(Boolean).join(" · "))), ...buttons),
		el("div.line", {}, el("dl.tiles", {},
			tile("GPU", gpuText(data)),
			several ? tile(...several) : null,
			tile("steps", known(steps) ? formatCount(steps.value) : "unknown", steps?.how),
			...stepTiles(data),
			figure("gpu_util_pct", "GPU busy", (v) => `${v.toFixed(1)} %`),
			figure("mfu_pct", "MFU", (v) => `${v.toFixed(1)} %`),
			figure("tokens_per_sec", "tokens a second", formatNumber),
			figure("power_watts", "power", (v) => `${v.toFixed(0)} W`),
			figure("hbm_peak_gb", "memory peak", (v) => `${v.toFixed(2)} GiB`)), stepBar(data)));
}

// Of a job of many ranks: what is of all and what is of a few.
export function inFullNote(data) {
	const full = ranksInFull(data);
	return full ? el("p.muted", {}, `${formatCount(data.sources.length)} inputs. Time of each device, causes of idle time, kernels, ranks and collectives are of all of them; steps, timeline, gaps, waits and scopes of ${listed(full)}.`) : null;
}

// A stacked bar: parts as [share 0..1, colour, title].
export function bar(parts, className = "bar") {
	return el(`div.${className}`, { "aria-hidden": "true" }, ...parts.filter(([share]) => share > 0).map(([share, colour, title]) =>
		el("div", { title, style: { width: `${100 * share}%`, background: `var(${colour})` } },
			share > 0.07 ? el("span", {}, title) : null)));
}

export const legend = (items) => el("ul.legend", {}, ...items.map(([colour, text]) => el("li", {}, swatch(colour), text)));

function deviceName(data, d) {
	const device = data.report.devices[d];
	const many = data.report.devices.length > 1;
	return (device.rank !== null || many && data.sources.length > 1 ? `${sourceName(data, device.source)}, ` : "") +
		(device.device >= 0 ? `GPU ${device.device}` : "unnamed GPU");
}

// More of anything than this is a table only.
const MANY = 16;

// Devices as [title, times], those that have a bar of their own: of many only those whose events the page has.
function deviceBars(data, list) {
	const bars = list.map((d, i) => [deviceName(data, i), d]);
	if (list.length <= MANY)
		return bars;
	const sum = { span_ns: 0 };
	for (const key of ["span", ...PARTS.map(([part]) => part)])
		sum[`${key}_ns`] = list.reduce((total, d) => total + d[`${key}_ns`], 0);
	const shown = bars.filter(([, d]) => data.report.inputs[d.source]?.in_full ?? true).slice(0, MANY);
	return [[`all ${formatCount(list.length)} devices`, sum], ...shown];
}

export function devices(data) {
	const list = data.report.devices;
	if (!list.length)
		return section("devices", "Where the time went", el("p", {}, "No GPU work in this input."));
	const part = (d, key) => d[`${key}_ns`];
	return section("devices", "Where the time went",
		legend(PARTS.map(([key, title]) => [CLASS_COLOURS[key], title])),
		...deviceBars(data, list).map(([name, d]) => el("div.device", {}, el("div.device-name", {}, name, el("small", {}, ` ${formatTime(d.span_ns)}`)),
			bar(PARTS.map(([key, title]) => [part(d, key) / (d.span_ns || 1), CLASS_COLOURS[key],
				`${title} ${formatPercent(part(d, key), d.span_ns)}`])))),
		makeTable([
			{ title: "device", value: (r) => r.i, show: (r) => deviceName(data, r.i) },
			{ title: "span", number: true, value: (r) => r.d.span_ns, show: (r) => formatTime(r.d.span_ns) },
			...PARTS.map(([key, title]) => ({
				title, number: true, value: (r) => part(r.d, key),
				show: (r) => `${formatTime(part(r.d, key))}  ${formatPercent(part(r.d, key), r.d.span_ns)}`,
			})),
			{ title: "GPU events", number: true, value: (r) => r.d.events, show: (r) => formatCount(r.d.events) },
			{ title: "gaps", number: true, value: (r) => r.d.gaps, show: (r) => formatCount(r.d.gaps) },
		], list.map((d, i) => ({ d, i })).sort((a, b) => a.d.rank - b.d.rank || a.i - b.i), {
			caption: "Time of each device: the four parts sum to its span exactly", ...(list.length > MANY ? { search: "Filter devices" } : {}),
		}));
}

function stepTitle(data, row) {
	const number = data.step.number[row];
	return number >= 0 ? `step ${number}` : `step ${row + 1}`;
}

// One bar a step, as long as the step is.
function stepStrip(data) {
	const s = data.step_time, [, longest] = extremes(s.span);
	return el("div.steps", {}, ...Array.from({ length: Math.min(s.n, 400) }, (_, i) =>
		el("a.step", {
			href: `#time=${s.start[i]},${s.span[i]}`, title: `${stepTitle(data, s.step[i])}, ${deviceName(data, s.device[i])}: ${formatTime(s.span[i])}`,
			style: { height: `${8 + 72 * s.span[i] / longest}px` },
		}, ...PARTS.map(([key]) => el("i", { style: { height: `${100 * s[key][i] / (s.span[i] || 1)}%`, background: `var(${CLASS_COLOURS[key]})` } })))));
}

export function steps(data) {
	if (data.step_time) {
		const s = data.step_time;
		return section("steps", "Step by step", ranksNote(data), stepStrip(data), makeTable([
			{ title: "step", value: (i) => i, show: (i) => el("a", { href: `#time=${s.start[i]},${s.span[i]}` }, stepTitle(data, s.step[i])) },
			{ title: "device", value: (i) => s.device[i], show: (i) => deviceName(data, s.device[i]) },
			{ title: "span", number: true, value: (i) => s.span[i], show: (i) => formatTime(s.span[i]) },
			...PARTS.map(([key, title]) => ({
				title, number: true, value: (i) => s[key][i], show: (i) => `${formatTime(s[key][i])}  ${formatPercent(s[key][i], s.span[i])}`,
			})),
			{ title: "GPU events", number: true, value: (i) => s.events[i], show: (i) => formatCount(s.events[i]) },
		], rowsOf(s), { caption: "Work launched in each step, on each device", rows: 10 }));
	}
	const s = data.step;
	if (!s)
		return null;
	const [, longest] = extremes(s.dur);
	return section("steps", "Step by step",
		el("div.steps", {}, ...Array.from({ length: Math.min(s.n, 400) }, (_, i) => el("a.step", {
			href: `#time=${s.ts[i]},${s.dur[i]}`, title: `${stepTitle(data, i)}: ${formatTime(s.dur[i])}`,
			style: { height: `${8 + 72 * s.dur[i] / longest}px` },
		}, el("i", { style: { height: "100%", background: "var(--accent)" } })))),
		makeTable([
			{ title: "step", value: (i) => i, show: (i) => el("a", { href: `#time=${s.ts[i]},${s.dur[i]}` }, stepTitle(data, i)) },
			{ title: "from", name: true, value: (i) => s.source[i], show: (i) => data.sources[s.source[i]]?.path ?? "" },
			{ title: "length", number: true, value: (i) => s.dur[i], show: (i) => formatTime(s.dur[i]) },
		], rowsOf(s), { caption: "Step markers on the host", rows: 10 }));
}

const LATE = ["", "compute", "data", "host", "copy", "elsewhere"];

function rankTable(data) {
	const r = data.rank;
	return !r ? null : makeTable([
		{ title: "rank", value: (i) => r.rank[i], show: (i) => sourceName(data, r.source[i]) },
		{ title: "shared collectives", number: true, value: (i) => r.matched[i], show: (i) => formatCount(r.matched[i]) },
		{ title: "came last", number: true, value: (i) => r.last[i], show: (i) => `${formatCount(r.last[i])}  ${formatPercent(r.last[i], r.matched[i])}` },
		{ title: "waited for others", number: true, value: (i) => r.waited[i], show: (i) => formatTime(r.waited[i]) },
		{ title: "made others wait", number: true, value: (i) => r.caused[i], show: (i) => formatTime(r.caused[i]) },
		{ title: "transfer", number: true, value: (i) => r.transfer[i], show: (i) => formatTime(r.transfer[i]) },
		{ title: "clock ahead", minor: true, number: true, value: (i) => r.offset[i], show: (i) => formatTime(r.offset[i]) },
		{ title: "late by", value: (i) => r.excess[i], show: (i) => LATE[r.why[i]] + (r.excess[i] ? ` +${formatTime(r.excess[i])}` : "") },
		{ title: "host", value: (i) => data.texts[r.host[i]], show: (i) => data.texts[r.host[i]] },
	], rowsOf(r).sort((a, b) => r.rank[a] - r.rank[b]), {
		caption: "Ranks, by the collectives they share",
		...(rowsOf(r).length > MANY ? { sort: 4, search: "Filter ranks and hosts" } : {}),
	});
}

function collectiveTable(data) {
	const c = data.collective;
	return !c ? null : makeTable([
		{ title: "collective", value: (i) => data.texts[c.name[i]], show: (i) => data.texts[c.name[i]] },
		{ title: "group", value: (i) => data.texts[c.group[i]], show: (i) => data.texts[c.group[i]] },
		{ title: "ranks", number: true, value: (i) => c.size[i], show: (i) => c.size[i] >= 0 ? String(c.size[i]) : "" },
		{ title: "message", number: true, value: (i) => c.bytes[i], show: (i) => c.bytes[i] >= 0 ? el("span", { title: `${formatCount(c.bytes[i])} B` }, formatBytes(c.bytes[i])) : "unknown" },
		{ title: "calls", number: true, value: (i) => c.count[i], show: (i) => formatCount(c.count[i]) },
		{ title: "latency", number: true, value: (i) => c.latency[i], show: (i) => formatTime(c.latency[i]) },
		{ title: "skew", number: true, value: (i) => c.skew[i], show: (i) => c.matched[i] ? formatTime(c.skew[i]) : "" },
		{ title: "largest skew", minor: true, number: true, value: (i) => c.max_skew[i], show: (i) => c.matched[i] ? formatTime(c.max_skew[i]) : "" },
		{ title: "algorithm GiB/s", number: true, value: (i) => c.algo_bw[i], show: (i) => c.algo_bw[i] ? c.algo_bw[i].toFixed(1) : "" },
		{ title: "bus GiB/s", number: true, value: (i) => c.bus_bw[i], show: (i) => c.bus_bw[i] ? c.bus_bw[i].toFixed(1) : "" },
	], rowsOf(c), { caption: "Collectives by group and size", search: "Filter collectives" });
}

export function ranks(data) {
	const parts = [rankMatrix(data), rankTable(data), collectiveTable(data)].filter(Boolean);
	return parts.length ? section("ranks", "Ranks and collectives", ...parts) : null;
}

const BUCKET_COLOURS = {
	useful_gpu: "--compute", comm_excess: "--comm", exposed_copy: "--copy", data_wait: "--embedding",
	host_gap: "--optimizer", device_wait: "--cause-queued", unexplained: "--idle",
};

const bucketColour = (data, i) => BUCKET_COLOURS[data.texts[data.budget.name[i]]] ?? "--other";

export function budget(data) {
	const b = data.budget;
	if (b) {
		const times = buckets(data);
		const total = times.reduce((sum, i) => sum + Math.max(0, b.value[i]), 0), stepped = known(metricOf(data, "steps"));
		const colour = (i) => bucketColour(data, i);
		const name = (i) => data.texts[b.name[i]].replaceAll("_", " ");
		return section("budget", "Waste budget",
			legend(times.map((i) => [colour(i), name(i)])),
			bar(times.map((i) => [b.value[i] / (total || 1), colour(i), `${name(i)} ${formatPercent(b.value[i], total)}`])),
			makeTable([
				{ title: "bucket", value: (i) => i, show: (i) => el("span.nowrap", {}, times.includes(i) ? swatch(colour(i)) : null, name(i)) },
				{ title: stepped ? "per step" : "time", number: true, value: (i) => b.value[i], show: (i) => !b.state[i] ? "unknown" : data.texts[b.unit[i]] === "ns" ? formatTime(b.value[i]) : `${formatNumber(b.value[i])} ${data.texts[b.unit[i]]}` },
				{ title: "share", number: true, value: (i) => b.value[i], show: (i) => times.includes(i) ? formatPercent(b.value[i], total) : "" },
				{ title: "coverage", number: true, value: (i) => b.coverage[i], show: (i) => el("span", {}, el("meter", { min: 0, max: 1, value: b.coverage[i] }), ` ${Math.round(100 * b.coverage[i])} %`) },
				{ title: "state", minor: true, value: (i) => b.state[i], show: (i) => data.enums.state[b.state[i]] },
				{ title: "measured from", minor: true, number: true, value: (i) => b.evidence[i], show: (i) => b.evidence[i] ? formatCount(b.evidence[i]) : "" },
				{ title: "longest", value: (i) => b.gap[i], show: (i) => b.gap[i] >= 0 && data.spanOfGap ? el("a", { href: `#span=${data.spanOfGap[b.gap[i]]}` }, "show it") : "" },
				{ title: "how", words: true, value: (i) => data.texts[b.how[i]], show: (i) => data.texts[b.how[i]] },
			], rowsOf(b), { caption: stepped ? "Where a step's time went" : "Where the time of the whole recording went: it marks no steps" }));
	}
	const budget = data.report.run_metrics.waste_budget;
	if (budget.total === null)
		return null;
	const rows = [["useful_gpu", "useful GPU", "--compute"], ["comm_excess", "exposed communication", "--comm"],
		["exposed_copy", "exposed copies", "--copy"], ["host_gap", "GPU idle", "--idle"]];
	return section("budget", "Waste budget",
		bar(rows.map(([key, title, colour]) => [budget[key] / budget.total, colour, `${title} ${formatPercent(budget[key], budget.total)}`])),
		makeTable([
			{ title: "bucket", value: (r) => r[1], show: (r) => el("span", {}, swatch(r[2]), r[1]) },
			{ title: "per step", number: true, value: (r) => budget[r[0]], show: (r) => formatTime(budget[r[0]] * 1e9) },
			{ title: "share", number: true, value: (r) => budget[r[0]], show: (r) => formatPercent(budget[r[0]], budget.total) },
		], rows, { caption: `Seconds a step: total ${formatTime(budget.total * 1e9)}` }));
}

export function kernels(data, onsearch) {
	const k = data.kernel;
	if (!k)
		return null;
	const kinds = data.enums["kernel.kind"];
	const rows = rowsOf(k);
	const only = rows.filter((i) => kinds[k.kind[i]] === "kernel");
	const total = only.reduce((sum, i) => sum + k.total[i], 0);
	const families = data.report.kernel_families;
	const familyTotal = families.reduce((sum, f) => sum + f.total_ns, 0);
	const sorted = [...families].sort((a, b) => b.total_ns - a.total_ns);
	return section("kernels", "Kernels",
		legend(sorted.map((f) => [familyColour(data, f.family), f.family])),
		bar(sorted.map((f) => [f.total_ns / (familyTotal || 1), familyColour(data, f.family), `${f.family} ${f.pct.toFixed(1)} %`])),
		makeTable([
			{ title: "family", value: (f) => f.family, show: (f) => el("span", {}, swatch(familyColour(data, f.family)), f.family) },
			{ title: "total", number: true, value: (f) => f.total_ns, show: (f) => formatTime(f.total_ns) },
			{ title: "share", number: true, value: (f) => f.pct, show: (f) => `${f.pct.toFixed(1)} %` },
			{ title: "launches", number: true, value: (f) => f.count, show: (f) => formatCount(f.count) },
		], sorted, { caption: "By family", sort: 1 }),
		makeTable([
			{ title: "total", number: true, value: (i) => k.total[i], show: (i) => formatTime(k.total[i]) },
			{ title: "share", number: true, value: (i) => k.total[i], show: (i) => kinds[k.kind[i]] === "kernel" ? formatPercent(k.total[i], total) : "" },
			{ title: "count", number: true, value: (i) => k.count[i], show: (i) => formatCount(k.count[i]) },
			{ title: "mean", number: true, value: (i) => k.total[i] / k.count[i], show: (i) => formatTime(k.total[i] / k.count[i]) },
			{ title: "shortest", minor: true, number: true, value: (i) => k.min[i], show: (i) => formatTime(k.min[i]) },
			{ title: "longest", minor: true, number: true, value: (i) => k.max[i], show: (i) => formatTime(k.max[i]) },
			{ title: "family", value: (i) => k.family[i], show: (i) => el("span.nowrap", {}, swatch(familyColour(data, data.enums.family[k.family[i]])), data.enums.family[k.family[i]]) },
			{ title: "launched at", name: true, minor: true, value: (i) => k.line[i], show: (i) => k.line[i] >= 0 && data.kernel_line ? lineText(data, data.kernel_line.stack[k.line[i]]) : "" },
			{
				title: "name", wide: true, value: (i) => data.texts[k.name[i]],
				show: (i) => el("span.kernel", { title: data.texts[k.name[i]] },
					el("button.find", { type: "button", title: "find on the timeline", "aria-label": "find on the timeline", onclick: () => onsearch(data.texts[k.name[i]]) }, "find"),
					shortName(data.texts[k.name[i]]), data.texts[k.name[i]] !== shortName(data.texts[k.name[i]]) ? el("small", {}, data.texts[k.name[i]]) : null),
			},
		], rows, { caption: `Kernels, copies and memsets by name; shares are of ${formatTime(total)} of kernels`, search: "Filter kernels", sort: 0 }));
}

// Lines of the program at which the launching thread was while a device waited.
function idleLines(data, colourOf, name) {
	const l = data.idle_line;
	return !l ? null : makeTable([
		{ title: "idle", number: true, value: (i) => l.dur[i], show: (i) => formatTime(l.dur[i]) },
		{ title: "stretches", number: true, value: (i) => l.stretches[i], show: (i) => formatCount(l.stretches[i]) },
		{ title: "cause", value: (i) => l.cause[i], show: (i) => el("span.nowrap", {}, swatch(colourOf(l.cause[i])), name(l.cause[i])) },
		{ title: "the launching thread was at", name: true, value: (i) => l.stack[i], show: (i) => lineText(data, l.stack[i]) },
		{ title: "waiting for a thread at", name: true, value: (i) => l.culprit[i], show: (i) => lineText(data, l.culprit[i]) },
	], rowsOf(l), { caption: "Idle time by line of the program", rows: 10, sort: 0, search: "Filter lines" });
}

export function idle(data) {
	const g = data.gap, causes = data.idle_cause;
	if (!g)
		return null;
	const by = new Map();
	for (let i = 0; causes && i < causes.n; i++) {
		const sum = by.get(causes.cause[i]) ?? { ns: 0, gaps: 0 };
		by.set(causes.cause[i], { ns: sum.ns + causes.dur[i], gaps: sum.gaps + causes.gaps[i] });
	}
	const total = [...by.values()].reduce((sum, c) => sum + c.ns, 0);
	const list = [...by].filter(([, c]) => c.ns).sort((a, b) => b[1].ns - a[1].ns);
	const name = (c) => enumText(data, "cause", c), colourOf = (c) => causeColour(data.enums.cause[c]);
	const show = (span) => span >= 0 ? spanLink(data, span) : "";
	return section("idle", "Why the GPU was idle",
		legend(list.map(([c]) => [colourOf(c), name(c)])),
		bar(list.map(([c, v]) => [v.ns / (total || 1), colourOf(c), `${name(c)} ${formatPercent(v.ns, total)}`])),
		makeTable([
			{ title: "cause", value: (r) => name(r[0]), show: (r) => el("span.nowrap", {}, swatch(colourOf(r[0])), name(r[0])) },
			{ title: "time", number: true, value: (r) => r[1].ns, show: (r) => formatTime(r[1].ns) },
			{ title: "share", number: true, value: (r) => r[1].ns, show: (r) => formatPercent(r[1].ns, total) },
			{ title: "gaps", number: true, value: (r) => r[1].gaps, show: (r) => formatCount(r[1].gaps) },
			{ title: "meaning", words: true, value: (r) => name(r[0]), show: (r) => data.enums.cause_text?.[r[0]] ?? "" },
		], list, { caption: "Idle time by cause; the causes sum to the idle time of all devices", sort: 1 }),
		idleLines(data, colourOf, name),
		makeTable([
			{ title: "length", number: true, value: (i) => g.dur[i], show: (i) => formatTime(g.dur[i]) },
			{ title: "at", number: true, value: (i) => g.ts[i], show: (i) => data.spanOfGap?.[i] >= 0 ? spanLink(data, data.spanOfGap[i], formatTime(g.ts[i])) : formatTime(g.ts[i]) },
			{ title: "device", value: (i) => g.device[i], show: (i) => deviceName(data, g.device[i]) },
			{ title: "cause", value: (i) => g.cause[i], show: (i) => el("span.nowrap", {}, swatch(colourOf(g.cause[i])), name(g.cause[i])) },
			{ title: "meanwhile the launching thread ran", name: true, value: (i) => g.during[i], show: (i) => show(g.during[i]) },
			{ title: "behind", name: true, value: (i) => g.behind[i], show: (i) => el("span", {}, show(g.behind[i]), g.late[i] ? el("small", {}, ` rank ${g.late_rank[i]} came ${formatTime(g.late[i])} late`) : null) },
			{ title: "launched by", name: true, value: (i) => g.launch[i], show: (i) => show(g.launch[i]) },
			{ title: "ended by", name: true, value: (i) => g.gpu[i], show: (i) => show(g.gpu[i]) },
		], rowsOf(g), { caption: `Gaps${ranksInFull(data) ? ` of ${listed(ranksInFull(data))}` : ""}, longest first`, rows: 10, sort: 0 }));
}

export function waits(data) {
	const w = data.wait;
	if (!w)
		return null;
	const many = new Set(data.report.devices.map((d) => d.source)).size > 1;
	const track = (t) => t < 0 ? "" : `${many ? `${sourceName(data, data.tracks[t].source)}, ` : ""}${ownName(t)}`;
	const ownName = (t) => t < 0 ? "" : data.tracks[t].kind === "stream" ? `GPU ${data.tracks[t].pid} stream ${data.tracks[t].tid}` : data.tracks[t].name || `thread ${data.tracks[t].tid}`;
	const link = (span) => span >= 0 ? spanLink(data, span) : "";
	const time = (ns) => ns >= 0 ? formatTime(ns) : "";
	return section("waits", "Waits",
		el("p.muted", {}, "Who waited, for which work on which stream, and what it cost: blocked is the time in the call, delayed how much sooner the waiting side could have gone on."),
		ranksNote(data),
		makeTable([
			{ title: "blocked", number: true, value: (i) => w.blocked[i], show: (i) => time(w.blocked[i]) },
			{ title: "delayed", number: true, value: (i) => w.delayed[i], show: (i) => time(w.delayed[i]) },
			{ title: "at", number: true, value: (i) => w.ts[i], show: (i) => w.host[i] >= 0 ? spanLink(data, w.host[i], formatTime(w.ts[i])) : formatTime(w.ts[i]) },
			{ title: "kind", value: (i) => w.kind[i], show: (i) => enumText(data, "wait.kind", w.kind[i]) },
			{ title: "who waits", name: true, value: (i) => w.consumer[i], show: (i) => track(w.consumer[i] >= 0 ? w.consumer[i] : w.thread[i]) },
			{ title: "for stream", value: (i) => w.producer[i], show: (i) => track(w.producer[i]) },
			{ title: "for this work", name: true, value: (i) => w.producer_gpu[i], show: (i) => link(w.producer_gpu[i]) },
			{ title: "then ran", name: true, value: (i) => w.consumer_gpu[i], show: (i) => link(w.consumer_gpu[i]) },
			{ title: "known", value: (i) => w.class[i], show: (i) => enumText(data, "wait.class", w.class[i]) },
		], rowsOf(w), { caption: "Every wait", search: "Filter waits", sort: 0 }));
}

// Time of every path, as `assay scopes --json` has it, with "left" as a share of the whole, and the part in no scope at the end.
function placeScopes(all) {
	const next = [0]; // by depth: where the next cell begins
	const cells = all.scopes.map((node) => {
		const depth = node.path.length - 1, left = next[depth];
		next[depth] += node.gpu_sum_ns;
		next[depth + 1] = left;
		return { node, depth, left: left / all.gpu_sum_ns, share: node.gpu_sum_ns / all.gpu_sum_ns };
	});
	const rest = all.gpu_sum_in_no_scope_ns;
	if (rest > 0)
		cells.push({ node: { path: ["in no scope"], gpu_sum_ns: rest, gpu_inferred_ns: 0 }, depth: 0, left: 1 - rest / all.gpu_sum_ns, share: rest / all.gpu_sum_ns });
	return cells;
}

const ICICLE_DEPTH = 9;
const HUES = ["--gemm", "--norm", "--attention", "--elementwise", "--reduction"];

function icicle(all) {
	const cells = placeScopes(all).filter((c) => c.depth < ICICLE_DEPTH && c.share > 0.003);
	const [, deepest] = extremes(cells.map((c) => c.depth));
	return el("div.icicle", { "aria-hidden": "true", style: { height: `${(deepest + 1) * 22}px` } }, ...cells.map(({ node, depth, left, share }) => {
		const name = node.path.at(-1), inferred = node.gpu_inferred_ns / node.gpu_sum_ns;
		return el("div", {
			title: `${node.path.join(" › ")}: ${formatTime(node.gpu_sum_ns)}, ${formatPercent(node.gpu_sum_ns, all.gpu_sum_ns)}${inferred ? `, of it ${formatTime(node.gpu_inferred_ns)} inferred` : ""}`,
			style: { left: `${100 * left}%`, width: `${100 * share}%`, top: `${depth * 22}px`, background: `color-mix(in srgb, var(${HUES[depth % HUES.length]}) 35%, var(--panel))` },
		}, share > 0.02 ? name : null, inferred ? hatched("i", "--inferred-stripe", "--inferred", { width: `${100 * inferred}%` }) : null);
	}));
}

export function scopes(data, onsearch) {
	const all = data.scopes, rows = all?.scopes ?? [];
	if (!rows.some((r) => r.gpu_sum_ns))
		return null;
	const inferred = all.gpu_sum_inferred_ns, time = (ns) => ns === null ? "" : formatTime(ns);
	return section("scopes", "Scopes",
		el("p.muted", {}, "GPU time by the range it was launched in." +
			(inferred ? ` ${formatTime(inferred)} of ${formatTime(all.gpu_sum_ns)} are inferred: launched by another thread while the range's own waited for it.` : "")),
		ranksNote(data),
		inferred ? el("ul.legend", {}, el("li", {}, hatched("span.swatch", "--inferred-stripe", "--inferred"), "inferred part")) : null,
		icicle(all),
		makeTable([
			{ title: "GPU time", number: true, value: (r) => r.gpu_sum_ns, show: (r) => formatTime(r.gpu_sum_ns) },
			{ title: "share", number: true, value: (r) => r.gpu_sum_ns, show: (r) => formatPercent(r.gpu_sum_ns, all.gpu_sum_ns) },
			{ title: "of it inferred", number: true, value: (r) => r.gpu_inferred_ns, show: (r) => r.gpu_inferred_ns ? formatTime(r.gpu_inferred_ns) : "" },
			{ title: "in itself", number: true, value: (r) => r.gpu_self_ns, show: (r) => formatTime(r.gpu_self_ns) },
			{ title: "host time", number: true, value: (r) => r.host_ns ?? -1, show: (r) => time(r.host_ns) },
			{ title: "host waits", number: true, value: (r) => r.wait_ns, show: (r) => time(r.wait_ns) },
			{ title: "GPU idle inside", number: true, value: (r) => r.idle_ns, show: (r) => time(r.idle_ns) },
			{ title: "calls", number: true, value: (r) => r.count, show: (r) => formatCount(r.count) },
			{
				title: "scope", name: true, value: (r) => r.path.join(" › "), show: (r) => el("span", { title: r.path.join(" › ") },
					el("button.find", { type: "button", title: "find on the timeline", "aria-label": "find on the timeline", onclick: () => onsearch(r.path.at(-1)) }, "find"),
					"\u2003".repeat(r.path.length - 1), r.path.at(-1)),
			},
		], rows, { caption: `GPU time by scope, from the outside in; 100 % are ${formatTime(all.gpu_sum_ns)} of GPU work`, search: "Filter scopes" }));
}

export function telemetry(data) {
	if (!data.series.length)
		return null;
	const rows = data.series.map((s) => {
		let low = Infinity, high = -Infinity, sum = 0;
		for (let i = s.first; i < s.first + s.n; i++) {
			const v = data.sample.value[i];
			low = Math.min(low, v);
			high = Math.max(high, v);
			sum += v;
		}
		return { s, low, high, mean: sum / s.n };
	});
	const placed = (s) => ({
		zone: "by its wall clock", nowhere: "not on the timeline: its clock does not meet the run's",
	})[data.sources[data.tracks[s.track]?.source]?.clock] ?? "by its clock";
	return section("telemetry", "Telemetry", makeTable([
		{ title: "what", value: (r) => r.s.name, show: (r) => r.s.track >= 0 || r.s.device >= 0 ? seriesTitle(data, r.s) : r.s.name },
		{ title: "samples", number: true, value: (r) => r.s.n, show: (r) => formatCount(r.s.n) },
		{ title: "lowest", number: true, value: (r) => r.low, show: (r) => seriesValue(r.s.name, r.low) },
		{ title: "mean", number: true, value: (r) => r.mean, show: (r) => seriesValue(r.s.name, r.mean) },
		{ title: "highest", number: true, value: (r) => r.high, show: (r) => seriesValue(r.s.name, r.high) },
		{ title: "on the timeline", words: true, value: (r) => placed(r.s), show: (r) => placed(r.s) },
	], rows, { caption: "All counters over all their samples", rows: 12 }));
}

export function trust(data, pageBytes) {
	const { report } = data;
	const events = report.devices.reduce((sum, d) => sum + d.events, 0);
	const linked = report.devices.reduce((sum, d) => sum + d.linked, 0);
	const silent = (format) => ["env", "run"].includes(format); // they have no times
	const nowhere = data.sources.filter((s) => s.clock === "nowhere" && !silent(s.format)).map((s) => s.path);
	const zones = data.sources.filter((s) => s.clock === "zone");
	return section("trust", "What this rests on",
		factTable([
			["records read", formatCount(report.counts.events)],
			["GPU work", `${formatCount(events)} events, ${formatPercent(linked, events)} with the call that launched them`],
			["on this page", `${formatCount(data.spans)} events, every one of ${ranksInFull(data) ? listed(ranksInFull(data)) : "them"}; ${formatBytes(pageBytes)} in all`],
			["cut for drawing", data.clipped ? `${formatCount(data.clipped)} events of a track where more than 400 ran at once` : null],
			["clocks", zones.length ? `${zones.map((s) => s.path).join(", ")}: wall clock without a zone, taken as UTC${zones[0].zone_ns ? ` ${zones[0].zone_ns > 0 ? "+" : "−"}${Math.abs(zones[0].zone_ns) / 3600e9} h` : ""}` : null],
			["laid at the start", data.sources.filter((s) => s.clock === "start").map((s) => s.path).join(", ")],
			["not on the timeline", nowhere.length > MANY ? `${formatCount(nowhere.length)} inputs, of which the page has findings only` : nowhere.join(", ")],
			["made by", data.made_by],
		]),
		report.run_metrics.warnings.length ? el("ul.warnings", {}, ...report.run_metrics.warnings.map((w) => el("li", {}, w))) : null,
		report.issues.length ? makeTable([
			{ title: "severity", value: (r) => r.severity, show: (r) => r.severity },
			{ title: "count", number: true, value: (r) => r.count, show: (r) => formatCount(r.count) },
			{ title: "what", words: true, value: (r) => r.text, show: (r) => r.text },
		], report.issues, { caption: "Data problems met" }) : el("p", {}, "No data problems met."),
		makeTable([
			{ title: "input", value: (r) => r.path, show: (r) => r.path },
			{ title: "format", value: (r) => r.format, show: (r) => r.format },
			{ title: "size", number: true, value: (r) => r.bytes, show: (r) => formatBytes(r.bytes) },
			{ title: "records", number: true, value: (r) => r.records, show: (r) => formatCount(r.records) },
		], report.inputs, { caption: "Inputs" }),
		folded("Where every number comes from", makeTable([
			{ title: "number", value: (r) => r.name, show: (r) => r.name },
			{ title: "value", number: true, value: (r) => r.value, show: (r) => r.value === null ? "unknown" : typeof r.value === "number" ? formatNumber(r.value) : String(r.value) },
			{ title: "state", value: (r) => r.state, show: (r) => r.state },
			{ title: "how", words: true, value: (r) => r.how, show: (r) => r.how },
		], report.metrics, { caption: "Numbers of the report", rows: 100 })));
}
