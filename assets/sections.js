// The parts of the page other than the timeline, in order. A part whose table the run does not have is null.
import { spanLink } from "./details.js";
import { el, folded, section, swatch } from "./dom.js";
import { commands, environment } from "./environment.js";
import { extremes, formatBytes, formatCount, formatNumber, formatPercent, formatTime, runTitle, shortName } from "./format.js";
import { CLASS_COLOURS, causeColour, familyColour } from "./palette.js";
import { factTable, makeTable } from "./tables.js";
import { seriesTitle, seriesValue } from "./timeline.js";

export const PARTS = [["compute", "compute"], ["exposed_comm", "exposed communication"], ["exposed_copy", "exposed copies"], ["idle", "idle"]];

const rowsOf = (table) => Array.from({ length: table.n }, (_, i) => i);
const enumText = (data, list, value) => (data.enums[list]?.[value] ?? String(value)).replaceAll("_", " ");
const metricOf = (data, name) => data.report.metrics.find((m) => m.name === name);
const known = (m) => m && m.state !== "unknown" && m.value !== null;
const marked = (m) => m?.state === "estimated" ? "≈ " : "";

function tile(title, value, about) {
	return value === null ? null : el("div.tile", { title: about || false }, el("dt", {}, title), el("dd", {}, value));
}

function stepSpread(data) {
	const low = metricOf(data, "step_seconds_min"), high = metricOf(data, "step_seconds_max");
	return known(low) && high.value > low.value ? `${formatTime(low.value * 1e9)} to ${formatTime(high.value * 1e9)}` : null;
}

function whenText(data) {
	if (!data.epoch)
		return "the input does not say when";
	const ms = Number(BigInt(data.origin_ns) / 1000000n);
	return new Date(ms).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC");
}

function gpuText(data) {
	const names = new Map();
	for (const d of data.devices)
		names.set(d.name || d.arch, (names.get(d.name || d.arch) ?? 0) + 1);
	return [...names].map(([name, n]) => n > 1 ? `${n} × ${name}` : name).join(", ") || null;
}

export function verdicts(data) {
	const v = data.verdict;
	if (!v)
		return null;
	return el("ol.verdicts", { id: "verdicts" }, ...Array.from({ length: v.n }, (_, i) => {
		const gap = v.gap[i], span = gap >= 0 && data.spanOfGap ? data.spanOfGap[gap] : -1;
		return el("li", {},
			el("p", {}, el("b", {}, data.texts[v.text[i]]),
				span >= 0 ? [" ", el("a.evidence", { href: `#span=${span}` }, "show it")] : null),
			el("p.muted", {}, [data.texts[v.advice[i]], data.texts[v.evidence[i]],
				v.confidence[i] > 0 ? `confidence ${Math.round(v.confidence[i] * 100)} %` : ""].filter(Boolean).join(" · ")));
	}));
}

export function header(data) {
	const figure = (name, title, show) => {
		const m = metricOf(data, name);
		return known(m) ? tile(title, marked(m) + show(m.value), m.how) : null;
	};
	const steps = metricOf(data, "steps"), step = metricOf(data, "step_seconds");
	const versions = ["pytorch_version", "cuda_version", "rocm_version"].map((n) => metricOf(data, n)).filter(known)
		.map((m) => `${{ pytorch_version: "PyTorch", cuda_version: "CUDA", rocm_version: "ROCm" }[m.name]} ${m.value}`);
	return el("header", {},
		el("h1", {}, runTitle(data)),
		...commands(data),
		el("p.muted", {}, [whenText(data), ...versions].filter(Boolean).join(" · ")),
		el("dl.tiles", {},
			tile("GPU", gpuText(data)),
			tile("steps", known(steps) ? formatCount(steps.value) : "unknown", steps?.how),
			tile("step time, median", known(step) ? marked(step) + formatTime(step.value * 1e9) : "unknown", step?.how),
			tile("spread", stepSpread(data), metricOf(data, "step_seconds_max")?.how),
			figure("tokens_per_sec", "tokens a second", formatNumber),
			figure("gpu_util_pct", "GPU busy", (v) => `${v.toFixed(1)} %`),
			figure("mfu_pct", "MFU", (v) => `${v.toFixed(1)} %`),
			figure("power_watts", "power", (v) => `${v.toFixed(0)} W`),
			figure("hbm_peak_gb", "memory peak", (v) => `${v.toFixed(2)} GiB`)),
		verdicts(data),
		environment(data, versions));
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
	return (device.rank !== null ? `rank ${device.rank}, ` : many && data.sources.length > 1 ? `input ${device.source + 1}, ` : "") +
		(device.device >= 0 ? `GPU ${device.device}` : "unnamed GPU");
}

// More of anything than this is a table only.
const MANY = 16;

export function devices(data) {
	const list = data.report.devices;
	if (!list.length)
		return section("devices", "Where the time went", el("p", {}, "No GPU work in this input."));
	const part = (d, key) => d[`${key}_ns`];
	return section("devices", "Where the time went",
		legend(PARTS.map(([key, title]) => [CLASS_COLOURS[key], title])),
		...list.slice(0, MANY).map((d, i) => el("div.device", {}, el("div.device-name", {}, deviceName(data, i), el("small", {}, ` ${formatTime(d.span_ns)}`)),
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
		], list.map((d, i) => ({ d, i })), { caption: "Time of each device: the four parts sum to its span exactly" }));
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
		return section("steps", "Step by step", stepStrip(data), makeTable([
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
			{ title: "from", value: (i) => s.source[i], show: (i) => data.sources[s.source[i]]?.path ?? "" },
			{ title: "length", number: true, value: (i) => s.dur[i], show: (i) => formatTime(s.dur[i]) },
		], rowsOf(s), { caption: "Step markers on the host", rows: 10 }));
}

const rankName = (data, source) => data.sources[source]?.rank >= 0 ? `rank ${data.sources[source].rank}` : `input ${source + 1}`;

// Step time of every rank and step, dark where it is long.
function heatMap(data) {
	const s = data.step, sources = s ? [...new Set(s.source)] : [];
	if (sources.length < 2)
		return null;
	const all = Array.from(s.dur), [low, high] = extremes(all);
	const cell = (i) => {
		const share = (s.dur[i] - low) / (high - low || 1);
		return el("td", { style: { background: `color-mix(in srgb, var(--heat) ${10 + 80 * share}%, var(--panel))` } },
			el("a", {
				href: `#time=${s.ts[i]},${s.dur[i]}`, title: stepTitle(data, i),
				style: { color: share > 0.55 ? "var(--on-heat)" : "inherit" },
			}, formatTime(s.dur[i])));
	};
	const row = (source) => {
		const steps = all.map((_, i) => i).filter((i) => s.source[i] === source).slice(0, MOST_STEPS);
		return el("tr", {}, el("th", { scope: "row" }, rankName(data, source)), ...steps.map(cell));
	};
	return el("div", {},
		el("p.muted", {}, `Length of each step on each rank: light ${formatTime(low)}, dark ${formatTime(high)}. A cell leads to its step.`),
		el("div.scroll", { tabindex: 0, role: "region", "aria-label": "step time by rank" },
			el("table.heat", {}, el("tbody", {}, ...sources.map(row)))));
}
const MOST_STEPS = 200;

const LATE = ["", "compute", "data", "host", "copy", "elsewhere"];

function rankTable(data) {
	const r = data.rank;
	return !r ? null : makeTable([
		{ title: "rank", value: (i) => r.rank[i], show: (i) => rankName(data, r.source[i]) },
		{ title: "shared collectives", number: true, value: (i) => r.matched[i], show: (i) => formatCount(r.matched[i]) },
		{ title: "came last", number: true, value: (i) => r.last[i], show: (i) => `${formatCount(r.last[i])}  ${formatPercent(r.last[i], r.matched[i])}` },
		{ title: "waited for others", number: true, value: (i) => r.waited[i], show: (i) => formatTime(r.waited[i]) },
		{ title: "made others wait", number: true, value: (i) => r.caused[i], show: (i) => formatTime(r.caused[i]) },
		{ title: "transfer", number: true, value: (i) => r.transfer[i], show: (i) => formatTime(r.transfer[i]) },
		{ title: "clock ahead", number: true, value: (i) => r.offset[i], show: (i) => formatTime(r.offset[i]) },
		{ title: "late by", value: (i) => r.excess[i], show: (i) => LATE[r.why[i]] + (r.excess[i] ? ` +${formatTime(r.excess[i])}` : "") },
		{ title: "host", value: (i) => data.texts[r.host[i]], show: (i) => data.texts[r.host[i]] },
	], rowsOf(r), {
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
		{ title: "message", number: true, value: (i) => c.bytes[i], show: (i) => c.bytes[i] >= 0 ? formatBytes(c.bytes[i]) : "unknown" },
		{ title: "calls", number: true, value: (i) => c.count[i], show: (i) => formatCount(c.count[i]) },
		{ title: "latency", number: true, value: (i) => c.latency[i], show: (i) => formatTime(c.latency[i]) },
		{ title: "skew", number: true, value: (i) => c.skew[i], show: (i) => c.matched[i] ? formatTime(c.skew[i]) : "" },
		{ title: "largest skew", number: true, value: (i) => c.max_skew[i], show: (i) => c.matched[i] ? formatTime(c.max_skew[i]) : "" },
		{ title: "algorithm GiB/s", number: true, value: (i) => c.algo_bw[i], show: (i) => c.algo_bw[i] ? c.algo_bw[i].toFixed(1) : "" },
		{ title: "bus GiB/s", number: true, value: (i) => c.bus_bw[i], show: (i) => c.bus_bw[i] ? c.bus_bw[i].toFixed(1) : "" },
	], rowsOf(c), { caption: "Collectives by group and size", search: "Filter collectives" });
}

export function ranks(data) {
	const parts = [heatMap(data), rankTable(data), collectiveTable(data)].filter(Boolean);
	return parts.length ? section("ranks", "Ranks and collectives", ...parts) : null;
}

const BUCKET_COLOURS = {
	useful_gpu: "--compute", comm_excess: "--comm", exposed_copy: "--copy", data_wait: "--embedding",
	host_gap: "--optimizer", unexplained: "--idle",
};

export function budget(data) {
	const b = data.budget;
	if (b) {
		// buckets of time; the others (memory) are in the table only
		const times = rowsOf(b).filter((i) =>
			data.texts[b.unit[i]] === "ns" && b.state[i] > 0 && data.texts[b.name[i]] !== "total");
		const total = times.reduce((sum, i) => sum + Math.max(0, b.value[i]), 0);
		const colour = (i) => BUCKET_COLOURS[data.texts[b.name[i]]] ?? causeColour(i);
		const name = (i) => data.texts[b.name[i]].replaceAll("_", " ");
		return section("budget", "Waste budget",
			legend(times.map((i) => [colour(i), name(i)])),
			bar(times.map((i) => [b.value[i] / (total || 1), colour(i), `${name(i)} ${formatPercent(b.value[i], total)}`])),
			makeTable([
				{ title: "bucket", value: (i) => i, show: (i) => el("span.nowrap", {}, times.includes(i) ? swatch(colour(i)) : null, name(i)) },
				{ title: "per step", number: true, value: (i) => b.value[i], show: (i) => !b.state[i] ? "unknown" : data.texts[b.unit[i]] === "ns" ? formatTime(b.value[i]) : `${formatNumber(b.value[i])} ${data.texts[b.unit[i]]}` },
				{ title: "share", number: true, value: (i) => b.value[i], show: (i) => times.includes(i) ? formatPercent(b.value[i], total) : "" },
				{ title: "coverage", number: true, value: (i) => b.coverage[i], show: (i) => el("span", {}, el("meter", { min: 0, max: 1, value: b.coverage[i] }), ` ${Math.round(100 * b.coverage[i])} %`) },
				{ title: "state", value: (i) => b.state[i], show: (i) => data.enums.state[b.state[i]] },
				{ title: "measured from", number: true, value: (i) => b.evidence[i], show: (i) => b.evidence[i] ? formatCount(b.evidence[i]) : "" },
				{ title: "longest", value: (i) => b.gap[i], show: (i) => b.gap[i] >= 0 && data.spanOfGap ? el("a", { href: `#span=${data.spanOfGap[b.gap[i]]}` }, "show it") : "" },
				{ title: "how", value: (i) => data.texts[b.how[i]], show: (i) => data.texts[b.how[i]] },
			], rowsOf(b), { caption: "Where a step's time went" }));
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
			{ title: "shortest", number: true, value: (i) => k.min[i], show: (i) => formatTime(k.min[i]) },
			{ title: "longest", number: true, value: (i) => k.max[i], show: (i) => formatTime(k.max[i]) },
			{ title: "family", value: (i) => k.family[i], show: (i) => el("span.nowrap", {}, swatch(familyColour(data, data.enums.family[k.family[i]])), data.enums.family[k.family[i]]) },
			{
				title: "name", wide: true, value: (i) => data.texts[k.name[i]],
				show: (i) => el("span.kernel", { title: data.texts[k.name[i]] },
					el("button.find", { type: "button", title: "find on the timeline", "aria-label": "find on the timeline", onclick: () => onsearch(data.texts[k.name[i]]) }, "find"),
					shortName(data.texts[k.name[i]]), data.texts[k.name[i]] !== shortName(data.texts[k.name[i]]) ? el("small", {}, data.texts[k.name[i]]) : null),
			},
		], rows, { caption: `Kernels, copies and memsets by name; shares are of ${formatTime(total)} of kernels`, search: "Filter kernels", sort: 0 }));
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
	const name = (c) => enumText(data, "cause", c);
	const show = (span) => span >= 0 ? spanLink(data, span) : "";
	return section("idle", "Why the GPU was idle",
		legend(list.map(([c]) => [causeColour(c), name(c)])),
		bar(list.map(([c, v]) => [v.ns / (total || 1), causeColour(c), `${name(c)} ${formatPercent(v.ns, total)}`])),
		makeTable([
			{ title: "cause", value: (r) => name(r[0]), show: (r) => el("span.nowrap", {}, swatch(causeColour(r[0])), name(r[0])) },
			{ title: "time", number: true, value: (r) => r[1].ns, show: (r) => formatTime(r[1].ns) },
			{ title: "share", number: true, value: (r) => r[1].ns, show: (r) => formatPercent(r[1].ns, total) },
			{ title: "gaps", number: true, value: (r) => r[1].gaps, show: (r) => formatCount(r[1].gaps) },
			{ title: "meaning", value: (r) => name(r[0]), show: (r) => data.enums.cause_text?.[r[0]] ?? "" },
		], list, { caption: "Idle time by cause; the causes sum to the idle time of all devices", sort: 1 }),
		makeTable([
			{ title: "length", number: true, value: (i) => g.dur[i], show: (i) => formatTime(g.dur[i]) },
			{ title: "at", number: true, value: (i) => g.ts[i], show: (i) => data.spanOfGap?.[i] >= 0 ? spanLink(data, data.spanOfGap[i], formatTime(g.ts[i])) : formatTime(g.ts[i]) },
			{ title: "device", value: (i) => g.device[i], show: (i) => deviceName(data, g.device[i]) },
			{ title: "cause", value: (i) => g.cause[i], show: (i) => el("span.nowrap", {}, swatch(causeColour(g.cause[i])), name(g.cause[i])) },
			{ title: "meanwhile the launching thread ran", value: (i) => g.during[i], show: (i) => show(g.during[i]) },
			{ title: "behind", value: (i) => g.behind[i], show: (i) => el("span", {}, show(g.behind[i]), g.late[i] ? el("small", {}, ` rank ${g.late_rank[i]} came ${formatTime(g.late[i])} late`) : null) },
			{ title: "launched by", value: (i) => g.launch[i], show: (i) => show(g.launch[i]) },
			{ title: "ended by", value: (i) => g.gpu[i], show: (i) => show(g.gpu[i]) },
		], rowsOf(g), { caption: "Gaps, longest first", rows: 10, sort: 0 }));
}

export function waits(data) {
	const w = data.wait;
	if (!w)
		return null;
	const track = (t) => t < 0 ? "" : data.tracks[t].kind === "stream" ? `GPU ${data.tracks[t].pid} stream ${data.tracks[t].tid}` : data.tracks[t].name || `thread ${data.tracks[t].tid}`;
	const link = (span) => span >= 0 ? spanLink(data, span) : "";
	const time = (ns) => ns >= 0 ? formatTime(ns) : "";
	return section("waits", "Waits",
		el("p.muted", {}, "Who waited, for which work on which stream, and what it cost."),
		makeTable([
			{ title: "blocked", number: true, value: (i) => w.blocked[i], show: (i) => time(w.blocked[i]) },
			{ title: "delayed", number: true, value: (i) => w.delayed[i], show: (i) => time(w.delayed[i]) },
			{ title: "at", number: true, value: (i) => w.ts[i], show: (i) => w.host[i] >= 0 ? spanLink(data, w.host[i], formatTime(w.ts[i])) : formatTime(w.ts[i]) },
			{ title: "kind", value: (i) => w.kind[i], show: (i) => enumText(data, "wait.kind", w.kind[i]) },
			{ title: "who waits", value: (i) => w.consumer[i], show: (i) => track(w.consumer[i] >= 0 ? w.consumer[i] : w.thread[i]) },
			{ title: "for stream", value: (i) => w.producer[i], show: (i) => track(w.producer[i]) },
			{ title: "for this work", value: (i) => w.producer_gpu[i], show: (i) => link(w.producer_gpu[i]) },
			{ title: "then ran", value: (i) => w.consumer_gpu[i], show: (i) => link(w.consumer_gpu[i]) },
			{ title: "known", value: (i) => w.class[i], show: (i) => enumText(data, "wait.class", w.class[i]) },
		], rowsOf(w), { caption: "Every wait", search: "Filter waits", sort: 0 }));
}

// GPU time that is in its scope only because the range's thread waited for another one.
function inferredTime(data) {
	const how = data.gpu_scope.how, inferred = (data.enums["gpu_scope.how"] ?? []).findIndex((text) => text.endsWith("inferred"));
	let sum = 0;
	for (let g = 0; inferred >= 0 && g < data.gpu.n; g++)
		sum += how[g] === inferred ? data.dur[g] : 0;
	return sum;
}

// GPU time of every scope path: nodes { name, self, total, calls, children }.
function scopeTree(data) {
	const s = data.scope, root = { name: "all GPU work", total: 0, self: 0, calls: 0, children: new Map(), depth: 0 };
	const node = new Array(s.n);
	const place = (i, guard) => {
		if (node[i])
			return node[i];
		const up = s.up[i] >= 0 && s.up[i] < s.n && guard < 500 ? place(s.up[i], guard + 1) : root;
		const name = (data.texts[s.name[i]] || `id ${s.id[i]}`).replace(/#\d+$/, "#*"); // steps are one scope
		if (!up.children.has(name))
			up.children.set(name, { name, total: 0, self: 0, calls: 0, children: new Map(), depth: up.depth + 1, up, first: s.host[i] });
		node[i] = up.children.get(name);
		node[i].calls++;
		return node[i];
	};
	for (let i = 0; i < s.n; i++)
		place(i, 0);
	for (let g = 0; g < data.gpu.n; g++) {
		const { scope, forward } = data.gpu_scope; // work of a gradient belongs to its forward operator's scope
		const own = scope[g] >= 0 ? scope[g] : forward[g];
		let at = own >= 0 ? node[own] : root;
		at.self += data.dur[g];
		for (; at; at = at.up)
			at.total += data.dur[g];
	}
	return root;
}

const ICICLE_DEPTH = 9;

export function scopes(data) {
	if (!data.scope || !data.gpu_scope)
		return null;
	const root = scopeTree(data), inferred = inferredTime(data), cells = [], rows = [];
	if (!root.total)
		return null;
	const walk = (n, left) => {
		if (n.depth && n.total)
			rows.push(n);
		const share = n.total / root.total;
		if (n.depth <= ICICLE_DEPTH && share > 0.003)
			cells.push({ n, left, share });
		let at = left;
		for (const child of [...n.children.values()].sort((a, b) => b.total - a.total)) {
			walk(child, at);
			at += child.total / root.total;
		}
	};
	walk(root, 0);
	const [, deepest] = extremes(cells.map((c) => c.n.depth));
	const hues = ["--gemm", "--norm", "--attention", "--elementwise", "--reduction"];
	return section("scopes", "Scopes",
		el("p.muted", {}, "GPU time by the range it was launched in. Work of a gradient counts for the range of its forward operator." +
			(inferred ? ` ${formatTime(inferred)} are inferred: launched by another thread while the range's own waited for it.` : "")),
		el("div.icicle", { "aria-hidden": "true", style: { height: `${(deepest + 1) * 20}px` } }, ...cells.map(({ n, left, share }) =>
			el("div", {
				title: `${n.name}: ${formatTime(n.total)}, ${formatPercent(n.total, root.total)}`,
				style: { left: `${100 * left}%`, width: `${100 * share}%`, top: `${n.depth * 20}px`, background: `color-mix(in srgb, var(${hues[n.depth % hues.length]}) 35%, var(--panel))` },
			}, n.name))),
		makeTable([
			{ title: "GPU time", number: true, value: (n) => n.total, show: (n) => formatTime(n.total) },
			{ title: "share", number: true, value: (n) => n.total, show: (n) => formatPercent(n.total, root.total) },
			{ title: "in itself", number: true, value: (n) => n.self, show: (n) => formatTime(n.self) },
			{ title: "calls", number: true, value: (n) => n.calls, show: (n) => formatCount(n.calls) },
			{ title: "depth", number: true, value: (n) => n.depth, show: (n) => String(n.depth) },
			{ title: "scope", value: (n) => n.name, show: (n) => n.first >= 0 ? spanLink(data, n.first, n.name) : n.name },
		], rows, { caption: "GPU time by scope, from the outside in", search: "Filter scopes", sort: 0 }));
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
		{ title: "what", value: (r) => r.s.name, show: (r) => `${r.s.track >= 0 ? seriesTitle(data, r.s) : r.s.name}` },
		{ title: "samples", number: true, value: (r) => r.s.n, show: (r) => formatCount(r.s.n) },
		{ title: "lowest", number: true, value: (r) => r.low, show: (r) => seriesValue(r.s.name, r.low) },
		{ title: "mean", number: true, value: (r) => r.mean, show: (r) => seriesValue(r.s.name, r.mean) },
		{ title: "highest", number: true, value: (r) => r.high, show: (r) => seriesValue(r.s.name, r.high) },
		{ title: "on the timeline", value: (r) => placed(r.s), show: (r) => placed(r.s) },
	], rows, { caption: "All counters over all their samples", rows: 12 }));
}

export function trust(data, pageBytes) {
	const { report } = data;
	const events = report.devices.reduce((sum, d) => sum + d.events, 0);
	const linked = report.devices.reduce((sum, d) => sum + d.linked, 0);
	const zones = data.sources.filter((s) => s.clock === "zone");
	return section("trust", "What this rests on",
		factTable([
			["records read", formatCount(report.counts.events)],
			["GPU work", `${formatCount(events)} events, ${formatPercent(linked, events)} with the call that launched them`],
			["on this page", `${formatCount(data.spans)} events, every one of them; ${formatBytes(pageBytes)} in all`],
			["cut for drawing", data.clipped ? `${formatCount(data.clipped)} events of a track where more than 400 ran at once` : null],
			["clocks", zones.length ? `${zones.map((s) => s.path).join(", ")}: wall clock without a zone, taken as UTC${zones[0].zone_ns ? ` ${zones[0].zone_ns > 0 ? "+" : "−"}${Math.abs(zones[0].zone_ns) / 3600e9} h` : ""}` : null],
			["laid at the start", data.sources.filter((s) => s.clock === "start").map((s) => s.path).join(", ")],
			["not on the timeline", data.sources.filter((s) => s.clock === "nowhere").map((s) => s.path).join(", ")],
			["made by", data.made_by],
		]),
		report.run_metrics.warnings.length ? el("ul.warnings", {}, ...report.run_metrics.warnings.map((w) => el("li", {}, w))) : null,
		report.issues.length ? makeTable([
			{ title: "severity", value: (r) => r.severity, show: (r) => r.severity },
			{ title: "count", number: true, value: (r) => r.count, show: (r) => formatCount(r.count) },
			{ title: "what", value: (r) => r.text, show: (r) => r.text },
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
			{ title: "how", value: (r) => r.how, show: (r) => r.how },
		], report.metrics, { caption: "Numbers of the report", rows: 100 })));
}
