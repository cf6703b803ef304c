// What to change first: one card a finding, with its fix, what it is worth, and where to look.
import { el } from "./dom.js";
import { formatTime } from "./format.js";

const percent = (share) => `${Math.round(share * 100)} %`;

function findingRows(data) {
	const f = data.finding, e = data.evidence, text = (sid) => data.texts[sid] ?? "";
	return Array.from({ length: f?.n ?? 0 }, (_, i) => ({
		text: text(f.text[i]), fix: text(f.fix[i]), gap: f.gap[i], confidence: f.confidence[i], under: f.under[i] >= 0,
		cost: f.cost[i], now: f.now[i], after: f.after[i], replayed: f.replayed[i] > 0, steady: f.steady[i] > 0,
		path: text(f.file[i]),
		where: [f.file[i] ? `${text(f.file[i]).split("/").slice(-2).join("/")}${f.line[i] >= 0 ? `:${f.line[i]}` : ""}` : "", text(f.function[i]), text(f.range[i]),
			text(f.op[i]), text(f.kernel[i]), f.rank[i] >= 0 ? `rank ${f.rank[i]}` : "", text(f.host[i])].filter(Boolean),
		facts: e ? Array.from(e.finding, (of, k) => of === i ? text(e.text[k]) : "").filter(Boolean) : [],
	}));
}

// "112 ms → 21 ms a step", or what it costs.
function worth(r) {
	const per = r.steady ? " a step" : "";
	if (r.now > 0 && r.after >= 0 && r.after < r.now)
		return el("p.worth", { title: r.replayed ? "from a replay of the critical path without it" : "the step less what it costs" },
			el("b", {}, `${formatTime(r.now)} → ${r.replayed ? "" : "≈ "}${formatTime(r.after)}`), per);
	if (r.cost > 0)
		return el("p.worth", {}, "costs ", el("b", {}, formatTime(r.cost)), r.now > 0 ? `, ${percent(r.cost / r.now)} of it` : "");
	return null;
}

function card(data, r) {
	const span = r.gap >= 0 && data.spanOfGap ? data.spanOfGap[r.gap] : -1;
	return el(r.under ? "li.under" : "li", {},
		el("p.said", {}, el("b", {}, r.text)),
		r.fix ? el("p.fix", {}, r.fix) : null,
		worth(r),
		r.where.length ? el("p.where", { title: r.path || false }, el("code", {}, r.where.join(" · "))) : null,
		el("p.links", {},
			span >= 0 ? el("a.evidence", { href: `#${data.tag}span=${span}` }, "show it") : null,
			r.confidence > 0 ? el("small", {}, `confidence ${percent(r.confidence)}`) : null),
		r.facts.length ? el("details.why", {}, el("summary", {}, "why"), el("ul", {}, ...r.facts.map((fact) => el("li", {}, fact)))) : null);
}

export function findings(data, ...notes) {
	const rows = findingRows(data);
	return el("aside.findings", { "aria-labelledby": "findings-title" },
		el("h2", { id: "findings-title" }, "What to change"),
		...notes,
		rows.length ? el("ol.verdicts", { id: "verdicts" }, ...rows.map((r) => card(data, r))) : el("p.muted", {}, "Nothing stands out in this run."));
}
