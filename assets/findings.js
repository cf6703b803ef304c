// What to change first: one card a finding, with its fix, what it is worth, and where to look.
import { el } from "./dom.js";
import { formatTime, units } from "./format.js";
import { frameText, ownLine, stackRows } from "./stacks.js";
import { countedTime } from "./steady.js";

const percent = (share) => `${Math.round(share * 100)} %`;

function findingRows(data) {
	const f = data.finding, e = data.evidence, text = (sid) => data.texts[sid] ?? "";
	return Array.from({ length: f?.n ?? 0 }, (_, i) => ({
		id: text(f.id[i]), cause: text(f.cause[i]), text: units(text(f.text[i])), fix: text(f.fix[i]), gap: f.gap[i], confidence: f.confidence[i], under: f.under[i] >= 0,
		cost: f.cost[i], now: f.now[i], after: f.after[i], least: f.after_least[i], most: f.after_most[i], replayed: f.replayed[i] > 0, steady: f.steady[i] > 0,
		path: text(f.file[i]), line: f.line[i], names: [text(f.kernel[i]), text(f.op[i]), text(f.range[i])].filter(Boolean), rank: f.rank[i],
		where: [text(f.function[i]), text(f.range[i]),
			text(f.op[i]), text(f.kernel[i]), f.rank[i] >= 0 ? `rank ${f.rank[i]}` : "", text(f.host[i])].filter(Boolean),
		facts: e ? Array.from(e.finding, (of, k) => of === i ? units(text(e.text[k])) : "").filter(Boolean) : [],
	}));
}

// The longest event that is meant, of the first `n`, in a step that counts where one is; -1 for none.
function longestOf(data, n, meant) {
	const [from, to] = countedTime(data);
	let best = -1, inside = false;
	for (let i = 0; i < n; i++) {
		const counts = data.start[i] >= from && data.start[i] < to;
		if (meant(i) && (best < 0 || counts > inside || counts === inside && data.dur[i] > data.dur[best]))
			[best, inside] = [i, counts];
	}
	return best;
}

// The same of events whose name is, or has in it, a text.
function longestNamed(data, matches) {
	const own = Uint8Array.from(data.texts, (text) => matches(text) ? 1 : 0);
	return own.includes(1) ? longestOf(data, data.first_gap, (i) => own[data.name[i]]) : -1;
}

// The same of the work of a rank, when its events are on the page.
function longestOfRank(data, rank) {
	const own = data.lanes.filter((lane) => lane.first < data.gpu.n && data.sources[data.tracks[lane.track].source]?.rank === rank);
	return own.length ? longestOf(data, data.gpu.n, (i) => own.some((lane) => i >= lane.first && i < lane.last)) : -1;
}

// The span that shows a finding best: its longest gap, else an event of a name it tells, whole or shortened as those of kernels, else the
// work of its rank; -1 for none.
function spanOf(data, r) {
	if (r.gap >= 0 && data.spanOfGap)
		return data.spanOfGap[r.gap];
	for (const name of r.names)
		for (const matches of [(text) => text === name, (text) => text.includes(name)]) {
			const span = longestNamed(data, matches);
			if (span >= 0)
				return span;
		}
	return r.rank >= 0 ? longestOfRank(data, r.rank) : -1;
}

// [from, to] of idle time that is no gap, since nothing ran before it: until the first work began, from the start or from its launch. null for none.
function timeBefore(data, r) {
	const { start, dur, gpu, enums } = data;
	let first = 0;
	for (let i = 1; i < gpu.n; i++)
		first = start[i] < start[first] ? i : first;
	const launch = r.id === "not_started" ? gpu.launch[first] ?? -1 : -1, from = launch >= 0 ? start[launch] + dur[launch] : 0;
	return gpu.n && enums.cause.includes(r.cause) && start[first] > from ? [from, start[first]] : null;
}

// A link to the place of a finding, or why there is none.
function showLink(data, r, linked) {
	const span = spanOf(data, r), time = span < 0 ? timeBefore(data, r) : null, stretch = time ? `${time[0]},${time[1] - time[0]}` : "";
	if (span < 0 && !time)
		return el("small.evidence", {}, linked ? "its line leads to its events" : r.id.startsWith("record_") ? "nothing to show: it was not recorded" : "no single event shows it");
	return el("a.evidence", { href: span >= 0 ? `#${data.tag}span=${span}` : `#${data.tag}time=${stretch}&${data.tag}area=${stretch}`, "aria-label": `show it: ${r.text}` }, "show it");
}

// What to search for to see all events of a line of the program: by stacks of launches and gaps, or by the names of Python's frames.
function lineQuery(data, place) {
	const frame = place.replace(/:(\d+)$/, "($1)");
	data.lines ??= new Set(Array.from(new Set(stackRows(data)), (row) => ownLine(data, row)));
	return data.lines.has(place) ? `line=${place}` : data.texts.some((text) => text.includes(frame)) ? `name~"${frame}"` : "";
}

// Did the sampler see the line?
function wasSeen(data, place) {
	if (!data.look || !data.code)
		return false;
	data.seenLines ??= new Set(Array.from(data.stack.code, (_, row) => frameText(data, row).split(" · ").pop()));
	return data.seenLines.has(place);
}

// " (9.8 ms to 14.1 ms)" where bounds are known, " at best" where only that one is.
function bounds(r) {
	const [least, most] = [r.least, r.most].map((time) => time >= 0 ? formatTime(time) : "");
	return !least || least === most ? "" : most ? ` (${least} to ${most})` : " at best";
}

// "112 ms → 21 ms a step", or what it costs.
function worth(r) {
	const per = r.steady ? " a step" : "";
	if (r.now > 0 && r.after >= 0 && r.after < r.now)
		return el("p.worth", { title: r.replayed ? "from a replay of the critical path without it" : "the step less what it costs" },
			el("b", {}, `${formatTime(r.now)} → ${r.replayed ? "" : "≈ "}${formatTime(r.after)}`), per + bounds(r));
	if (r.cost > 0)
		return el("p.worth", {}, "costs ", el("b", {}, formatTime(r.cost)), r.now > 0 ? `, ${percent(r.cost / r.now)} of it` : "");
	return null;
}

// The line of the program leads to its events, or to the stacks that show it.
function placeLink(data, r, { find, stacks }) {
	const line = r.path ? `${r.path.split("/").slice(-2).join("/")}${r.line >= 0 ? `:${r.line}` : ""}` : "", place = line.split("/").pop();
	const query = r.line >= 0 && line ? lineQuery(data, place) : "", seen = r.line >= 0 && line && !query && wasSeen(data, place);
	return query || seen ? el("button.plain", {
		type: "button", title: query ? `all events of this line: ${query}` : "the stacks that the sampler saw here", onclick: () => query ? find(query) : stacks(place),
	}, line) : line;
}

function whereText(r, place) {
	return place || r.where.length ? el("p.where", { title: r.path || false }, el("code", {}, place, place && r.where.length ? " · " : "", r.where.join(" · "))) : null;
}

function card(data, r, go) {
	const place = placeLink(data, r, go);
	return el(r.under ? "li.under" : "li", {},
		el("p.said", {}, el("b", {}, r.text)),
		r.fix ? el("p.fix", {}, r.fix) : null,
		worth(r),
		whereText(r, place),
		el("p.links", {},
			showLink(data, r, typeof place !== "string"),
			r.rank >= 0 ? el("a", { href: "#ranks" }, "ranks") : null,
			r.confidence > 0 ? el("small", {}, `confidence ${percent(r.confidence)}`) : null),
		r.facts.length ? el("details.why", {}, el("summary", {}, "why"), el("ul", {}, ...r.facts.map((fact) => el("li", {}, fact)))) : null);
}

export function findings(data, go, ...notes) {
	const rows = findingRows(data);
	return el("aside.findings", { "aria-labelledby": "findings-title" },
		el("h2", { id: "findings-title" }, "What to change"),
		rows.length ? el("ol.verdicts", { id: "verdicts" }, ...rows.map((r) => card(data, r, go))) : el("p.muted", {}, "Nothing stands out in this run."),
		...notes);
}
