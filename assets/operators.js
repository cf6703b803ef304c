// Operators of the framework: the GPU time they caused, and how near it is to what the device can do.
import { countColumn, numberColumn, shareColumn, timeColumn } from "./columns.js";
import { el, section } from "./dom.js";
import { formatPercent, formatRate } from "./format.js";
import { ranksNote } from "./sections.js";
import { makeTable } from "./tables.js";

const rateColumn = (flops, ns) => numberColumn("rate", "FLOP/s", (o) => flops(o) > 0 && ns(o) > 0 ? flops(o) / ns(o) * 1e9 : null, formatRate);
const boundOf = (o) => o.bound ? `${o.bound}${o.achieved > 0 ? `, ${formatPercent(o.achieved, 1)} reached` : ""}` : "";
export const shapeText = (value) => value ? JSON.stringify(value).replaceAll('"', "").slice(1, -1) : "";

export function operators(data, onsearch) {
	const { ops = [], ops_by_shape: shapes = [] } = data.report;
	if (!ops.length)
		return null;
	const find = (o) => el("span", { title: o.name }, el("button.find", { type: "button", title: "find on the timeline", "aria-label": "find on the timeline", onclick: () => onsearch(o.name) }, "find"), o.name);
	const common = [
		timeColumn("GPU time", (o) => o.kernel_ns),
		countColumn("calls", (o) => o.calls),
	];
	return section("operators", "Operators", ranksNote(data), makeTable([
		...common,
		shareColumn("share", (o) => o.share ?? null, 1),
		rateColumn((o) => o.flops, (o) => o.modelled_ns),
		{ title: "bound by", value: (o) => o.bound ?? "", show: boundOf },
		{ title: "where", name: true, value: (o) => o.where ?? "", show: (o) => o.where ?? "" },
		{ title: "operator", name: true, value: (o) => o.name, show: find },
	], ops, { caption: "Operators by the GPU time they caused", search: "Filter operators", sort: 0 }),
	makeTable([
		...common,
		rateColumn((o) => o.flops * o.calls, (o) => o.kernel_ns),
		{ title: "bound by", value: (o) => o.bound ?? "", show: boundOf },
		{ title: "operator", name: true, value: (o) => o.name, show: find },
		{ title: "shapes", words: true, value: (o) => shapeText(o.shapes), show: (o) => shapeText(o.shapes) },
		{ title: "types", words: true, minor: true, value: (o) => shapeText(o.types), show: (o) => shapeText(o.types) },
	], shapes, { caption: "The same by shapes of their arguments", search: "Filter operators and shapes", sort: 0 }));
}
