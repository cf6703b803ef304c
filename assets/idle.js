// Why devices were idle: by cause, by line of the program, and gap by gap.
import { bar, legend } from "./bars.js";
import { deviceName, enumText, listed, ranksInFull, rowsOf } from "./data.js";
import { spanLink } from "./details.js";
import { el, section, swatch } from "./dom.js";
import { formatCount, formatPercent, formatTime } from "./format.js";
import { causeColour } from "./palette.js";
import { lineText } from "./stacks.js";
import { countedTime } from "./steady.js";
import { makeTable } from "./tables.js";

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

// Sums by cause: [cause, { ns, gaps of the whole run, step: ns of a step that counts, of the device that stands for the run }].
function causeSums(data) {
	const g = data.gap, p = data.gap_part, causes = data.idle_cause, by = new Map(), [from, to, steps] = countedTime(data);
	for (let i = 0; i < (causes?.n ?? 0); i++) {
		const sum = by.get(causes.cause[i]) ?? { ns: 0, gaps: 0, step: 0 };
		by.set(causes.cause[i], { ...sum, ns: sum.ns + causes.dur[i], gaps: sum.gaps + causes.gaps[i] });
	}
	for (let i = 0; Number.isFinite(from) && i < (p?.n ?? 0); i++) {
		const gap = p.gap[i], inside = Math.min(to, g.ts[gap] + g.dur[gap]) - Math.max(from, g.ts[gap]);
		if (inside > 0 && g.device[gap] === data.steady.device[0] && by.has(p.cause[i]))
			by.get(p.cause[i]).step += p.dur[i] * inside / g.dur[gap] / steps;
	}
	return [...by].filter(([, c]) => c.ns);
}

// Causes as a bar and a table; of a step where there are steps, since starting up takes other things.
function causeTable(data, colourOf, name) {
	const sums = causeSums(data), stepped = sums.some(([, c]) => c.step > 0), key = stepped ? "step" : "ns";
	const list = sums.sort((a, b) => b[1][key] - a[1][key]), whole = (what) => list.reduce((sum, [, c]) => sum + c[what], 0), total = whole("ns"), step = whole("step");
	const shown = list.filter(([, c]) => c[key] > 0);
	return [
		legend(shown.map(([c]) => [colourOf(c), name(c)])),
		bar(shown.map(([c, v]) => [v[key] / whole(key), colourOf(c), `${name(c)} ${stepped ? formatTime(v.step) : formatPercent(v.ns, total)}`])),
		makeTable([
			{ title: "cause", value: (r) => name(r[0]), show: (r) => el("span.nowrap", {}, swatch(colourOf(r[0])), name(r[0])) },
			{ title: "a step", number: true, value: (r) => r[1].step, show: (r) => r[1].step ? `${formatTime(r[1].step)}  ${formatPercent(r[1].step, step)}` : "" },
			{ title: "whole run", number: true, value: (r) => r[1].ns, show: (r) => formatTime(r[1].ns) },
			{ title: "share", number: true, value: (r) => r[1].ns, show: (r) => formatPercent(r[1].ns, total) },
			{ title: "gaps", number: true, value: (r) => r[1].gaps, show: (r) => formatCount(r[1].gaps) },
			{ title: "meaning", words: true, value: (r) => name(r[0]), show: (r) => data.enums.cause_text?.[r[0]] ?? "" },
		], list, { caption: `Idle time by cause${stepped ? `: the mean of ${formatCount(countedTime(data)[2])} steps that count, and` : ";"} the whole run, where the causes sum to the idle time of all devices`, sort: stepped ? 1 : 2 }),
	];
}

function gapTable(data, colourOf, name) {
	const g = data.gap, show = (span) => span >= 0 ? spanLink(data, span) : "";
	return makeTable([
		{ title: "length", number: true, value: (i) => g.dur[i], show: (i) => formatTime(g.dur[i]) },
		{ title: "at", number: true, value: (i) => g.ts[i], show: (i) => data.spanOfGap?.[i] >= 0 ? spanLink(data, data.spanOfGap[i], formatTime(g.ts[i])) : formatTime(g.ts[i]) },
		{ title: "device", value: (i) => g.device[i], show: (i) => deviceName(data, g.device[i]) },
		{ title: "cause", value: (i) => g.cause[i], show: (i) => el("span.nowrap", {}, swatch(colourOf(g.cause[i])), name(g.cause[i])) },
		{ title: "meanwhile the launching thread ran", name: true, value: (i) => g.during[i], show: (i) => show(g.during[i]) },
		{ title: "behind", name: true, value: (i) => g.behind[i], show: (i) => el("span", {}, show(g.behind[i]), g.late[i] ? el("small", {}, ` rank ${g.late_rank[i]} came ${formatTime(g.late[i])} late`) : null) },
		{ title: "launched by", name: true, value: (i) => g.launch[i], show: (i) => show(g.launch[i]) },
		{ title: "ended by", name: true, value: (i) => g.gpu[i], show: (i) => show(g.gpu[i]) },
	], rowsOf(g), { caption: `Gaps${ranksInFull(data) ? ` of ${listed(ranksInFull(data))}` : ""}, longest first`, rows: 10, sort: 0 });
}

export function idle(data) {
	const name = (c) => enumText(data, "cause", c), colourOf = (c) => causeColour(data.enums.cause[c]);
	return !data.gap ? null : section("idle", "Why the GPU was idle", ...causeTable(data, colourOf, name), idleLines(data, colourOf, name), gapTable(data, colourOf, name));
}
