// The first two lines of the page: what ran, and how a step went.
import { PARTS, bar } from "./bars.js";
import { bucketParts } from "./budget.js";
import { known, metricOf } from "./data.js";
import { el } from "./dom.js";
import { commands, startOf } from "./environment.js";
import { formatCount, formatNumber, formatPercent, formatTime, runTitle } from "./format.js";
import { CLASS_COLOURS } from "./palette.js";

const marked = (m) => m?.state === "estimated" ? "≈ " : "";

function tile(title, value, about) {
	return value === null ? null : el("div.tile", { title: about || false }, el("dt", {}, title), el("dd", {}, value));
}

// A host that runs ahead has markers much shorter than the device's steps: then each says whose it is.
function isBehind(data) {
	const made = bucketParts(data), m = metricOf(data, "step_seconds"), n = data.steady?.steps[0] ?? 0;
	return made !== null && n > 0 && known(m) && made.total > 1.1 * m.value * 1e9;
}

// Step time as a tile, and the shortest to the longest one.
function stepTiles(data) {
	const [m, low, high] = ["step_seconds", "step_seconds_min", "step_seconds_max"].map((name) => metricOf(data, name));
	const text = (x) => `${marked(x)}${formatTime(x.value * 1e9)}`;
	return [
		tile(`${m?.how?.includes("median") && data.steady?.steps[0] !== 1 ? "median step" : "step time"}${isBehind(data) ? " on the host" : ""}`, known(m) ? text(m) : "unknown", m?.how),
		known(low) && known(high) && low.value < high.value ? tile("shortest, longest", `${text(low)}, ${text(high)}`, high.how) : null,
	];
}

function whenText(data) {
	const recorded = startOf(data);
	if (recorded)
		return recorded;
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

// One bar of the steady step: buckets of the budget, else the parts of the device's time. It leads to its table.
function stepBar(data) {
	const made = bucketParts(data), d = data.report.devices[0];
	const parts = made ? made.parts.map(([share, colour, name, ns]) => [share, colour, `${name} ${formatTime(ns)}`])
		: d ? PARTS.map(([key, title]) => [d[`${key}_ns`] / (d.span_ns || 1), CLASS_COLOURS[key], `${title} ${formatPercent(d[`${key}_ns`], d.span_ns)}`]) : [];
	return parts.length ? el("a.step-bar", { href: made ? "#budget" : "#devices", "aria-label": "Where the time went" }, bar(parts)) : null;
}

// What the bar stands for: the mean of the steps that count, with what lies between them.
function barTile(data) {
	const made = bucketParts(data), n = data.steady?.steps[0] ?? 0;
	return made && n > 0 ? tile(`${n > 1 ? `mean of ${formatCount(n)} steps` : "one step"}${isBehind(data) ? " on the GPU" : ""}`, formatTime(made.total), "steps that count, from the start of one to the start of the next; the bar divides it") : null;
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
			...(data.report.devices.length ? [tile("steps", known(steps) ? formatCount(steps.value) : "unknown", steps?.how), ...stepTiles(data)] : []),
			figure("gpu_util_pct", "busy, whole run", (v) => `${v.toFixed(1)} %`),
			figure("mfu_pct", "MFU", (v) => `${v.toFixed(1)} %`),
			figure("tokens_per_sec", "tokens a second", (v) => v < 100 ? formatNumber(v) : formatCount(v)),
			figure("power_watts", "power", (v) => `${v.toFixed(0)} W`),
			figure("hbm_peak_gb", "memory peak", (v) => `${v.toFixed(2)} GiB`), barTile(data)), stepBar(data)));
}
