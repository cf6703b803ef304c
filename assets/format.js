// Numbers and names as people read them; the same rules as src/base/fmt.c.

const TIME_UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

function inUnits(value, units) {
	const size = Math.abs(value);
	const [unit, scale] = units.find(([, s]) => size >= s) ?? units[units.length - 1];
	const x = size / scale;
	const decimals = scale === 1 || x >= 100 ? 0 : x >= 10 ? 1 : 2;
	return `${value < 0 ? "−" : ""}${x.toFixed(decimals)} ${unit}`;
}

export function formatTime(ns) {
	return inUnits(ns, TIME_UNITS);
}

// A moment, told from its neighbours: "7,434.070 ms" after the first event; with six decimals to the nanosecond.
export function formatMoment(ns, decimals = 3) {
	const [whole, part] = (Math.abs(ns) / 1e6).toFixed(decimals).split(".");
	return `${ns < 0 ? "−" : ""}${formatCount(whole)}.${part} ms`;
}

export function formatBytes(bytes) {
	return inUnits(bytes, [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]]);
}

export function formatRate(flops) {
	return inUnits(flops, [["PFLOP/s", 1e15], ["TFLOP/s", 1e12], ["GFLOP/s", 1e9], ["MFLOP/s", 1e6]]);
}

// 1,348: the digits of --json, grouped.
export function formatCount(n) {
	return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

// 14, or 0.2 of what does not come every time.
export const formatMean = (n) => Number.isInteger(n) ? formatCount(n) : n.toFixed(1);

export function formatNumber(x) {
	if (!Number.isFinite(x))
		return "unknown";
	return Number.isInteger(x) ? formatCount(x) : Math.abs(x) >= 100 ? x.toFixed(1) : x.toPrecision(3);
}

// Names of the model as words.
export const spaced = (name) => name.replaceAll("_", " ");

export function formatPercent(part, whole) {
	return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "–";
}

// "23.2 ms   67.5 %": in a column, shares stand below each other.
export function withShare(text, part, whole) {
	return `${text}  ${formatPercent(part, whole).padStart("100.0 %".length, "\u2007")}`;
}

// Short names of GPU work, made by the same code as those of the text report; of all runs of the page.
const labels = new Map();

export function keepLabels(names, short) {
	short.forEach((label, i) => labels.set(names[i], label));
}

// Of GPU work its label, of a Python frame function, file and line.
export function shortName(name) {
	const frame = name.match(/([^/]+\.py)\((\d+)\): (.+)$/);
	return labels.get(name) ?? (frame ? `${frame[3]} · ${frame[1]}:${frame[2]}` : name);
}

// [smallest, largest]; for lists too long to be arguments of Math.min.
export function extremes(values) {
	let low = Infinity, high = -Infinity;
	for (const v of values) {
		if (v < low)
			low = v;
		if (v > high)
			high = v;
	}
	return [low, high];
}

// The folder that all paths lie in, "" for none.
function folderOf(paths) {
	const parts = paths.map((p) => p.split("/").slice(0, -1));
	const differ = parts[0].findIndex((part, i) => parts.some((p) => p[i] !== part));
	return parts[0].slice(0, differ < 0 ? parts[0].length : differ).join("/");
}

const FEW_FILES = 4;

// What a run is called: its directory when `assay record` made it or it has many files, else its files; whole: with the
// folders before.
export function runTitle(run, whole = false) {
	const all = [...new Set(run.sources.map((s) => s.path))]; // a file may hold several processes
	const own = run.sources.find((s) => s.format === "run")?.path;
	const folder = all.length > FEW_FILES ? folderOf(all) : "";
	const paths = own?.includes("/") ? [own.slice(0, own.lastIndexOf("/"))] : folder ? [folder] : all;
	const shown = paths.length > FEW_FILES ? [...paths.slice(0, FEW_FILES), `${formatCount(paths.length - FEW_FILES)} more`] : paths;
	return (whole ? shown : shown.map((p) => p.split("/").pop())).join(" + ");
}

// Text of an address; as it stands when it is none.
export function decoded(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

// Texts that terminals have too, which have no µ and no arrows.
export const units = (text) => text.replace(/(\d) us\b/g, "$1 µs").replaceAll(" -> ", " → ");

// A distance of marks that is not below a rough one: 1, 2 or 5 of its power of ten.
export function roundStep(rough) {
	const power = 10 ** Math.floor(Math.log10(rough));
	return power * ([1, 2, 5].find((m) => m * power >= rough) ?? 10);
}
