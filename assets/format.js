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

export function formatBytes(bytes) {
	return inUnits(bytes, [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]]);
}

// 1,348: the digits of --json, grouped.
export function formatCount(n) {
	return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function formatNumber(x) {
	if (!Number.isFinite(x))
		return "unknown";
	return Number.isInteger(x) ? formatCount(x) : Math.abs(x) >= 100 ? x.toFixed(1) : x.toPrecision(3);
}

export function formatPercent(part, whole) {
	return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "–";
}

// A kernel name without return type, template arguments and parameters; of a Python frame function, file and line.
export function shortName(name) {
	const frame = name.match(/([^/]+\.py)\((\d+)\): (.+)$/);
	if (frame)
		return `${frame[3]} · ${frame[1]}:${frame[2]}`;
	let out = "", depth = 0;
	const from = name.startsWith("void ") ? 5 : 0;
	for (let i = from; i < name.length; i++) {
		const c = name[i];
		if (c === "<")
			depth++;
		else if (c === ">" && depth)
			depth--;
		else if (c === "(" && !depth && !name.startsWith("(anonymous", i))
			break;
		else if (!depth)
			out += c;
	}
	return out.replace("(anonymous namespace)::", "").trim() || name;
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

// What a run is called: its directory when `assay record` made it, else its files; whole: with the folders before.
export function runTitle(run, whole = false) {
	const own = run.sources.find((s) => s.format === "run")?.path;
	const paths = own?.includes("/") ? [own.slice(0, own.lastIndexOf("/"))] : run.sources.map((s) => s.path);
	return (whole ? paths : paths.map((p) => p.split("/").pop())).join(" + ");
}
