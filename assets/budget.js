// Where a step's time went, as buckets of waste.
import { bar, legend } from "./bars.js";
import { countColumn, shareColumn } from "./columns.js";
import { known, metricOf, rowsOf } from "./data.js";
import { el, section, swatch } from "./dom.js";
import { formatNumber, formatPercent, formatTime } from "./format.js";
import { makeTable } from "./tables.js";

const BUCKET_COLOURS = {
	useful_gpu: "--compute", comm_excess: "--comm", exposed_copy: "--copy", data_wait: "--data-wait",
	host_gap: "--host-gap", device_wait: "--device-wait", unexplained: "--idle",
};

// Buckets in ns that sum to the window, as rows of budget; the others are parts of them, or no time.
function mainBuckets(data) {
	const b = data.budget;
	return rowsOf(b).filter((i) => data.texts[b.unit[i]] === "ns" && b.state[i] > 0 && data.texts[b.name[i]] !== "total" && !b.part_of[i]);
}

const bucketName = (data, i) => data.texts[data.budget.name[i]].replaceAll("_", " ").replace("gpu", "GPU");
const bucketColour = (data, i) => BUCKET_COLOURS[data.texts[data.budget.name[i]]] ?? "--other";

// The bar of a step: [share, colour, name, ns] of each bucket, and their sum; null without a budget.
export function bucketParts(data) {
	if (!data.budget)
		return null;
	const b = data.budget, rows = mainBuckets(data), total = rows.reduce((sum, i) => sum + Math.max(0, b.value[i]), 0);
	return { total, parts: rows.map((i) => [b.value[i] / (total || 1), bucketColour(data, i), bucketName(data, i), b.value[i]]) };
}

// of: what shares are of; colours where the rows are parts of the bar.
function bucketTable(data, rows, { title, caption, of, coloured }) {
	const b = data.budget, times = (i) => b.state[i] > 0 && data.texts[b.unit[i]] === "ns" && data.texts[b.name[i]] !== "total";
	const value = (i) => !b.state[i] ? "unknown" : data.texts[b.unit[i]] === "ns" ? formatTime(b.value[i]) : `${formatNumber(b.value[i])} ${data.texts[b.unit[i]]}`;
	const coverage = (i) => `${Math.round(100 * b.coverage[i])}`.padStart("100".length, "\u2007");
	return makeTable([
		{ title: "bucket", value: (i) => i, show: (i) => el("span.nowrap", {}, coloured && times(i) ? swatch(bucketColour(data, i)) : null, bucketName(data, i)) },
		{ title, number: true, value: (i) => b.value[i], show: value, plain: [[title, (i) => b.state[i] ? b.value[i] : null], ["unit", (i) => data.texts[b.unit[i]]]] },
		shareColumn("share", (i) => times(i) ? b.value[i] : null, of),
		shareColumn("coverage", (i) => b.coverage[i], 1, { show: (i) => el("span", {}, el("meter", { min: 0, max: 1, value: b.coverage[i], "aria-hidden": "true" }), ` ${coverage(i)} %`) }),
		{ title: "state", minor: true, value: (i) => b.state[i], show: (i) => data.enums.state[b.state[i]] },
		countColumn("measured from", (i) => b.evidence[i] || null, { minor: true }),
		{ title: "longest", value: (i) => b.gap[i], show: (i) => b.gap[i] >= 0 && data.spanOfGap ? el("a", { href: `#span=${data.spanOfGap[b.gap[i]]}` }, "show it") : "" },
		{ title: "how", words: true, value: (i) => data.texts[b.how[i]], show: (i) => data.texts[b.how[i]] },
	], rows, { caption });
}

export function budget(data) {
	const made = bucketParts(data);
	if (!made)
		return null;
	const b = data.budget, stepped = known(metricOf(data, "steps")), title = stepped ? "per step" : "time", whole = rowsOf(b).filter((i) => !b.part_of[i]);
	const divided = whole.map((i) => [i, rowsOf(b).filter((part) => b.part_of[part] === b.name[i])]).filter(([, parts]) => parts.length);
	return section("budget", "Waste budget",
		legend(made.parts.map(([, colour, name]) => [colour, name])),
		bar(made.parts.map(([share, colour, name]) => [share, colour, `${name} ${formatPercent(share, 1)}`])),
		bucketTable(data, whole, { title, of: made.total, coloured: true, caption: stepped ? "Where a step's time went" : "Where the time of the whole recording went: it marks no steps" }),
		...divided.map(([i, parts]) => bucketTable(data, parts, {
			title, of: b.value[i], caption: `What ${bucketName(data, i)} is made of: what could be saved in it, and the rest`,
		})));
}
