// Reads the data, lays out the page, and ties search, links, selection and theme together.
import { areaPanel, nameTable, steadyPanel, sumMarked } from "./area.js";
import { budget } from "./budget.js";
import { chainSpans, waitsOf } from "./chains.js";
import { compareBudget, compareCauses, compareEnvironment, compareFacts, compareFindings, compareHeader, compareKernels, compareLines, compareOperators, compareParts, compareSwitches, compareWaits } from "./compare.js";
import { copyButton, copyNamesWhole } from "./copy.js";
import { areaPair, steadyPair } from "./comparearea.js";
import { control, helpDialog } from "./control.js";
import { inflate, readRun } from "./data.js";
import { arrowsOf, details } from "./details.js";
import { choicesOf, el, hatched, section, swatch } from "./dom.js";
import { environment, environmentDifferences } from "./environment.js";
import { findings } from "./findings.js";
import { flame } from "./flame.js";
import { flameDiff } from "./flamediff.js";
import { formatBytes, formatCount, formatTime, runTitle } from "./format.js";
import { header, versionsOf } from "./header.js";
import { idle } from "./idle.js";
import { arrangeLanes } from "./lanestate.js";
import { Notes } from "./notes.js";
import { operators } from "./operators.js";
import { COLOURS, causeColour, familyColour, nameCauses } from "./palette.js";
import { pathSection, stretchesOf, togglePath } from "./path.js";
import { runQuery } from "./query.js";
import { LANE_KINDS } from "./rows.js";
import { memory } from "./memory.js";
import { roofline } from "./roofline.js";
import { calls, devices, inFullNote, kernels, ranks, ranksNote, scopes, telemetry, trust, waits } from "./sections.js";
import { steps } from "./steps.js";
import { tablesOf } from "./tables.js";
import { Tabs } from "./tabs.js";
import { Timeline } from "./timeline.js";
import { rowsAsText } from "./twin.js";
import { hasAddress, isWhole, keepHash, readHash } from "./view.js";

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

const HOST_LEGEND = [["--host-op", "operator"], ["--mark", "range; colours tell names apart"], ["--host-runtime", "runtime call"],
	["--host-driver", "driver call"], ["--host-python", "Python"], ["--wait", "call that waited for the device"]];

function timelineLegend(data, timeline) {
	const families = data.report.kernel_families.map((f) => [familyColour(f.family), f.family]);
	const causes = data.gap ? [...new Set(data.gap.cause)].sort((a, b) => a - b).map((c) => [causeColour(data.enums.cause[c]), data.enums.cause[c].replaceAll("_", " ")]) : [];
	const list = (title, items, ...more) => !items.length && !more.some(Boolean) ? null :
		el("ul.legend.small", {}, el("li", {}, title), ...items.map(([c, t]) => el("li", {}, swatch(c), t)), ...more);
	const kinds = new Uint8Array(256), has = (name) => kinds[data.enums["span.kind"].indexOf(name)] > 0;
	for (let i = 0; i < data.kind.length; i++)
		kinds[data.kind[i]] = 1;
	const scopes = has("device annotation") || has("inferred scope") ? [["--mark", "range, from its first to its last work; colours tell names apart"]] : [];
	const inferred = has("inferred scope") ? el("li", {}, hatched("span.swatch", "--inferred-stripe", "--inferred"), "inferred: launched by another thread while the range's own waited") : null;
	const delayed = timeline.delays.length ? el("li", {}, hatched("span.swatch", "--wait", "--ground"), "work held back until other work ended") : null;
	const waited = has("wait") ? [["--wait", "wait that the recorder noted"]] : [];
	const arrows = list("arrows:", [], el("li", {}, "solid: launched by"), el("li", {}, "dashed: had to end first"), el("li", {}, "dotted: event recorded, then waited for"));
	return el("div.legends", {},
		list("GPU:", [...families.filter(([, f]) => f !== "copy"), ["--copy", "copy"], ["--memset", "memset"], ...waited], delayed),
		list("scopes:", scopes, inferred), list("host:", HOST_LEGEND), list("idle:", causes), arrows);
}

// Which kinds of lanes are shown, and those hidden one by one.
function laneMenu(timelines) {
	const fill = () => {
		const hidden = timelines.flatMap((t) => t.groups.filter((g) => g.hidden).map((g) => [t, g]));
		list.replaceChildren(
			...LANE_KINDS.filter(([, kinds]) => timelines.some((t) => kinds.includes("telemetry") ? t.series.length : t.groups.some((g) => kinds.includes(g.kind)))).map(([title, kinds]) =>
				el("label", {}, el("input", {
					type: "checkbox", ...(kinds.some((k) => timelines[0].off.has(k)) ? {} : { checked: true }),
					onchange: (e) => timelines.forEach((t) => {
						kinds.forEach((k) => e.target.checked ? t.off.delete(k) : t.off.add(k));
						t.place();
					}),
				}), ` ${title}`)),
			...hidden.map(([t, g]) => el("button", {
				type: "button", onclick: () => {
					g.hidden = false;
					t.place();
					fill();
				},
			}, `show ${g.title}`)));
	};
	const list = el("div.menu");
	return el("details.drop", {}, el("summary", { onclick: fill }, "Lanes"), list);
}

// Switches the critical path of all timelines that have one.
function pathButton(timelines) {
	const having = timelines.filter((t) => stretchesOf(t.data));
	const button = el("button", {
		type: "button", title: "what the length of a step depends on (C)", "aria-pressed": "false",
		onclick: () => {
			const on = !having.some((t) => t.path);
			having.forEach((t) => togglePath(t, on));
		},
	}, "Critical path");
	for (const t of having)
		t.onpath = () => button.setAttribute("aria-pressed", String(having.some((o) => o.path)));
	return having.length ? button : null;
}

// Results of the query as tables.
function matchPanel(timelines) {
	return el("div.area", {}, ...timelines.filter((t) => t.match?.count).map((t) => el("div.columns", {},
		nameTable(t, sumMarked(t), `Matches${timelines.length > 1 ? ` ${t.data.tag === "a." ? "before" : "after"}` : ""} by name; a name leads to its longest`))));
}

// Timelines with one search box, one dock and one set of tools. area(timeline): what the dock has of a selected area;
// nothing(): what when nothing is selected.
function stage(runs, timelines, help, changed, { area, nothing }) {
	const notes = new Notes(timelines, changed);
	let matchesShown = false; // the dock has the results of a search
	const found = el("span.count", { role: "status" }), dock = el("div.details", { role: "region", "aria-label": "Selection", "aria-live": "polite", tabindex: 0 });
	const box = el("input.search", {
		type: "search", placeholder: "Search ( / ): gemm dur>100us", "aria-label": "Search events: words of the name, or dur, start, step, name, kind, class, lane, text with a comparison",
		oninput: () => {
			try {
				timelines.forEach((t) => t.mark(runQuery(t, box.value)));
				const matches = timelines.map((t) => t.match).filter(Boolean), sum = (key) => matches.reduce((all, m) => all + m[key], 0);
				found.textContent = matches.length ? `${formatCount(sum("count"))} events, ${formatTime(sum("total"))}` : "";
				box.removeAttribute("aria-invalid");
			} catch (error) {
				timelines.forEach((t) => t.mark(null));
				found.textContent = error.message;
				box.setAttribute("aria-invalid", "true");
			}
			if (timelines.some((t) => t.match?.count)) {
				dock.replaceChildren(matchPanel(timelines));
				matchesShown = true;
			} else if (matchesShown) {
				const t = timelines.find((o) => o.selected >= 0) ?? timelines[0];
				t.onselect(t.selected);
			}
			changed();
		},
		onkeydown: (e) => {
			if (e.key === "Enter")
				timelines.find((t) => t.match?.count)?.nextMatch(e.shiftKey ? -1 : 1);
		},
	});
	for (const [i, t] of timelines.entries()) {
		t.onselect = (span) => {
			matchesShown = false;
			t.arrows = arrowsOf(runs[i], span);
			t.underlined = waitsOf(runs[i], span).flatMap((wait) => chainSpans(runs[i], wait));
			dock.replaceChildren(...notes.around(t, span < 0 ? nothing() : details(runs[i], t, span), span < 0 ? null : { span, from: runs[i].start[span], length: runs[i].dur[span] }));
			dock.scrollTop = 0;
			changed();
		};
		t.onmeasure = () => {
			matchesShown = false;
			const [from, to] = [...t.measure].sort((a, b) => a - b);
			dock.replaceChildren(...notes.around(t, area(t), { span: -1, from: Math.round(from), length: Math.round(to - from) }));
			changed();
		};
		control(t, box, help);
	}
	dock.replaceChildren(nothing());
	const each = (run) => () => timelines.forEach(run), button = (text, title, run) => el("button", { type: "button", title, onclick: run }, text);
	const tools = el("div.toolbar", {}, box, found, el("span.space"),
		button("+", "zoom in (W)", () => timelines[0].zoom(0.6)),
		button("−", "zoom out (S)", () => timelines[0].zoom(1 / 0.6)),
		button("Steps", "two steady steps (H)", each((t) => t.showSteady())),
		button("All", "the whole run (F)", each((t) => t.showAll())),
		pathButton(timelines),
		laneMenu(timelines),
		el("details.drop", {}, el("summary", {}, "Colours"), el("div.menu", {}, timelineLegend(runs[0], timelines[0]))),
		!hasAddress() ? null : copyButton("Link", "copy the address of what is shown: time, lanes, selection, search, notes and table", () => {
			changed.now();
			return location.href;
		}),
		button("Keys ?", "all keys (?)", () => help.showModal()));
	return {
		box, dock, notes, element: el("section.stage", { id: "timeline", "aria-labelledby": "timeline-title" },
			el("h2.unseen", { id: "timeline-title", tabindex: -1 }, "Timeline"), tools, ranksNote(runs[0]), ...timelines.map((t) => t.root)),
	};
}

// How each part of the address is followed on its timeline.
const FOLLOW = {
	lanes: (t, { text }) => arrangeLanes(t, text),
	span: (t, { numbers: [span] }) => span < t.data.start.length && t.select(span, true),
	time: (t, { numbers: [from, length] }) => length > 0 && t.show(from - length * 0.03, length * 1.06),
	view: (t, { numbers: [from, length] }) => length > 0 && t.show(from, length),
	area: (t, { numbers: [from, length, ...lanes] }) => length > 0 && t.selectArea(from, from + length, lanes),
	show: (t, { text }) => text === "path" && togglePath(t, true),
	top: (t, { numbers: [pixels] }) => { t.view.scrollTop = pixels; },
};

// Go where the address leads.
function follow({ timelines, tabs, box, notes }, hash = location.hash) {
	const parts = readHash(hash), noted = parts.filter(({ what }) => what === "note").map(({ text }) => text);
	if (noted.length)
		notes.take(noted);
	for (const part of parts) {
		const t = timelines.find((x) => x.data.tag === part.tag), chosen = part.what === "set" && choicesOf(document).find((c) => c.dataset.choice === part.name);
		if (part.what === "tab" || part.what === "go") {
			if (tabs.show(part.text) && part.what === "go")
				tabs.nav.scrollIntoView({ block: "start" });
		} else if (part.what === "q") {
			box.value = part.text;
			box.dispatchEvent(new Event("input"));
		} else if (chosen && [...chosen.options].some((o) => o.value === part.text)) {
			chosen.value = part.text;
			chosen.dispatchEvent(new Event("change"));
		} else if (part.what === "table") {
			const [, id, n] = part.name.match(/(.*)\.(\d+)$/), section = document.getElementById(id);
			(section ? tablesOf(section)[n] : null)?.take(part.text);
		} else if (part.what === "zoom") {
			document.getElementById("flame")?.flame.zoomTo(part.text);
		} else if (t && FOLLOW[part.what]) {
			if (["span", "time", "view"].includes(part.what))
				t.root.scrollIntoView({ block: "nearest" });
			FOLLOW[part.what](t, part);
		}
	}
}

// Goes where a whole address leads: what it does not have is undone first.
function restore(place, hash) {
	const parts = readHash(hash), has = (what, tag = "") => parts.some((p) => p.what === what && (p.tag ?? "") === tag);
	for (const t of place.timelines) {
		t.measure = t.band = null;
		t.select(-1, false);
		if (t.path && !has("show", t.data.tag))
			togglePath(t, false);
		if (!has("view", t.data.tag))
			t.showSteady();
	}
	if (place.box.value && !has("q")) {
		place.box.value = "";
		place.box.dispatchEvent(new Event("input"));
	}
	follow(place, hash);
}

// Ways from tables and findings to what they are about.
function waysOf(timelines, { box, element }) {
	const search = (query) => {
		box.value = query;
		box.dispatchEvent(new Event("input"));
		element.scrollIntoView({ block: "nearest" });
	};
	return {
		// all events of a query
		find: (query) => {
			timelines.forEach((t) => t.select(-1, false));
			search(query);
		},
		// the first event of a name
		first: (name) => {
			search(name);
			timelines[0].selected = -1;
			timelines[0].nextMatch(1);
		},
		path: () => {
			togglePath(timelines[0], true);
			element.scrollIntoView({ block: "nearest" });
		},
		stacks: (text) => {
			location.hash = "flame";
			document.getElementById("flame").find(text);
		},
	};
}

// Nothing to draw.
const isBlank = (timeline) => !timeline.data.spans && !timeline.series.length;

function reportPage(data, help, bytes, changed, button) {
	const timeline = new Timeline(data), shown = stage([data], [timeline], help, changed, { area: areaPanel, nothing: () => steadyPanel(timeline) }), go = waysOf([timeline], shown);
	return {
		...shown, timelines: [timeline], head: header(data, button), side: findings(data, go, inFullNote(data)),
		sections: [kernels(data, go.first), operators(data, go.first), roofline(data, go.first), idle(data, go.find), pathSection(data, go.path), devices(data), steps(data), budget(data), waits(data),
			scopes(data, go.first), flame(data), calls(data), ranks(data), memory(data), telemetry(data), environment(data, versionsOf(data)), environmentDifferences(data),
			...isBlank(timeline) ? [] : [shown.notes.section(), rowsAsText(timeline)], trust(data, bytes)],
	};
}

// Both timelines show the same time after the start of their steady steps.
function zoomTogether(timelines, changed) {
	let busy = false;
	const start = (t) => t.steady?.[0] ?? 0;
	for (const t of timelines)
		t.onchange = () => {
			changed();
			if (busy || !t.width)
				return;
			busy = true;
			for (const other of timelines.filter((o) => o !== t && o.width))
				other.show(start(other) + t.t0 - start(t), t.width * t.scale);
			busy = false;
		};
}

function comparePage(runs, diff, help, bytes, changed, button) {
	const timelines = runs.map((run) => new Timeline(run)), shown = stage(runs, timelines, help, changed, { area: (t) => areaPair(timelines, t), nothing: () => steadyPair(timelines) }), { find } = waysOf(timelines, shown);
	zoomTogether(timelines, changed);
	return {
		...shown, timelines, head: compareHeader(runs, diff, button), side: compareFindings(diff, find),
		sections: [compareParts(diff), compareSwitches(diff), compareBudget(diff), compareCauses(diff), compareWaits(diff), compareOperators(diff, find), compareKernels(diff, find),
			compareLines(diff, find), flameDiff(runs),
			compareFacts(diff), compareEnvironment(diff), shown.notes.section(),
			section("trust", "What this rests on", el("p", {}, `Inputs, problems and sources of numbers of each run are in its own report. This page holds every event of both, ${formatBytes(bytes)} in all.`))],
	};
}

async function readRuns(diff, runs) {
	const blocks = [...document.querySelectorAll("script.events")];
	for (const [i, run] of runs.entries()) {
		await readRun(run, blocks[i].textContent);
		run.tag = diff ? ["a.", "b."][i] : "";
		nameCauses(run.enums);
		blocks[i].remove(); // the text is not needed again, and it is large
	}
}

async function build(page) {
	const block = document.getElementById("data");
	const { runs, diff } = JSON.parse(new TextDecoder().decode(await inflate(block.textContent)));
	block.remove();
	await readRuns(diff, runs);
	const bytes = Number(page.dataset.bytes) || runs.reduce((sum, r) => sum + r.data_bytes, 0);
	document.title = `assay: ${runs.map((run) => runTitle(run)).join(" → ")}`;
	const help = helpDialog(), timelines = [];
	const changed = keepHash(() => ({ timelines, notes: made.notes, query: made.box.value, tab: tabs.state() }));
	const button = themeButton(timelines);
	const made = diff ? comparePage(runs, diff, help, bytes, changed, button) : reportPage(runs[0], help, bytes, changed, button);
	timelines.push(...made.timelines);
	const tabs = new Tabs(made.sections.filter(Boolean), changed);
	page.replaceChildren(made.head, el("div.bench", {}, made.side, made.element, made.dock), tabs.nav, ...tabs.sections, help);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => timelines.forEach((t) => t.theme()));
	// paper is light and does not wait for a frame
	matchMedia("print").addEventListener("change", () => timelines.forEach((t) => {
		t.theme();
		t.draw();
	}));
	const bench = page.querySelector(".bench"), TOOLS = 60;
	for (const t of timelines)
		t.onplace = () => bench.style.setProperty("--stage", `${timelines.reduce((sum, o) => sum + o.wanted + 8, TOOLS)}px`);
	timelines[0].onplace();
	bench.classList.toggle("blank", timelines.every(isBlank));
	const place = { timelines, tabs, box: made.box, notes: made.notes };
	// by then the address may have been brought up to date, which would drop where the link leads
	let restored = ""; // the address that was gone back to
	addEventListener("popstate", (e) => {
		restored = isWhole(e.state) ? location.href : "";
		if (restored)
			restore(place, location.hash);
	});
	addEventListener("hashchange", (e) => e.newURL !== restored && follow(place, new URL(e.newURL).hash));
	// the same link twice changes no hash; menus close when something else is pressed
	document.addEventListener("click", (e) => {
		page.querySelectorAll(".drop[open]").forEach((menu) => { menu.open = menu.contains(e.target); });
		const link = e.target.closest?.("a[href^='#']");
		const address = link?.getAttribute("href");
		if (!hasAddress() && link)
			e.preventDefault();
		if (link && (!hasAddress() || address === location.hash))
			follow(place, address);
	});
	copyNamesWhole();
	timelines.forEach((t) => t.resize());
	made.notes.recall();
	follow(place);
	if (hasAddress())
		history.replaceState({ whole: true }, "");
	if (!diff)
		timelines[0].onchange = changed;
	timelines.forEach((t) => { t.onlanes = changed; });
	addEventListener("scroll", changed);
	page.addEventListener("change", changed);
	// for the curious, and for tests
	globalThis.assay = { runs, diff, timelines, tabs, notes: made.notes, data: runs[0], timeline: timelines[0], colours: COLOURS, ready: performance.now() };
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
