// Steps: one bar each, and a table.
import { PARTS, legend } from "./bars.js";
import { countColumn, timeColumn, withShares } from "./columns.js";
import { deviceName, rowsOf } from "./data.js";
import { el, section } from "./dom.js";
import { formatTime } from "./format.js";
import { CLASS_COLOURS } from "./palette.js";
import { ranksNote } from "./sections.js";
import { makeTable } from "./tables.js";

const TALL = 72, LOW = 6; // pixels of the tallest bar and of one without length
const MOST_BARS = 400, OUT_OF_SCALE = 2.5; // bars longer than so many medians are cut

function stepTitle(data, row) {
	const number = data.step.number[row];
	return number >= 0 ? `step ${number}` : `step ${row + 1}`;
}

// Rows to draw, the longest of each few where there are more than fit.
function barRows(length) {
	const each = Math.ceil(length.length / MOST_BARS), rows = [];
	for (let i = 0; i < length.length; i += each) {
		let most = i;
		for (let k = i; k < Math.min(length.length, i + each); k++)
			most = length[k] > length[most] ? k : most;
		rows.push(most);
	}
	return { rows, each };
}

// One bar a step, as long as the step is; one far beyond the others, as the first steps of a run are, is cut and says so.
function stepBars(length, start, title, fill) {
	const { rows, each } = barRows(length), sorted = [...length].sort((a, b) => a - b);
	const full = sorted.findLast((ns) => ns <= OUT_OF_SCALE * sorted[sorted.length >> 1]) || 1;
	return el("div", {}, el("div.steps", {}, ...rows.map((i) => el(length[i] > full ? "a.step.cut" : "a.step", {
		href: `#time=${start[i]},${length[i]}`, title: `${title(i)}: ${formatTime(length[i])}`,
		style: { height: `${LOW + TALL * Math.min(1, length[i] / full)}px` },
	}, ...fill(i)))),
	each > 1 || sorted.at(-1) > full ? el("p.muted", {}, [each > 1 ? `A bar stands for the longest of ${each} steps.` : "", sorted.at(-1) > full ? `Bars with a gap are cut: longer than ${formatTime(full)}.` : ""].join(" ").trim()) : null);
}

function workedSteps(data) {
	const s = data.step_time, part = (key, i) => el("i", { style: { height: `${100 * s[key][i] / (s.span[i] || 1)}%`, background: `var(${CLASS_COLOURS[key]})` } });
	return section("steps", "Step by step", ranksNote(data), legend(PARTS.map(([key, title]) => [CLASS_COLOURS[key], title])),
		stepBars(s.span, s.start, (i) => `${stepTitle(data, s.step[i])}, ${deviceName(data, s.device[i])}`, (i) => PARTS.map(([key]) => part(key, i))),
		makeTable([
			{ title: "step", value: (i) => i, show: (i) => el("a", { href: `#time=${s.start[i]},${s.span[i]}` }, stepTitle(data, s.step[i])) },
			{ title: "device", value: (i) => s.device[i], show: (i) => deviceName(data, s.device[i]) },
			timeColumn("span", (i) => s.span[i]),
			...PARTS.map(([key, title]) => withShares(timeColumn(title, (i) => s[key][i] || null), (i) => s.span[i])),
			countColumn("GPU events", (i) => s.events[i]),
		], rowsOf(s), { caption: "Work launched in each step, on each device", rows: 15 }));
}

export function steps(data) {
	if (data.step_time)
		return workedSteps(data);
	const s = data.step;
	return !s ? null : section("steps", "Step by step",
		stepBars(s.dur, s.ts, (i) => stepTitle(data, i), () => [el("i", { style: { height: "100%", background: "var(--accent)" } })]),
		makeTable([
			{ title: "step", value: (i) => i, show: (i) => el("a", { href: `#time=${s.ts[i]},${s.dur[i]}` }, stepTitle(data, i)) },
			{ title: "from", name: true, value: (i) => s.source[i], show: (i) => data.sources[s.source[i]]?.path ?? "" },
			timeColumn("length", (i) => s.dur[i]),
		], rowsOf(s), { caption: "Step markers on the host", rows: 15 }));
}
