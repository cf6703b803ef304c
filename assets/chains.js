// Why a wait lasted: from its end back to where the time was spent, as `assay waits --chains` tells it.
import { el } from "./dom.js";
import { formatCount, formatTime } from "./format.js";
import { spanLink } from "./details.js";

const FEW = 10;

// Rows of chain by wait, and waits by the spans they are about: made when first needed.
function chainIndex(data) {
	if (!data.chainIndex) {
		const first = new Map(), waits = new Map(), w = data.wait, c = data.chain;
		const about = (span, i) => span >= 0 && waits.set(span, [...waits.get(span) ?? [], i]);
		for (let i = (c?.n ?? 0) - 1; i >= 0; i--)
			first.set(c.wait[i], i);
		for (let i = 0; i < (w?.n ?? 0); i++) {
			about(w.host[i], i);
			if (w.consumer[i] >= 0)
				about(w.consumer_gpu[i], i);
		}
		data.chainIndex = { first, waits };
	}
	return data.chainIndex;
}

// Rows of wait that a call or the work behind it took part in.
export const waitsOf = (data, span) => chainIndex(data).waits.get(span) ?? [];

// Stretches of a wait, last one first.
function chainOf(data, wait) {
	const c = data.chain, first = chainIndex(data).first.get(wait), out = [];
	for (let i = first ?? c?.n ?? 0; i < (c?.n ?? 0) && c.wait[i] === wait; i++)
		out.push({ dur: c.dur[i], gpu: c.gpu[i], host: c.host[i], launch: c.launch[i], lastRank: c.last_rank[i], waited: c.waited[i] });
	return out;
}

// Arrows of a wait, see arrowsOf: from the recorded event to the call, from the work to the side that waited, and back along the chain.
export function chainArrows(data, wait) {
	const w = data.wait, chain = chainOf(data, wait), out = [[w.record_host[wait], w.host[wait], "record"]];
	const producer = w.producer_gpu[wait];
	out.push(w.consumer[wait] >= 0 ? [producer, w.consumer_gpu[wait], "order"] : [producer, w.host[wait], "return"]);
	if (producer >= 0)
		out.push([data.gpu.launch[producer], producer, "launch"]);
	let after = -1; // the work behind the stretch
	for (const { gpu, launch } of chain) {
		if (launch >= 0)
			out.push([launch, after, "launch"]);
		else if (gpu >= 0 && after >= 0)
			out.push([gpu, after, "order"]);
		after = gpu >= 0 ? gpu : after;
	}
	return out.filter(([from, to]) => from >= 0 && to >= 0);
}

// Spans that the time of a wait was spent in.
export const chainSpans = (data, wait) => chainOf(data, wait).map((s) => s.launch >= 0 ? s.host : s.gpu).filter((span) => span >= 0);

function stretchText(data, { gpu, host, launch, lastRank, waited }) {
	if (launch >= 0)
		return ["the launching thread in ", host >= 0 ? spanLink(data, host) : "code that was not recorded", " before it called ", spanLink(data, launch)];
	if (gpu < 0)
		return ["nothing that was recorded"];
	return [spanLink(data, gpu), waited > 0 ? `, ${formatTime(waited)} of it for rank ${lastRank}, which came last` : ""];
}

// The chain as a list; null when the wait was not followed. It may have thousands of stretches: those behind the first are made when asked for.
export function chainList(data, wait) {
	const chain = chainOf(data, wait), rest = chain.slice(FEW), more = el("ol", { start: FEW + 1 });
	const item = (s) => el("li", {}, el("b", {}, formatTime(s.dur)), " ", ...stretchText(data, s));
	const fill = () => more.children.length || more.append(...rest.map(item));
	return chain.length ? el("div.chain", {}, el("p.muted", {}, "Why the wait lasted, from its end back:"), el("ol", {}, ...chain.slice(0, FEW).map(item)),
		rest.length ? el("details", { ontoggle: fill }, el("summary", {}, `${formatCount(rest.length)} more before that`), more) : null) : null;
}
