// Reads the data, lays out the page, and ties search, links, selection and theme together.
import { compareBudget, compareCauses, compareEnvironment, compareFacts, compareHeader, compareKernels, compareParts, compareSwitches, compareWaits } from "./compare.js";
import { control, helpDialog } from "./control.js";
import { readRun } from "./data.js";
import { arrowsOf, details } from "./details.js";
import { el, hatched, section, swatch } from "./dom.js";
import { environmentDifferences } from "./environment.js";
import { formatBytes, formatCount, formatTime, runTitle } from "./format.js";
import { causeColour, familyColour } from "./palette.js";
import { budget, devices, header, idle, kernels, ranks, ranksNote, scopes, steps, telemetry, trust, waits } from "./sections.js";
import { Timeline } from "./timeline.js";

// Span of each gap, the other way round than the column.
function indexGaps(data) {
	if (!data.gap)
		return;
	data.spanOfGap = new Float64Array(data.gap.n).fill(-1);
	data.gapOfSpan.forEach((gap, i) => { data.spanOfGap[gap] = data.first_gap + i; });
}

function themeButton(timelines) {
	const root = document.documentElement;
	return el("button", {
		type: "button",
		onclick: () => {
			const dark = getComputedStyle(root).colorScheme === "dark" ||
				!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches;
			root.dataset.theme = dark ? "light" : "dark";
			timelines.forEach((t) => t.theme());
		},
	}, "Light / dark");
}

const HOST_LEGEND = [["--host-op", "operator"], ["--host-annotation", "annotation"], ["--host-runtime", "runtime call"],
	["--host-driver", "driver call"], ["--host-python", "Python"], ["--wait", "call that waited for the device"]];

function timelineLegend(data, timeline) {
	const families = data.report.kernel_families.map((f) => [familyColour(data, f.family), f.family]);
	const causes = data.gap ? [...new Set(data.gap.cause)].sort((a, b) => a - b).map((c) => [causeColour(data.enums.cause[c]), data.enums.cause[c].replaceAll("_", " ")]) : [];
	const list = (title, items, ...more) => !items.length && !more.some(Boolean) ? null :
		el("ul.legend.small", {}, el("li", {}, title), ...items.map(([c, t]) => el("li", {}, swatch(c), t)), ...more);
	const kinds = new Set(data.kind), has = (name) => kinds.has(data.enums["span.kind"].indexOf(name));
	const scopes = has("device annotation") || has("inferred scope") ? [["--mark", "range, from its first to its last work"]] : [];
	const inferred = has("inferred scope") ? el("li", {}, hatched("span.swatch", "--inferred-stripe", "--inferred"), "inferred: launched by another thread while the range's own waited") : null;
	const delayed = timeline.delays.length ? el("li", {}, hatched("span.swatch", "--wait", "--ground"), "work held back until other work ended") : null;
	const waited = has("wait") ? [["--wait", "wait that the recorder noted"]] : [];
	return el("div", {},
		list("GPU:", [...families.filter(([, f]) => f !== "copy"), ["--copy", "copy"], ["--memset", "memset"], ...waited], delayed),
		list("scopes:", scopes, inferred), list("host:", HOST_LEGEND), list("idle:", causes));
}

function timelineSection(data, timeline, help, id, title) {
	const found = el("span.count", { role: "status" }), panel = el("div.details", { role: "region", "aria-label": "Selection", "aria-live": "polite" });
	const box = el("input.search", {
		type: "search", placeholder: "Search by name ( / )", "aria-label": "Search events by name",
		oninput: () => {
			const m = timeline.search(box.value);
			found.textContent = m ? `${formatCount(m.count)} events, ${formatTime(m.total)} in all` : "";
		},
		onkeydown: (e) => {
			if (e.key === "Enter")
				timeline.nextMatch(e.shiftKey ? -1 : 1);
		},
	});
	timeline.onselect = (span) => {
		timeline.arrows = arrowsOf(data, span);
		panel.replaceChildren(details(data, timeline, span));
	};
	timeline.onmeasure = (text) => panel.replaceChildren(el("p", {}, text));
	panel.replaceChildren(details(data, timeline, -1));
	control(timeline, box, help);
	const button = (text, title, run) => el("button", { type: "button", title, onclick: run }, text);
	return {
		box, element: section(id, title,
			el("div.toolbar", {}, box, found, el("span.space"),
				button("+", "zoom in (W)", () => timeline.zoom(0.6)),
				button("−", "zoom out (S)", () => timeline.zoom(1 / 0.6)),
				button("Fit", "the whole run (F)", () => timeline.showAll()),
				button("Keys ?", "all keys (?)", () => help.showModal())),
			timelineLegend(data, timeline), ranksNote(data), timeline.root, panel),
	};
}

// #span=N selects an event, #time=FROM,LENGTH shows a stretch of time; a.span=N on the page of two runs.
function follow(timelines) {
	const [, tag, what, value] = location.hash.match(/^#([ab]\.)?(span|time)=([\d.,-]+)$/) ?? [];
	const timeline = timelines.find((t) => t.data.tag === (tag ?? ""));
	if (!what || !timeline)
		return;
	timeline.root.closest("section").scrollIntoView({ block: "start" });
	const [a, b] = value.split(",").map(Number);
	if (what === "span" && a < timeline.data.start.length)
		timeline.select(a, true);
	else if (what === "time" && b > 0)
		timeline.show(a - b * 0.03, b * 1.06);
}

function reportPage(data, help, bytes) {
	const timeline = new Timeline(data);
	const { box, element } = timelineSection(data, timeline, help, "timeline", "Timeline");
	const find = (name) => {
		box.value = name;
		box.dispatchEvent(new Event("input"));
		timeline.selected = -1;
		timeline.nextMatch(1);
		element.scrollIntoView({ block: "start" });
	};
	return {
		timelines: [timeline], head: header(data),
		sections: [devices(data), steps(data), budget(data), element, idle(data), kernels(data, find), waits(data), scopes(data, find),
			ranks(data), environmentDifferences(data), telemetry(data), trust(data, bytes)],
	};
}

function comparePage(runs, diff, help, bytes) {
	const timelines = runs.map((run) => new Timeline(run));
	const shown = timelines.map((t, i) => timelineSection(runs[i], t, help, `timeline-${i}`, `Timeline ${i ? "after" : "before"}`).element);
	return {
		timelines, head: compareHeader(runs, diff),
		sections: [compareParts(diff), compareSwitches(diff), compareBudget(diff), compareCauses(diff), compareWaits(diff), compareKernels(diff),
			compareFacts(diff), compareEnvironment(diff), ...shown,
			section("trust", "What this rests on", el("p", {}, `Inputs, problems and sources of numbers of each run are in its own report. This page holds every event of both, ${formatBytes(bytes)} in all.`))],
	};
}

// Short names of sections, so that the line at the top stays one.
const NAV = { devices: "Time", steps: "Steps", budget: "Budget", idle: "Idle", ranks: "Ranks", trust: "Trust", parts: "Time", environments: "Environments" };

async function build(page) {
	const { runs, diff } = JSON.parse(document.getElementById("data").textContent);
	const blocks = [...document.querySelectorAll("script.events")];
	for (const [i, run] of runs.entries()) {
		await readRun(run, blocks[i].textContent);
		run.tag = diff ? ["a.", "b."][i] : "";
		indexGaps(run);
		blocks[i].remove(); // the text is not needed again, and it is large
	}
	const bytes = Number(page.dataset.bytes) || runs.reduce((sum, r) => sum + r.data_bytes, 0);
	document.title = `assay: ${runs.map((run) => runTitle(run)).join(" → ")}`;
	const help = helpDialog();
	const { timelines, head, sections } = diff ? comparePage(runs, diff, help, bytes) : reportPage(runs[0], help, bytes);
	const shown = sections.filter(Boolean);
	const nav = el("nav", { "aria-label": "Sections" }, ...shown.map((s) =>
		el("a", { href: `#${s.id}` }, NAV[s.id] ?? s.querySelector("h2").textContent)), el("span.space"), themeButton(timelines));
	page.replaceChildren(nav, head, ...shown, help);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => timelines.forEach((t) => t.theme()));
	addEventListener("hashchange", () => follow(timelines));
	// the same link twice changes no hash
	document.addEventListener("click", (e) => {
		const link = e.target.closest?.("a[href^='#']");
		if (link && link.getAttribute("href") === location.hash)
			follow(timelines);
	});
	timelines.forEach((t) => t.resize());
	follow(timelines);
	// for the curious, and for tests
	globalThis.assay = { runs, diff, timelines, data: runs[0], timeline: timelines[0], ready: performance.now() };
}

async function main() {
	const page = document.getElementById("page");
	try {
		await build(page);
	} catch (error) {
		page.replaceChildren(el("p.note", { role: "alert" }, `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`));
		throw error;
	}
}

main();
