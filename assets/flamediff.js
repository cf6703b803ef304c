// A flame graph of two runs: boxes as wide as the mean of both, coloured by which run they are longer in.
import { callTree, launchTree, mergeTrees, sameCall, sameLaunch } from "./calltree.js";
import { pairColumn, timeColumn } from "./columns.js";
import { el, swatch } from "./dom.js";
import { Flame, LAUNCHED, MEASURES, flameSection, hasCalls, hasStacks } from "./flame.js";
import { formatPercent, formatTime, shortName } from "./format.js";
import { countedTime } from "./steady.js";

const signed = (ns) => `${ns > 0 ? "+" : ""}${formatTime(ns)}`;

class FlameDiff extends Flame {
	constructor(runs) {
		super(runs[0]);
		this.runs = runs;
	}

	usual() {
		return this.runs.every(hasStacks) ? LAUNCHED[0][0] : MEASURES[this.data.gpu.launch.some((call) => call >= 0) ? 0 : 1][0];
	}

	tree(key) {
		const launched = LAUNCHED.some(([k]) => k === key), [name, make, measures, same] = launched ? ["launches", launchTree, LAUNCHED, sameLaunch] : ["calls", callTree, MEASURES, sameCall];
		const times = this.runs.map(countedTime), trees = () => this.runs.map((run, i) => make(run, times[i][0], times[i][1]));
		return this[name] ??= mergeTrees(this.runs, trees(), times.map(([, , steps]) => steps), measures.map(([k]) => k), same);
	}

	change(n) {
		return n.by[this.key][1] - n.by[this.key][0];
	}

	title(n) {
		return n.up ? shortName(n.name || "(no name)") : "all";
	}

	about(n) {
		const [before, after] = n.by[this.key];
		return `${this.title(n)}: ${formatTime(before)} before, ${formatTime(after)} after a step (${before > 0 ? `${signed(after - before)}, ${after >= before ? "+" : "−"}${formatPercent(Math.abs(after - before), before)}` : "new"})`;
	}

	// The stronger, the larger the change beside the box.
	background(n) {
		const share = this.change(n) / (2 * n[this.key] || 1), strength = Math.round(Math.min(1, 2 * Math.abs(share)) * 55);
		return `color-mix(in srgb, var(${share > 0 ? "--comm" : "--compute"}) ${strength}%, var(--panel))`;
	}

	sortedBy() {
		return 0;
	}

	columns() {
		const side = (i) => (n) => n.by[this.key][i];
		const calls = pairColumn("calls a step", (n) => n.counts[0], (n) => n.counts[1], (c) => Number.isInteger(c) ? String(c) : c.toFixed(1));
		return [
			timeColumn("change", (n) => this.change(n), { value: (n) => Math.abs(this.change(n)), show: (n) => signed(this.change(n)) }),
			timeColumn("before", side(0)),
			timeColumn("after", side(1)),
			{ ...calls, show: (n) => n.counts.some((c) => c) ? calls.show(n) : "" },
			{ title: "called", name: true, value: (n) => this.title(n), show: (n) => el("button.plain", { type: "button", onclick: () => this.zoom(n), title: n.name }, this.title(n)) },
		];
	}
}

export function flameDiff(runs) {
	const measures = [...(runs.every(hasStacks) ? LAUNCHED : []), ...(runs.every(hasCalls) ? MEASURES : [])];
	return !measures.length ? null : flameSection(new FlameDiff(runs), "Flame", measures, [],
		el("ul.legend", {}, el("li", {}, swatch("--comm"), "longer after"), el("li", {}, swatch("--compute"), "shorter after"), el("li", {}, "per step that counts; a box is as wide as the mean of both runs")));
}
