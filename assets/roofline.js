// Operators below the roofs of their device: operations a byte against operations a second, both on logarithmic axes.
import { legend } from "./bars.js";
import { numberColumn, shareColumn, timeColumn } from "./columns.js";
import { choice, el, section, svg, swatch } from "./dom.js";
import { extremes, formatCount, formatNumber, formatPercent, formatTime } from "./format.js";
import { shapeText } from "./operators.js";
import { makeTable } from "./tables.js";

const WIDE = 1000, HIGH = 460, LEFT = 62, RIGHT = 16, TOP_EDGE = 14, BOTTOM = 44, LARGEST = 46;
const OF_CLASS = {
	gemm: "--gemm", moe: "--conv", attention: "--attention", convolution: "--conv", elementwise: "--elementwise", move: "--copy", norm: "--norm",
	softmax: "--reduction", reduction: "--reduction", embedding: "--embedding", optimizer: "--optimizer",
};
const colourOf = (point) => OF_CLASS[point.class] ?? "--other";

// Operators, or operators with one set of shapes, whose operations and bytes are known; most time first.
function roofPoints({ ops = [], ops_by_shape: shapes = [] }, byShape) {
	const classes = new Map(ops.map((o) => [o.name, o.class]));
	const all = byShape ? shapes.map((o) => ({ ...o, ns: o.kernel_ns, flops: o.flops * o.calls, bytes: o.bytes * o.calls, class: classes.get(o.name) }))
		: ops.map((o) => ({ ...o, ns: o.modelled_ns }));
	return all.filter((o) => o.flops > 0 && o.bytes > 0 && o.ns > 0)
		.map((o) => ({ ...o, intensity: o.flops / o.bytes, rate: o.flops / o.ns * 1e9 })).sort((a, b) => b.ns - a.ns);
}

// Roofs of the types that ran: [type, operations a second].
function roofsOf({ compute, ops_by_shape: shapes = [] }) {
	const ran = new Set(shapes.map((o) => o.math).filter(Boolean));
	return Object.entries(compute?.peak ?? {}).filter(([type, rate]) => ran.has(type) && rate > 0);
}

// Points of less than this share of the time do not stretch the axes; they stand at the edge.
const HARDLY_ANY = 1e-4;

// From whole powers of ten to a little above what is to be seen, as logarithms.
function axesOf(all, roofs, bandwidth) {
	const total = all.reduce((sum, p) => sum + p.ns, 0), points = all.filter((p) => p.ns >= HARDLY_ANY * total);
	const across = extremes(points.map((p) => Math.log10(p.intensity))), up = extremes(points.map((p) => Math.log10(p.rate)));
	const ridges = bandwidth > 0 ? roofs.map(([, rate]) => Math.log10(rate / bandwidth)) : [], tops = roofs.map(([, rate]) => Math.log10(rate));
	const [x0, x1] = [Math.floor(Math.min(across[0], ...ridges)), Math.max(across[1], ...ridges) + 0.3];
	const [y0, y1] = [Math.floor(up[0]), Math.max(up[1], ...tops) + 0.15];
	const share = (v, low, high) => Math.max(0, Math.min(1, (Math.log10(v) - low) / (high - low || 1)));
	const x = (v) => LEFT + share(v, x0, x1) * (WIDE - LEFT - RIGHT), y = (v) => HIGH - BOTTOM - share(v, y0, y1) * (HIGH - BOTTOM - TOP_EDGE);
	const beyond = all.filter((p) => p.intensity < 10 ** x0 || p.intensity > 10 ** x1 || p.rate < 10 ** y0).length;
	return { x0, x1, y0, y1, x, y, beyond };
}

const label = (x, y, anchor, ...text) => svg("text", { x, y, "text-anchor": anchor }, ...text);

// Values with lines of their own between two logarithms: powers of ten, with 2 and 5 of each where there are few.
function marksOf(low, high) {
	const out = [], steps = high - low < 3 ? [1, 2, 5] : [1];
	for (let e = Math.floor(low); e <= high; e++)
		out.push(...steps.map((m) => m * 10 ** e).filter((v) => Math.log10(v) >= low - 1e-9 && Math.log10(v) <= high));
	return out;
}

const markText = (v) => v >= 1 ? formatCount(v) : String(Number(v.toPrecision(1)));

function grid({ x0, x1, y0, y1, x, y }) {
	return [
		...marksOf(x0, x1).flatMap((v) => [svg("path.grid", { d: `M${x(v)} ${TOP_EDGE}V${HIGH - BOTTOM}` }), label(x(v), HIGH - BOTTOM + 16, "middle", markText(v))]),
		...marksOf(y0, y1).flatMap((v) => [svg("path.grid", { d: `M${LEFT} ${y(v)}H${WIDE - RIGHT}` }), label(LEFT - 6, y(v) + 4, "end", markText(v / 1e12))]),
		label((LEFT + WIDE - RIGHT) / 2, HIGH - 8, "middle", "operations a byte"), svg("text", { transform: `translate(14 ${HIGH / 2}) rotate(-90)`, "text-anchor": "middle" }, "TFLOP/s"),
	];
}

// The slope of the memory up to each roof.
function roofLines(axes, roofs, bandwidth) {
	const { x0, y0, x, y } = axes, out = [];
	const from = bandwidth > 0 ? Math.max(10 ** x0, 10 ** y0 / bandwidth) : 10 ** x0;
	for (const [type, rate] of roofs)
		out.push(svg("path.roof", { d: bandwidth > 0 ? `M${x(from)} ${y(from * bandwidth)}L${x(rate / bandwidth)} ${y(rate)}H${WIDE - RIGHT}` : `M${LEFT} ${y(rate)}H${WIDE - RIGHT}` }),
			label(WIDE - RIGHT - 4, y(rate) - 4, "end", `${type} ${formatNumber(rate / 1e12)} TFLOP/s`));
	const middle = Math.sqrt(from * Math.max(...roofs.map(([, rate]) => rate)) / bandwidth); // of the slope
	if (bandwidth > 0 && roofs.length)
		out.push(label(x(middle) - 8, y(middle * bandwidth) - 6, "end", `memory ${formatNumber(bandwidth / 1e12)} TB/s`));
	return out;
}

const pointText = (p) => `${p.name} ${shapeText(p.shapes)}`.trim();
const rateText = (p) => `${formatNumber(p.rate / 1e12)} TFLOP/s, ${formatNumber(p.rate / p.intensity / 1e12)} TB/s`;

function circles(points, { x, y }, onsearch) {
	const total = points.reduce((sum, p) => sum + p.ns, 0);
	return points.map((p) => {
		const e = svg("circle", { cx: x(p.intensity), cy: y(p.rate), r: 2.5 + LARGEST * Math.sqrt(p.ns / total) / 2, onclick: () => onsearch(p.name) },
			svg("title", {}, `${pointText(p)}: ${formatTime(p.ns)} in ${formatCount(p.calls)} calls, ${rateText(p)}${p.achieved > 0 ? `, ${formatPercent(p.achieved, 1)} of its bound` : ""}`));
		e.style.fill = e.style.stroke = `var(${colourOf(p)})`;
		return p.circle = e;
	});
}

function pointTable(points, onsearch) {
	const total = points.reduce((sum, p) => sum + p.ns, 0), point = (p, on) => p.circle.classList.toggle("pointed", on);
	return makeTable([
		timeColumn("GPU time", (p) => p.ns),
		shareColumn("share", (p) => p.ns, total),
		numberColumn("FLOP/byte", "", (p) => p.intensity, formatNumber),
		numberColumn("TFLOP/s", "", (p) => p.rate / 1e12, formatNumber),
		numberColumn("TB/s", "", (p) => p.rate / p.intensity / 1e12, formatNumber),
		shareColumn("of its bound", (p) => p.achieved > 0 ? p.achieved : null, 1),
		{ title: "bound by", value: (p) => p.bound ?? "", show: (p) => p.bound ?? "" },
		{ title: "type", value: (p) => p.math ?? "", show: (p) => p.math ?? "" },
		{
			title: "operator", name: true, value: pointText,
			show: (p) => el("span", { title: pointText(p), onpointerenter: () => point(p, true), onpointerleave: () => point(p, false) }, swatch(colourOf(p)),
				el("button.find", { type: "button", title: "find on the timeline", "aria-label": "find on the timeline", onclick: () => onsearch(p.name) }, "find"), pointText(p)),
		},
	], points, { caption: "The points, most time first", search: "Filter operators", rows: 15, sort: 0 });
}

// Where the roofs come from, and how much of the time the points are.
function said({ compute }) {
	const rates = compute?.device ? `Peaks: ${compute.rates}.` : "What this device can do at most is not known; --rates FILE names it.";
	return el("p.muted", {}, `${rates} ${compute?.coverage > 0 ? `${formatPercent(compute.coverage, 1)} of the time of compute kernels is of operators whose work is known` : ""}${compute?.mfu > 0 ? `; ${formatPercent(compute.mfu, 1)} MFU` : ""}. The area of a point is its share of their time.`);
}

export function roofline(data, onsearch) {
	const { report } = data, roofs = roofsOf(report), bandwidth = report.compute?.peak?.bandwidth ?? 0, place = el("div");
	if (!roofPoints(report, true).length)
		return null;
	const fill = (byShape) => {
		const points = roofPoints(report, byShape), axes = axesOf(points, roofs, bandwidth);
		place.replaceChildren(...[
			legend([...new Map(points.map((p) => [p.class ?? "other", colourOf(p)]))].map(([name, colour]) => [colour, name])),
			svg("svg.roofline", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `Roofline of ${formatCount(points.length)} operators; the table below has the same numbers` },
				...grid(axes), ...roofLines(axes, roofs, bandwidth), ...circles(points, axes, onsearch)),
			axes.beyond ? el("p.muted", {}, `${formatCount(axes.beyond)} of hardly any time lie beyond the axes and stand at their edge.`) : null,
			pointTable(points, onsearch)].filter(Boolean));
	};
	fill(false);
	return section("roofline", "Roofline", said(report),
		el("div.toolbar", {}, choice("points", "What a point is", [["operators", "operators"], ["shapes", "operators by shapes"]], (what) => fill(what === "shapes"))), place);
}
