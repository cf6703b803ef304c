// Why devices were idle: by cause, by line of the program, and gap by gap.
import { bar, legend } from "./bars.js";
import { countColumn, momentColumn, shareColumn, timeColumn, withShares } from "./columns.js";
import { deviceName, enumText, listed, ranksInFull, rowsOf, spanName } from "./data.js";
import { spanLink } from "./details.js";
import { el, section, swatch } from "./dom.js";
import { formatCount, formatMoment, formatPercent, formatTime } from "./format.js";
import { causeColour } from "./palette.js";
import { lineText, ownLine } from "./stacks.js";
import { countedTime } from "./steady.js";
import { makeTable } from "./tables.js";

// Calls visit(part, ns) for every part of a gap in the steps that count, of the device that stands for the run, with its share of a step.
function eachPartInSteps(data, visit) {
	const g = data.gap, p = data.gap_part, [from, to, steps] = countedTime(data);
	for (let i = 0; Number.isFinite(from) && i < (p?.n ?? 0); i++) {
		const gap = p.gap[i], inside = Math.min(to, g.ts[gap] + g.dur[gap]) - Math.max(from, g.ts[gap]);
		if (inside > 0 && g.device[gap] === data.steady.device[0])
			visit(i, p.dur[i] * inside / g.dur[gap] / steps);
	}
}

// Sums by cause and line of the program, without a stack by what the thread ran; of several that a line waited for the one that
// took longest stands there.
function lineSums(data) {
	const l = data.idle_line, p = data.gap_part, { during } = data.gap, by = new Map(), own = (stack) => data.stack.own[stack] >= 0 ? data.stack.own[stack] : stack;
	const key = (cause, stack, during) => stack >= 0 ? `${cause} ${data.stack.code[own(stack)]} ${data.stack.line[own(stack)]}` : `${cause} ${during < 0 ? "" : spanName(data, during)}`;
	const add = (cause, stack, during, culprit, ns, stretches) => {
		const k = key(cause, stack, during), sum = by.get(k) ?? { cause, stack, during, culprit, ns: 0, stretches: 0, step: 0 };
		by.set(k, { ...sum, ns: sum.ns + ns, stretches: sum.stretches + stretches });
	};
	for (let i = 0; i < l.n; i++) // longest first
		add(l.cause[i], l.stack[i], -1, l.culprit[i], l.dur[i], l.stretches[i]);
	for (let i = 0; i < p.n; i++)
		if (p.stack[i] < 0)
			add(p.cause[i], -1, during[p.gap[i]], -1, p.dur[i], 1);
	eachPartInSteps(data, (i, ns) => {
		const sum = by.get(key(p.cause[i], p.stack[i], during[p.gap[i]]));
		if (sum)
			sum.step += ns;
	});
	return [...by.values()];
}

// Lines of the program at which the launching thread was while a device waited; a line leads to its events.
function idleLines(data, colourOf, name, find) {
	if (!data.idle_line || !data.stack)
		return null;
	const rows = lineSums(data), stepped = rows.some((r) => r.step > 0);
	const line = (r) => r.stack < 0 ? r.during < 0 ? "no stack" : el("span", {}, "in ", spanLink(data, r.during))
		: ownLine(data, r.stack) ? el("button.plain", { type: "button", title: "all events of this line", onclick: () => find(`line=${ownLine(data, r.stack)}`) }, lineText(data, r.stack)) : lineText(data, r.stack);
	return makeTable([
		timeColumn("a step", (r) => r.step || null),
		timeColumn("whole run", (r) => r.ns),
		countColumn("stretches", (r) => r.stretches),
		{ title: "cause", value: (r) => name(r.cause), show: (r) => el("span.nowrap", {}, swatch(colourOf(r.cause)), name(r.cause)) },
		{ title: "the launching thread was at", name: true, value: (r) => r.stack >= 0 ? ownLine(data, r.stack) : r.during >= 0 ? spanName(data, r.during) : "", show: line },
		{ title: "waiting for a thread at", name: true, value: (r) => ownLine(data, r.culprit), show: (r) => lineText(data, r.culprit) },
	], rows, { caption: "Idle time by line of the program", rows: 10, sort: stepped ? 0 : 1, search: "Filter lines" });
}

// Sums by cause: [cause, { ns, gaps of the whole run, step: ns of a step that counts, of the device that stands for the run }].
function causeSums(data) {
	const causes = data.idle_cause, by = new Map();
	for (let i = 0; i < (causes?.n ?? 0); i++) {
		const sum = by.get(causes.cause[i]) ?? { ns: 0, gaps: 0, step: 0 };
		by.set(causes.cause[i], { ...sum, ns: sum.ns + causes.dur[i], gaps: sum.gaps + causes.gaps[i] });
	}
	eachPartInSteps(data, (i, ns) => {
		const sum = by.get(data.gap_part.cause[i]);
		if (sum)
			sum.step += ns;
	});
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
			withShares(timeColumn("a step", (r) => r[1].step || null), () => step),
			timeColumn("whole run", (r) => r[1].ns),
			shareColumn("share", (r) => r[1].ns, total),
			countColumn("gaps", (r) => r[1].gaps),
			{ title: "meaning", words: true, value: (r) => name(r[0]), show: (r) => data.enums.cause_text?.[r[0]] ?? "" },
		], list, { caption: `Idle time by cause${stepped ? `: the mean of ${formatCount(countedTime(data)[2])} steps that count, and` : ";"} the whole run, where the causes sum to the idle time of all devices`, sort: stepped ? 1 : 2 }),
	];
}

function gapTable(data, colourOf, name) {
	const g = data.gap, show = (span) => span >= 0 ? spanLink(data, span) : "";
	return makeTable([
		timeColumn("length", (i) => g.dur[i]),
		momentColumn("at", (i) => g.ts[i], { show: (i) => data.spanOfGap?.[i] >= 0 ? spanLink(data, data.spanOfGap[i], formatMoment(g.ts[i])) : formatMoment(g.ts[i]) }),
		{ title: "device", value: (i) => g.device[i], show: (i) => deviceName(data, g.device[i]) },
		{ title: "cause", value: (i) => g.cause[i], show: (i) => el("span.nowrap", {}, swatch(colourOf(g.cause[i])), name(g.cause[i])) },
		{ title: "meanwhile the launching thread ran", name: true, value: (i) => g.during[i], show: (i) => show(g.during[i]) },
		{ title: "behind", name: true, value: (i) => g.behind[i], show: (i) => el("span", {}, show(g.behind[i]), g.late[i] ? el("small", {}, ` rank ${g.late_rank[i]} came ${formatTime(g.late[i])} late`) : null) },
		{ title: "launched by", name: true, value: (i) => g.launch[i], show: (i) => show(g.launch[i]) },
		{ title: "ended by", name: true, value: (i) => g.gpu[i], show: (i) => show(g.gpu[i]) },
	], rowsOf(g), { caption: `Gaps${ranksInFull(data) ? ` of ${listed(ranksInFull(data))}` : ""}, longest first`, rows: 10, sort: 0 });
}

export function idle(data, find) {
	const name = (c) => enumText(data, "cause", c), colourOf = (c) => causeColour(data.enums.cause[c]);
	return !data.gap ? null : section("idle", "Why the GPU was idle", ...causeTable(data, colourOf, name), idleLines(data, colourOf, name, find), gapTable(data, colourOf, name));
}
