// What the timeline shows, as rows of text: for screen readers, and to be copied.
import { momentColumn, timeColumn } from "./columns.js";
import { spanName } from "./data.js";
import { el, section } from "./dom.js";
import { formatCount, formatMoment, formatTime, shortName } from "./format.js";
import { classOf } from "./area.js";
import { spanLink } from "./details.js";
import { makeTable } from "./tables.js";

const MOST_ROWS = 2000;

// Calls visit(group, span) for every span in view.
function eachInView(timeline, visit) {
	const { data, levels } = timeline, from = timeline.time(0), to = timeline.time(timeline.width);
	for (const g of timeline.shown)
		for (const lane of g.lanes)
			for (let i = levels.endsAfter(from, lane.first, lane.last); i < lane.last && data.start[i] < to; i++)
				visit(g, i);
}

// The longest spans in view, in order of time; how many there are in all.
function spansInView(timeline) {
	const { dur, start } = timeline.data, shown = [];
	let count = 0;
	eachInView(timeline, () => { count++; });
	const lengths = new Float64Array(count);
	count = 0;
	eachInView(timeline, (g, i) => { lengths[count++] = dur[i]; });
	const least = lengths.sort()[Math.max(0, count - MOST_ROWS)] ?? 0;
	let alike = MOST_ROWS - (count - lengths.findLastIndex((ns) => ns <= least) - 1); // how many of the shortest kept there is room for
	eachInView(timeline, (g, i) => {
		if (dur[i] > least || dur[i] === least && alike-- > 0)
			shown.push([g, i]);
	});
	return { count, shown: shown.sort((a, b) => start[a[1]] - start[b[1]]) };
}

function viewTable(timeline) {
	const { data } = timeline, { count, shown } = spansInView(timeline);
	const caption = `${formatTime(timeline.width * timeline.scale)} from ${formatMoment(timeline.time(0))}: ${formatCount(count)} events` +
		(count > shown.length ? `, the longest ${formatCount(shown.length)} of them` : "");
	return makeTable([
		momentColumn("start", ([, i]) => data.start[i]),
		timeColumn("length", ([, i]) => data.dur[i]),
		{ title: "lane", value: ([g]) => g.title, show: ([g]) => [g.rank, g.title].filter(Boolean).join(" · ") },
		{ title: "class", value: ([, i]) => classOf(data, i), show: ([, i]) => classOf(data, i) },
		{ title: "name", name: true, value: ([, i]) => spanName(data, i), show: ([, i]) => spanLink(data, i, shortName(spanName(data, i))) },
	], shown, { caption, search: "Filter events in view", rows: 40 });
}

// A section that is made anew whenever it is opened.
export function rowsAsText(timeline) {
	const place = el("div"), fill = () => place.replaceChildren(viewTable(timeline));
	const made = section("rows", "What is in view, as text",
		el("p.muted", {}, "The events that the timeline shows now. ", el("button", { type: "button", onclick: fill }, "Read the view again")), place);
	made.addEventListener("shown", fill);
	return made;
}
