// Reads the data, lays out the page, and ties search, links, selection and theme together.
import { control, helpDialog } from "./control.js";
import { readData } from "./data.js";
import { arrowsOf, details } from "./details.js";
import { el, section, swatch } from "./dom.js";
import { environmentDifferences } from "./environment.js";
import { formatCount, formatTime } from "./format.js";
import { familyColour } from "./palette.js";
import { budget, devices, header, idle, kernels, ranks, scopes, steps, telemetry, trust, waits } from "./sections.js";
import { Timeline } from "./timeline.js";

// Span of each gap, the other way round than the column.
function indexGaps(data) {
	if (!data.gap)
		return;
	data.spanOfGap = new Float64Array(data.gap.n).fill(-1);
	data.gapOfSpan.forEach((gap, i) => { data.spanOfGap[gap] = data.first_gap + i; });
}

function themeButton(timeline) {
	const root = document.documentElement;
	return el("button", {
		type: "button",
		onclick: () => {
			const dark = getComputedStyle(root).colorScheme === "dark" ||
				!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches;
			root.dataset.theme = dark ? "light" : "dark";
			timeline.theme();
		},
	}, "Light / dark");
}

function timelineLegend(data) {
	const families = data.report.kernel_families.map((f) => [familyColour(data, f.family), f.family]);
	const host = [["--host-op", "operator"], ["--host-annotation", "annotation"], ["--host-runtime", "runtime call"], ["--host-driver", "driver call"], ["--host-python", "Python"]];
	return el("ul.legend.small", {}, ...[...families, ["--copy", "copy"], ["--memset", "memset"], ...host].filter(([, t], i, all) =>
		all.findIndex(([, u]) => u === t) === i).map(([c, t]) => el("li", {}, swatch(c), t)));
}

function timelineSection(data, timeline, help) {
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
		box, element: section("timeline", "Timeline",
			el("div.toolbar", {}, box, found, el("span.space"),
				button("+", "zoom in (W)", () => timeline.zoom(0.6)),
				button("−", "zoom out (S)", () => timeline.zoom(1 / 0.6)),
				button("Fit", "the whole run (F)", () => timeline.showAll()),
				button("Keys ?", "all keys (?)", () => help.showModal())),
			timelineLegend(data), timeline.root, panel),
	};
}

// #span=N selects an event, #time=FROM,LENGTH shows a stretch of time.
function follow(timeline) {
	const [, what, value] = location.hash.match(/^#(span|time)=([\d.,-]+)$/) ?? [];
	if (!what)
		return;
	document.getElementById("timeline").scrollIntoView({ block: "start" });
	const [a, b] = value.split(",").map(Number);
	if (what === "span" && a < timeline.data.start.length)
		timeline.select(a, true);
	else if (what === "time" && b > 0)
		timeline.show(a - b * 0.03, b * 1.06);
}

async function main() {
	const page = document.getElementById("page");
	try {
		const block = (id) => document.getElementById(id);
		const data = await readData(block("data").textContent, block("events").textContent);
		const pageBytes = Number(block("events").dataset.bytes) || data.data_bytes;
		block("events").remove(); // the text is not needed again, and it is large
		indexGaps(data);
		document.title = `assay: ${data.sources.map((s) => s.path.split("/").pop()).join(" + ")}`;
		const help = helpDialog(), timeline = new Timeline(data);
		const { box, element } = timelineSection(data, timeline, help);
		const find = (name) => {
			box.value = name;
			box.dispatchEvent(new Event("input"));
			timeline.selected = -1;
			timeline.nextMatch(1);
			element.scrollIntoView({ block: "start" });
		};
		const sections = [devices(data), steps(data), budget(data), element, idle(data), kernels(data, find),
			waits(data), scopes(data), ranks(data), environmentDifferences(data), telemetry(data), trust(data, pageBytes)].filter(Boolean);
		const nav = el("nav", { "aria-label": "Sections" }, ...sections.map((s) =>
			el("a", { href: `#${s.id}` }, s.querySelector("h2").textContent)), el("span.space"), themeButton(timeline));
		page.replaceChildren(nav, header(data), ...sections, help);
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => timeline.theme());
		addEventListener("hashchange", () => follow(timeline));
		// the same link twice changes no hash
		document.addEventListener("click", (e) => {
			const link = e.target.closest?.("a[href^='#']");
			if (link && link.getAttribute("href") === location.hash)
				follow(timeline);
		});
		timeline.resize();
		follow(timeline);
		globalThis.assay = { data, timeline, ready: performance.now() }; // for the curious, and for tests
	} catch (error) {
		page.replaceChildren(el("p.note", { role: "alert" }, `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`));
		throw error;
	}
}

main();
