// A flame graph of calls: press a box to look into it, type to find.
import { callTree, launchTree, leafName, plainName, stackTree } from "./calltree.js";
import { countColumn, timeColumn } from "./columns.js";
import { choice, el, section } from "./dom.js";
import { decoded, formatCount, formatPercent, formatTime, shortName } from "./format.js";
import { threadLanes } from "./nest.js";
import { COLOURS, causeColour, colourSpans } from "./palette.js";
import { frameText } from "./stacks.js";
import { countedTime } from "./steady.js";
import { makeTable } from "./tables.js";

export const MEASURES = [["gpu", "GPU work launched"], ["host", "host time"], ["idle", "GPU idle before their launches"]];
const SEEN = ["looks", "stacks, by looks of the sampler"];
export const LAUNCHED = [["stack_gpu", "GPU work, by Python stack"], ["stack_idle", "GPU idle, by Python stack"]];
const FEW_LINES = 3, ROW = 20, NARROW = 0.0015, MOST_DEPTH = 60;
const sorted = (n, key) => [...n.inside.values()].filter((c) => c[key] > 0).sort((a, b) => b[key] - a[key]);
const keyOf = (n) => [...n.up.inside].find(([, c]) => c === n)[0];
const pathOf = (n) => n.up ? [...pathOf(n.up), n] : [];

// Boxes of what is inside a node, from left to right, as shares of it.
function boxesOf(top, key) {
	const out = [];
	const visit = (n, left, depth) => {
		const share = n[key] / top[key];
		if (share < NARROW || depth > MOST_DEPTH)
			return;
		out.push({ n, left, share, depth });
		let at = left;
		for (const c of sorted(n, key)) {
			visit(c, at, depth + 1);
			at += c[key] / top[key];
		}
	};
	visit(top, 0, 0);
	return out;
}

export class Flame {
	constructor(data) {
		this.data = data;
		this.colours = colourSpans(data);
		this.time = [-Infinity, Infinity];
		this.needle = "";
		this.picture = el("div.flame", { role: "group", "aria-label": "Flame graph of calls" });
		this.path = el("p.muted", { role: "status" });
		this.list = el("div");
	}

	// What there is most to see of.
	usual() {
		const { gpu } = this.data;
		return hasStacks(this.data) ? LAUNCHED[0][0] : gpu.launch.some((call) => call >= 0) ? "gpu" : hasCalls(this.data) ? "host" : SEEN[0];
	}

	open() {
		if (!this.key)
			this.measure(this.usual());
	}

	// Trees are made when first looked at: a large run has many calls.
	tree(key) {
		const [name, make] = key === SEEN[0] ? ["stacks", stackTree] : LAUNCHED.some(([k]) => k === key) ? ["launches", launchTree] : ["calls", callTree];
		return this[name] ??= make(this.data, ...this.time);
	}

	// Look at [from, to) only.
	within(from, to) {
		this.time = [from, to];
		this.calls = this.stacks = this.launches = null;
		if (this.key)
			this.measure(this.key);
	}

	measure(key) {
		this.key = key;
		this.top = this.root = this.tree(key);
		this.draw();
	}

	title(n) {
		if (!n.up)
			return "all";
		if (n.leaf)
			return leafName(this.data, n);
		return this.root !== this.calls ? this.frame(n) : shortName(plainName(this.data, n.name) || "(no name)");
	}

	// "f · x.py:3, 8": a function and the lines of it that were called from.
	frame(n) {
		const lines = [...n.lines].sort((a, b) => a - b), shown = lines.slice(0, FEW_LINES).join(", ");
		return frameText(this.data, n.name).replace(/:\d+$/, `:${shown}${lines.length > FEW_LINES ? ", …" : ""}`);
	}

	// Is it what is looked for? Any of its lines is.
	isFound(n) {
		const texts = n.lines ? [this.title(n), ...Array.from(n.lines, (line) => frameText(this.data, n.name).replace(/:\d+$/, `:${line}`))] : [this.title(n)];
		return texts.some((text) => text.toLowerCase().includes(this.needle));
	}

	amount(v) {
		return this.key === SEEN[0] ? `${formatCount(v)} looks` : formatTime(v);
	}

	about(n) {
		return `${this.title(n)}: ${this.amount(n[this.key])}, ${formatPercent(n[this.key], this.root[this.key])} of all${n.count ? `; ${formatCount(n.count)} calls` : ""}`;
	}

	// Calls as on the timeline; of stacks the program's own lines, those of packages, and libraries.
	background(n) {
		if (!n.up)
			return "var(--faint)";
		if (n.leaf)
			return `color-mix(in srgb, var(${n.leaf.what === "kernel" ? COLOURS[this.colours[n.span]] : causeColour(this.data.enums.cause[n.leaf.id])}) 70%, var(--ground))`;
		const { own, line, code } = this.data.stack ?? {}, stack = this.root !== this.calls;
		const colour = !stack ? COLOURS[this.colours[n.span]] : own?.[n.name] === n.name ? "--mark" : line[n.name] < 0 && this.data.code.line[code[n.name]] < 0 ? "--host-driver" : "--host-python";
		return `color-mix(in srgb, var(${colour}) ${n.depth % 2 ? 55 : 70}%, var(--ground))`;
	}

	box({ n, left, share, depth }) {
		const found = this.needle && this.isFound(n);
		const b = el("button", {
			type: "button", title: this.about(n), "aria-label": this.about(n), onclick: () => this.zoom(n === this.top && n.up ? n.up : n),
			style: { left: `${100 * left}%`, width: `${100 * share}%`, top: `${depth * ROW}px`, background: this.background(n) },
		}, share > 0.015 ? this.title(n) : null);
		b.classList.toggle("found", !!found);
		b.classList.toggle("other", !!this.needle && !found);
		return b;
	}

	zoom(n) {
		this.top = n;
		this.draw();
		this.picture.dispatchEvent(new Event("change", { bubbles: true }));
	}

	// The box that fills the width, from the outermost call on, for the address; "" for all.
	zoomText() {
		return this.top ? pathOf(this.top).map((n) => encodeURIComponent(keyOf(n))).join("/") : "";
	}

	// Goes as far as there are such calls.
	zoomTo(text) {
		this.open();
		let at = this.root;
		for (const key of text.split("/").map(decoded)) {
			const next = [...at.inside].find(([k]) => String(k) === key);
			if (!next)
				break;
			[, at] = next;
		}
		this.zoom(at);
	}

	draw() {
		const boxes = boxesOf(this.top, this.key);
		this.picture.style.height = `${(1 + boxes.reduce((most, b) => Math.max(most, b.depth), 0)) * ROW + 4}px`;
		this.picture.replaceChildren(...boxes.map((b) => this.box(b)));
		this.path.textContent = [this.root, ...pathOf(this.top)].map((n) => this.title(n)).join(" › ") + ` · ${this.amount(this.top[this.key])}`;
		this.list.replaceChildren(makeTable(this.columns(), sorted(this.top, this.key), { caption: `Calls inside ${this.title(this.top)}`, rows: 15, sort: this.sortedBy() }));
	}

	sortedBy() {
		return Math.max(0, [...MEASURES, ...LAUNCHED].findIndex(([key]) => key === this.key) % MEASURES.length);
	}

	columns() {
		return this.root === this.stacks ? [
			countColumn("looks", (n) => n.looks),
			{ title: "called", name: true, value: (n) => this.title(n), show: (n) => this.title(n) },
		] : this.root === this.launches ? [
			...LAUNCHED.map(([key, title]) => timeColumn(title, (n) => n[key] || null)),
			{ title: "called", name: true, value: (n) => this.title(n), show: (n) => n.span >= 0 ? el("a", { href: `#${this.data.tag}span=${n.span}` }, this.title(n)) : el("button.plain", { type: "button", onclick: () => this.zoom(n) }, this.title(n)) },
		] : [
			...MEASURES.map(([key, title]) => timeColumn(title, (n) => n[key] || null)),
			countColumn("calls", (n) => n.count),
			{ title: "called", name: true, value: (n) => this.title(n), show: (n) => el("a", { href: `#${this.data.tag}span=${n.span}`, title: this.data.texts[n.name] }, this.title(n)) },
		];
	}
}

// The stacks seen in a time; null when there are none.
export function stacksIn(data, from, to) {
	const f = new Flame(data);
	f.within(from, to);
	f.measure(SEEN[0]);
	return f.stacks.looks ? el("div", {}, el("p.muted", {}, "stacks that the sampler saw in it"), f.picture) : null;
}

// The calls of a time, drawn when they are asked for: a large run has many.
export function callsIn(data, from, to) {
	const f = new Flame(data);
	f.within(from, to);
	return el("details", { ontoggle: () => f.open() }, el("summary", {}, "Flame graph of the calls in it"), f.path, f.picture);
}

// Has it Python stacks of launches?
export const hasStacks = ({ gpu, stack, code }) => Boolean(stack && code && gpu.stack?.some((row) => row >= 0));

// Has the run calls of threads?
export const hasCalls = (data) => threadLanes(data).size > 0;

// A flame graph with its tools; made when its section is first shown.
export function flameSection(f, title, measures, tools, ...notes) {
	const box = el("input", { type: "search", placeholder: "Find calls", "aria-label": "Find calls", oninput: () => { f.needle = box.value.toLowerCase(); f.draw(); } });
	const measure = choice("flame", "What the width of a box is", measures, (key) => f.measure(key), f.usual());
	const made = section("flame", title, ...notes,
		el("div.toolbar", {}, measure, ...tools, box,
			el("button", { type: "button", onclick: () => f.zoom(f.root) }, "All calls"), f.path),
		f.picture, f.list);
	made.addEventListener("shown", () => f.open());
	// show what stacks have of a text
	const find = (text) => {
		measure.value = SEEN[0];
		measure.dispatchEvent(new Event("change", { bubbles: true }));
		box.value = text;
		box.dispatchEvent(new Event("input"));
	};
	return Object.assign(made, { flame: f, find });
}

export function flame(data) {
	if (!data.look && !hasCalls(data) && !hasStacks(data))
		return null;
	const f = new Flame(data), [from, to, steps] = countedTime(data), counted = Number.isFinite(from);
	const tools = counted ? [choice("time", "Which time", [["steps", steps === 1 ? "the step that counts" : `${formatCount(steps)} steps that count`], ["all", "the whole run"]], (what) => f.within(...(what === "steps" ? [from, to] : [-Infinity, Infinity])))] : [];
	if (counted)
		f.within(from, to);
	return flameSection(f, "Flame", [...(hasStacks(data) ? LAUNCHED : []), ...(hasCalls(data) ? MEASURES : []), ...(data.look ? [SEEN] : [])], tools,
		el("p.muted", {}, "Calls of all threads, those inside others below them. Press a box to look into it, its own box to go back."));
}
