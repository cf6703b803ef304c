// The parts of the page other than the timeline, in order. A part whose table the run does not have is null.
import { PARTS, bar, legend } from "./bars.js";
import { countColumn, momentColumn, numberColumn, shareColumn, sizeColumn, timeColumn, withShares } from "./columns.js";
import { deviceName, enumText, listed, ranksInFull, rowsOf, sourceName } from "./data.js";
import { sparkline } from "./curve.js";
import { spanLink } from "./details.js";
import { el, folded, hatched, section, swatch } from "./dom.js";
import { extremes, formatBytes, formatCount, formatMoment, formatNumber, formatPercent, formatTime, shortName } from "./format.js";
import { CLASS_COLOURS, familyColour } from "./palette.js";
import { rankMatrix } from "./matrix.js";
import { lineText } from "./stacks.js";
import { factTable, makeTable } from "./tables.js";
import { seriesTitle, seriesValue } from "./series.js";

// Of columns in which -1 is absent.
const orNull = (x) => x >= 0 ? x : null;

// Said wherever the events of a few ranks stand for a job.
export function ranksNote(data) {
	const full = ranksInFull(data);
	return full ? el("p.muted", {}, `Of ${listed(full)}, whose events are on this page.`) : null;
}

// Of a job of many ranks: what is of all and what is of a few.
export function inFullNote(data) {
	const full = ranksInFull(data);
	return full ? el("p.muted", {}, `${formatCount(new Set(data.report.devices.map((d) => d.source)).size)} processes. Time of each device, causes of idle time, kernels, ranks and collectives are of all of them; steps, timeline, gaps, waits and scopes of ${listed(full)}.`) : null;
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
			timeColumn("span", (r) => r.d.span_ns),
			...PARTS.map(([key, title]) => withShares(timeColumn(title, (r) => part(r.d, key)), (r) => r.d.span_ns)),
			countColumn("GPU events", (r) => r.d.events),
			countColumn("gaps", (r) => r.d.gaps),
		], list.map((d, i) => ({ d, i })).sort((a, b) => a.d.rank - b.d.rank || a.i - b.i), {
			caption: "Time of each device: the four parts sum to its span exactly", ...(list.length > MANY ? { search: "Filter devices" } : {}),
		}));
}

const LATE = ["", "compute", "data", "host", "copy", "elsewhere"];

function rankTable(data) {
	const r = data.rank;
	return !r?.matched.some((n) => n > 0) ? null : makeTable([
		{ title: "rank", value: (i) => r.rank[i], show: (i) => sourceName(data, r.source[i]) },
		countColumn("shared collectives", (i) => r.matched[i]),
		withShares(countColumn("came last", (i) => r.last[i]), (i) => r.matched[i]),
		timeColumn("waited for others", (i) => r.waited[i]),
		timeColumn("made others wait", (i) => r.caused[i]),
		timeColumn("transfer", (i) => r.transfer[i]),
		timeColumn("clock ahead", (i) => r.offset[i], { minor: true }),
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
		numberColumn("ranks", "", (i) => orNull(c.size[i]), String),
		sizeColumn("message", (i) => orNull(c.bytes[i]), { show: (i) => c.bytes[i] >= 0 ? el("span", { title: `${formatCount(c.bytes[i])} B` }, formatBytes(c.bytes[i])) : "unknown" }),
		countColumn("calls", (i) => c.count[i]),
		timeColumn("latency", (i) => c.latency[i]),
		timeColumn("skew", (i) => c.matched[i] ? c.skew[i] : null),
		timeColumn("largest skew", (i) => c.matched[i] ? c.max_skew[i] : null, { minor: true }),
		numberColumn("algorithm GiB/s", "", (i) => c.algo_bw[i] || null, (x) => x.toFixed(1)),
		numberColumn("bus GiB/s", "", (i) => c.bus_bw[i] || null, (x) => x.toFixed(1)),
	], rowsOf(c), { caption: "Collectives by group and size", search: "Filter collectives" });
}

export function ranks(data) {
	const parts = [rankMatrix(data), rankTable(data), collectiveTable(data)].filter(Boolean);
	return parts.length ? section("ranks", "Ranks and collectives", ...parts) : null;
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
		legend(sorted.map((f) => [familyColour(f.family), f.family])),
		bar(sorted.map((f) => [f.total_ns / (familyTotal || 1), familyColour(f.family), `${f.family} ${f.pct.toFixed(1)} %`])),
		makeTable([
			{ title: "family", value: (f) => f.family, show: (f) => el("span", {}, swatch(familyColour(f.family)), f.family) },
			timeColumn("total", (f) => f.total_ns),
			shareColumn("share", (f) => f.pct, 100),
			countColumn("launches", (f) => f.count),
		], sorted, { caption: "By family", sort: 1 }),
		makeTable([
			timeColumn("total", (i) => k.total[i]),
			shareColumn("share", (i) => kinds[k.kind[i]] === "kernel" ? k.total[i] : null, total),
			countColumn("count", (i) => k.count[i]),
			timeColumn("mean", (i) => k.total[i] / k.count[i]),
			timeColumn("shortest", (i) => k.min[i], { minor: true }),
			timeColumn("longest", (i) => k.max[i], { minor: true }),
			{ title: "family", value: (i) => k.family[i], show: (i) => el("span.nowrap", {}, swatch(familyColour(data.enums.family[k.family[i]])), data.enums.family[k.family[i]]) },
			{ title: "launched at", name: true, minor: true, value: (i) => k.line[i], show: (i) => k.line[i] >= 0 && data.kernel_line ? lineText(data, data.kernel_line.stack[k.line[i]]) : "" },
			{
				title: "name", wide: true, value: (i) => data.texts[k.name[i]],
				show: (i) => el("span.kernel", { title: data.texts[k.name[i]] },
					el("button.find", { type: "button", title: "find on the timeline", "aria-label": "find on the timeline", onclick: () => onsearch(data.texts[k.name[i]]) }, "find"),
					shortName(data.texts[k.name[i]]), data.texts[k.name[i]] !== shortName(data.texts[k.name[i]]) ? el("small", {}, data.texts[k.name[i]]) : null),
			},
		], rows, { caption: `Kernels, copies and memsets by name; shares are of ${formatTime(total)} of kernels`, search: "Filter kernels", sort: 0 }),
		copyTable(data));
}

function copyTable(data) {
	const { copies = [] } = data.report, full = ranksInFull(data);
	return !copies.length ? null : makeTable([
		timeColumn("total", (c) => c.total_ns),
		countColumn("count", (c) => c.count),
		sizeColumn("moved", (c) => c.bytes || null),
		sizeColumn("each", (c) => c.bytes / c.count || null),
		numberColumn("rate", "B/s", (c) => c.bytes_per_second || null, (rate) => `${formatBytes(rate)}/s`),
		{ title: "host memory", value: (c) => c.host_memory ?? "", show: (c) => c.host_memory ?? "" },
		{ title: "name", name: true, value: (c) => c.name, show: (c) => c.name },
	], copies, { caption: `Copies and memsets${full ? ` of ${listed(full)}` : ""}: how much they moved, and how fast`, sort: 0 });
}

function callTable(rows, caption) {
	return !rows?.length ? null : makeTable([
		timeColumn("total", (c) => c.total_ns),
		countColumn("count", (c) => c.count),
		timeColumn("mean", (c) => c.total_ns / c.count),
		timeColumn("median", (c) => c.median_ns),
		timeColumn("longest", (c) => c.max_ns),
		{ title: "call", name: true, value: (c) => c.name, show: (c) => c.name },
	], rows, { caption, sort: 0, rows: 15 });
}

// Calls of the GPU's runtime and driver, and what recording them took.
export function calls(data) {
	const { runtime_calls: made, recording_overhead: own } = data.report;
	return !made?.length && !own?.length ? null : section("calls", "Calls", ranksNote(data),
		callTable(made, "Calls of the GPU's runtime and driver, by the host time they took"), callTable(own, "What recording took, as the recorder tells it"));
}

export function waits(data) {
	const w = data.wait;
	if (!w)
		return null;
	const many = new Set(data.report.devices.map((d) => d.source)).size > 1;
	const track = (t) => t < 0 ? "" : `${many ? `${sourceName(data, data.tracks[t].source)}, ` : ""}${ownName(t)}`;
	const ownName = (t) => t < 0 ? "" : data.tracks[t].kind === "stream" ? `GPU ${data.tracks[t].pid} stream ${data.tracks[t].tid}` : data.tracks[t].name || `thread ${data.tracks[t].tid}`;
	const link = (span) => span >= 0 ? spanLink(data, span) : "";
	return section("waits", "Waits",
		el("p.muted", {}, "Who waited, for which work on which stream, and what it cost: blocked is the time in the call, delayed how much sooner the waiting side could have gone on."),
		ranksNote(data),
		makeTable([
			timeColumn("blocked", (i) => orNull(w.blocked[i])),
			timeColumn("delayed", (i) => orNull(w.delayed[i])),
			momentColumn("at", (i) => w.ts[i], { show: (i) => w.host[i] >= 0 ? spanLink(data, w.host[i], formatMoment(w.ts[i])) : formatMoment(w.ts[i]) }),
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
	const inferred = all.gpu_sum_inferred_ns;
	return section("scopes", "Scopes",
		el("p.muted", {}, "GPU time by the range it was launched in." +
			(inferred ? ` ${formatTime(inferred)} of ${formatTime(all.gpu_sum_ns)} are inferred: launched by another thread while the range's own waited for it.` : "")),
		ranksNote(data),
		inferred ? el("ul.legend", {}, el("li", {}, hatched("span.swatch", "--inferred-stripe", "--inferred"), "inferred part")) : null,
		icicle(all),
		makeTable([
			timeColumn("GPU time", (r) => r.gpu_sum_ns),
			shareColumn("share", (r) => r.gpu_sum_ns, all.gpu_sum_ns),
			timeColumn("of it inferred", (r) => r.gpu_inferred_ns || null),
			timeColumn("in itself", (r) => r.gpu_self_ns),
			timeColumn("host time", (r) => r.host_ns),
			timeColumn("host waits", (r) => r.wait_ns),
			timeColumn("GPU idle inside", (r) => r.idle_ns),
			countColumn("calls", (r) => r.count),
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
	const what = (r) => r.s.track >= 0 || r.s.device >= 0 ? seriesTitle(data, r.s) : r.s.name;
	return section("telemetry", "Telemetry", makeTable([
		{ title: "what", value: (r) => r.s.name, show: what, plain: [["what", what], ["series", (r) => r.s.name]] },
		countColumn("samples", (r) => r.s.n),
		...[["lowest", "low"], ["mean", "mean"], ["highest", "high"]].map(([title, key]) => numberColumn(title, "", (r) => r[key], String, { show: (r) => seriesValue(r.s.name, r[key]) })),
		{ title: "over the run", plain: [], value: (r) => r.s.name, show: (r) => r.high > r.low ? sparkline(data, r.s, `from ${seriesValue(r.s.name, r.low)} to ${seriesValue(r.s.name, r.high)}`) : "constant" },
		{ title: "on the timeline", words: true, value: (r) => placed(r.s), show: (r) => placed(r.s) },
	], rows, { caption: "All counters over all their samples", rows: 24 }));
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
			countColumn("count", (r) => r.count),
			{ title: "what", words: true, value: (r) => r.text, show: (r) => r.text },
		], report.issues, { caption: "Data problems met" }) : el("p", {}, "No data problems met."),
		makeTable([
			{ title: "input", value: (r) => r.path, show: (r) => r.path },
			{ title: "format", value: (r) => r.format, show: (r) => r.format },
			sizeColumn("size", (r) => r.bytes),
			countColumn("records", (r) => r.records),
		], report.inputs, { caption: "Inputs" }),
		folded("Where every number comes from", makeTable([
			{ title: "number", value: (r) => r.name, show: (r) => r.name },
			numberColumn("value", "", (r) => r.value, String, { show: (r) => r.value === null ? "unknown" : typeof r.value === "number" ? formatNumber(r.value) : String(r.value) }),
			{ title: "state", value: (r) => r.state, show: (r) => r.state },
			{ title: "how", words: true, value: (r) => r.how, show: (r) => r.how },
		], report.metrics, { caption: "Numbers of the report", rows: 100 })));
}
