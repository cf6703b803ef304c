// Two runs side by side: what changed, by how much, and whether it is more than chance.
import { PARTS, bar, legend } from "./bars.js";
import { pairColumn, timeColumn } from "./columns.js";
import { choice, el, section, swatch } from "./dom.js";
import { formatMean, formatPercent, formatTime, runTitle, shortName, spaced, units } from "./format.js";
import { CLASS_COLOURS, causeColour } from "./palette.js";
import { makeTable } from "./tables.js";

const NAMES = ["before", "after"];

const timeOr = (ns) => ns === null ? "unknown" : formatTime(ns);

function changeText(d) {
	return d.change_ns === null ? "" : `${d.change_ns > 0 ? "+" : ""}${formatTime(d.change_ns)}`;
}

// Columns every table of changes has.
function changeColumns(first) {
	return [
		...first,
		timeColumn("before", (d) => d.a_ns, { show: (d) => timeOr(d.a_ns) }),
		timeColumn("after", (d) => d.b_ns, { show: (d) => timeOr(d.b_ns) }),
		timeColumn("change", (d) => d.change_ns, { show: changeText }),
		timeColumn("by chance up to", (d) => d.noise_ns),
		{ title: "verdict", value: (d) => d.real, show: (d) => d.real ? el("b", {}, d.verdict) : d.verdict ?? "" },
	];
}

const signedTime = (ns) => `${ns > 0 ? "+" : ""}${formatTime(ns)}`;
const signedPercent = (part, whole) => `${part > 0 ? "+" : part < 0 ? "−" : ""}${formatPercent(Math.abs(part), whole)}`;

// Step times and how they changed, beside one bar of each run's step.
function stepLine(diff) {
	const { a_ns: before, b_ns: after, change_ns: change, verdict } = diff.step, tile = (title, value) => el("div.tile", {}, el("dt", {}, title), el("dd", {}, value));
	const names = Object.fromEntries(PARTS), longest = Math.max(1, sumOf(diff.parts, "a_ns"), sumOf(diff.parts, "b_ns"));
	const parts = (side) => bar(diff.parts.map((d) => [d[side] / longest, CLASS_COLOURS[d.name] ?? "--other", `${names[d.name] ?? spaced(d.name)} ${formatTime(d[side])}`]), "bar.thin");
	return el("div.line", {}, el("dl.tiles", {},
		tile("step before", timeOr(before)), tile("step after", timeOr(after)),
		change === null ? null : tile(verdict === "noise" ? "change, within noise" : "change", `${signedTime(change)}${before > 0 ? ` (${signedPercent(change, before)})` : ""}`)),
	el("a.step-bar", { href: "#parts", "aria-label": "Where the time of a step went, before and after" }, parts("a_ns"), parts("b_ns")));
}

// Paths without the folders that all of them begin with.
function apart(paths) {
	const parts = paths.map((path) => path.split("/")), shortest = Math.min(...parts.map((p) => p.length));
	let same = 0;
	while (same < shortest - 1 && parts.every((p) => p[same] === parts[0][same]))
		same++;
	return parts.map((p) => p.slice(same).join("/"));
}

export function compareHeader(runs, diff, button) {
	return el("header", {},
		el("div.line", {}, el("h1", {}, "Before and after"),
			el("div.ran", {}, ...apart(runs.map((run) => runTitle(run, true))).map((name, i) => el("p.named", { title: runTitle(runs[i], true) }, el("span.muted", {}, `${NAMES[i]} `), name))), button),
		stepLine(diff));
}

const MOST_CHANGES = 4;

// The largest real changes of a list as cards: [change, text, tab, query for their events].
const largest = (rows, text, tab, query) => (rows ?? []).filter((d) => d.real && d.change_ns).sort((a, b) => Math.abs(b.change_ns) - Math.abs(a.change_ns)).slice(0, MOST_CHANGES).map((d) => [d.change_ns, text(d), tab, query(d)]);

// Other code, families of kernels, causes of idle time, lines of the program, operators; the largest change first.
function changesOf(diff) {
	const size = ([ns]) => Math.abs(ns ?? 0);
	return [
		...diff.switches.map((s) => [s.change_ns, `${s.family}: ${s.a} → ${s.b}${s.fallback ? " (a fallback)" : ""}`, "switches", `class=${s.family}`]),
		...largest(diff.families, (d) => `${spaced(d.name)} kernels`, "kernels", (d) => `class=${d.name}`),
		...largest(diff.idle_causes, (d) => `idle: ${spaced(d.name)}`, "idle", (d) => `class="idle: ${spaced(d.name)}"`),
		...largest(diff.lines, (d) => `work of ${d.name}`, "lines", (d) => `line=${lineOf(d.name)}`),
		...largest(diff.waiting_lines, (d) => `idle at ${d.name}`, "lines", (d) => `line=${lineOf(d.name)}`),
		...largest(diff.ops, (d) => `operator ${d.name}`, "operators", (d) => `name=${d.name}`),
	].sort((a, b) => size(b) - size(a));
}

// Marks the events of a query in both runs.
const findButton = (query, find) => el("button.find", { type: "button", title: "find in both runs", "aria-label": `find in both runs: ${query}`, onclick: () => find(query) }, "find");

function differentPrograms({ different_programs: different, common_gpu_share: shares }) {
	return !different || !shares ? null : el("li", {}, el("p", {}, el("b", {}, "Hardly the same program: "),
		`kernels that both runs have take ${shares.map((share) => formatPercent(share, 1)).join(" and ")} of their GPU time.`));
}

// Then nothing that changes is told from what changes by chance.
function oneStep({ steps }) {
	const side = NAMES.filter((_, i) => steps[i] < 2);
	return !side.length ? null : el("li", {}, el("p", {}, el("b", {}, "Large, not proven: "), `${side.join(" and ")} ${side.length > 1 ? "have" : "has"} fewer than two steps that count, so nothing says what changes by chance.`));
}

function largestChanges(changes, find) {
	return !changes.length ? [] : [el("h3.name", {}, "Largest changes a step"),
		el("ul.changes", {}, ...changes.map(([ns, text, tab, query]) => el("li", {}, el("b", {}, signedTime(ns)),
			el("span", {}, el("a", { href: `#${tab}` }, text), " ", findButton(query, find)))))];
}

export function compareFindings(diff, find) {
	return el("aside.findings", { "aria-labelledby": "findings-title" },
		el("h2", { id: "findings-title" }, "What changed"),
		el("ol.verdicts", {}, el("li", {}, el("p.said", {}, el("b", {}, units(diff.sentence)))), differentPrograms(diff), oneStep(diff)),
		...largestChanges(changesOf(diff), find));
}

const sumOf = (rows, side) => rows.reduce((sum, d) => sum + d[side], 0);

// A bar of each run, as long as its parts; the whole width is the longer step, pauses between steps included.
function bars(diff, rows, colour, name) {
	const longest = Math.max(1, ...["a_ns", "b_ns"].flatMap((side) => [diff.step[side], sumOf(diff.parts, side), sumOf(rows, side)]));
	return ["a_ns", "b_ns"].map((side, i) => el("div.device", {},
		el("div.device-name", {}, NAMES[i], el("small", {}, ` ${formatTime(sumOf(rows, side))} a step`)),
		bar(rows.map((d) => [d[side] / longest, colour(d), `${name(d)} ${formatTime(d[side])}`]))));
}

export function compareParts(diff) {
	const names = Object.fromEntries(PARTS), colour = (d) => CLASS_COLOURS[d.name] ?? "--other";
	return section("parts", "Where a step's time went",
		legend(diff.parts.map((d) => [colour(d), names[d.name] ?? spaced(d.name)])),
		...bars(diff, diff.parts, colour, (d) => names[d.name] ?? spaced(d.name)),
		makeTable(changeColumns([{ title: "part", value: (d) => d.name, show: (d) => d === diff.step ? "step" : el("span.nowrap", {}, swatch(colour(d)), names[d.name] ?? spaced(d.name)) }]),
			[diff.step, ...diff.parts], { caption: `Per step of the main device: ${diff.steps[0]} before, ${diff.steps[1]} after; the step is their ${diff.step_is}` +
				(sumOf(diff.parts, "a_ns") > 1.05 * diff.step.a_ns || sumOf(diff.parts, "b_ns") > 1.05 * diff.step.b_ns ? "; the parts are of the time from one step to the next" : "") }));
}

export function compareSwitches(diff) {
	return !diff.switches.length ? null : section("switches", "Other code than before", makeTable([
		{ title: "operators", value: (s) => s.family, show: (s) => s.family },
		{ title: "before", words: true, value: (s) => s.a, show: (s) => s.a },
		{ title: "after", words: true, value: (s) => s.b, show: (s) => s.fallback ? el("b", {}, `${s.b} (a fallback)`) : s.b },
		timeColumn("change a step", (s) => s.change_ns, { show: changeText }),
		{ title: "in the environment", words: true, value: (s) => s.environment ?? "", show: (s) => s.environment ?? "" },
	], diff.switches, { caption: "Operators whose kernels come from elsewhere" }));
}

export function compareBudget(diff) {
	const rows = diff.budget.filter((d) => d.unit === "ns"), other = diff.budget.filter((d) => d.unit !== "ns" && d.a !== null && d.b !== null);
	return !rows.length ? null : section("budget", "Waste budget",
		makeTable(changeColumns([{ title: "bucket", value: (d) => d.name, show: (d) => spaced(d.name) }]), rows, { caption: "Time per step by kind of waste; waits between steps count too" }),
		...other.map((d) => el("p", {}, `${spaced(d.name)}: ${d.a.toFixed(1)} ${d.unit} before, ${d.b.toFixed(1)} ${d.unit} after`)));
}

export function compareWaits(diff) {
	return !diff.waits.length ? null : section("waits", "Waits", makeTable([
		...changeColumns([{ title: "kind", value: (d) => d.name, show: (d) => spaced(d.name) }]),
		pairColumn("calls a step", (d) => d.a_count, (d) => d.b_count, formatMean),
		pairColumn("producer known", (d) => d.a_resolved, (d) => d.b_resolved, formatMean),
	], diff.waits, { caption: "Time threads were blocked and streams held up, per step" }));
}

export function compareEnvironment(diff) {
	const env = diff.environment;
	if (env.missing)
		return section("environments", "Environments", el("p", {}, `Not compared: ${env.missing}.`));
	return section("environments", "Environments", makeTable([
		{ title: "field", value: (r) => r.path, show: (r) => r.path },
		{ title: "before", words: true, value: (r) => r.a, show: (r) => el("code", {}, r.a) },
		{ title: "after", words: true, value: (r) => r.b, show: (r) => el("code", {}, r.b) },
		{ title: "kind", value: (r) => r.kind, show: (r) => r.kind },
		{ title: "why it matters", wide: true, value: (r) => r.why, show: (r) => r.follows_from ? `${r.why}; follows from ${r.follows_from}` : r.why },
	], env.rows, { caption: `Fields that differ, most consequential first; ${env.same} are the same, ${env.unknown} are known on one side only`, search: "Filter fields" }));
}

export function compareCauses(diff) {
	const rows = diff.idle_causes.filter((d) => d.a_ns || d.b_ns);
	if (!rows.length)
		return null;
	const colour = (d) => causeColour(d.name);
	return section("idle", "Why the GPU was idle",
		legend(rows.map((d) => [colour(d), spaced(d.name)])),
		...bars(diff, rows, colour, (d) => spaced(d.name)),
		makeTable(changeColumns([{ title: "cause", value: (d) => d.name, show: (d) => el("span.nowrap", {}, swatch(colour(d)), spaced(d.name)) }]),
			rows, { caption: "Idle time per step, by cause" }));
}

export function compareKernels(diff, find) {
	return section("kernels", "Kernels", makeTable([
		...changeColumns([]),
		pairColumn("launches a step", (d) => d.a_count, (d) => d.b_count, formatMean),
		{ title: "kept", value: (d) => d.change, show: (d) => d.change === "changed" ? "" : d.change },
		{
			title: "name", wide: true, value: (d) => d.name,
			show: (d) => el("span.kernel", { title: d.name }, findButton(d.name, find), shortName(d.name), shortName(d.name) !== d.name ? el("small", {}, d.name) : null),
		},
	], diff.kernels, { caption: "Kernels, copies and memsets per step, largest change first", search: "Filter kernels" }));
}

export function compareOperators(diff, find) {
	return !diff.ops?.length ? null : section("operators", "Operators", makeTable([
		...changeColumns([]),
		pairColumn("calls a step", (d) => d.a_count, (d) => d.b_count, formatMean),
		{ title: "kept", value: (d) => d.change, show: (d) => d.change === "changed" ? "" : d.change },
		{ title: "operator", name: true, value: (d) => d.name, show: (d) => el("span", {}, findButton(`name=${d.name}`, find), d.name) },
	], diff.ops, { caption: "GPU time of operators per step, largest change first", search: "Filter operators" }));
}

// "x.py:38 f" of a line, "x.py f" of its function: lines move from one version to the next.
const functionOf = (name) => name.replace(/:\d+(?= |$)/, "");
const lineOf = (name) => name.match(/^\S+:\d+/)?.[0] ?? "";

// Lines of a function as one row; how much comes by chance is not known then.
function byFunction(rows) {
	const sums = new Map();
	for (const d of rows) {
		const name = functionOf(d.name), sum = sums.get(name) ?? { name, a_ns: 0, b_ns: 0, change_ns: 0, noise_ns: null, a_count: 0, b_count: 0, real: false, verdict: null };
		sums.set(name, sum);
		for (const key of ["a_ns", "b_ns", "change_ns", "a_count", "b_count"])
			sum[key] += d[key];
		if (!sum.verdict || d.real)
			sum.verdict = d.verdict;
		sum.real ||= d.real;
	}
	return [...sums.values()].map((d) => ({ ...d, change: !d.a_ns ? "added" : !d.b_ns ? "removed" : "changed" })).sort((a, b) => Math.abs(b.change_ns) - Math.abs(a.change_ns));
}

function codeTable(rows, find, what, caption) {
	return !rows.length ? null : makeTable([
		...changeColumns([]),
		pairColumn(what, (d) => d.a_count, (d) => d.b_count, formatMean),
		{ title: "kept", value: (d) => d.change, show: (d) => d.change === "changed" ? "" : d.change },
		{ title: "where", name: true, value: (d) => d.name, show: (d) => lineOf(d.name) ? el("button.plain", { type: "button", title: "all events of this line", onclick: () => find(`line=${lineOf(d.name)}`) }, d.name) : d.name },
	], rows, { caption, search: "Filter lines" });
}

// Lines of the program, or its functions.
export function compareLines({ lines = [], waiting_lines: waiting = [] }, find) {
	if (!lines.length && !waiting.length)
		return null;
	const place = el("div");
	const fill = (of) => place.replaceChildren(...[
		codeTable(of(lines), find, "launches a step", "GPU work by where it was launched, per step, largest change first"),
		codeTable(of(waiting), find, "stretches a step", "GPU idle time by where the launching thread was, per step, largest change first")].filter(Boolean));
	fill((rows) => rows);
	return section("lines", "Code", el("div.toolbar", {}, choice("code", "What a row is", [["line", "by line"], ["function", "by function"]], (unit) => fill(unit === "function" ? byFunction : (rows) => rows))), place);
}

export function compareFacts(diff) {
	return !diff.facts.length ? null : section("facts", "What else differs", makeTable([
		{ title: "what", value: (f) => f.name, show: (f) => spaced(f.name) },
		{ title: "before", words: true, value: (f) => f.a, show: (f) => f.a },
		{ title: "after", words: true, value: (f) => f.b, show: (f) => f.b },
	], diff.facts, { caption: "Versions and choices found in the inputs" }));
}
