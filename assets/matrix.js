// Ranks by steps as a picture: how late, how much communication nothing hid, how long. Outliers stand first.
import { sourceName } from "./data.js";
import { choice, el } from "./dom.js";
import { extremes, formatCount, formatTime } from "./format.js";
import { resolve } from "./palette.js";
import { makeTable } from "./tables.js";

const MATRIX_KEYS = [
	["late", "lateness", "after the first rank to arrive, summed over the step's collectives"],
	["exposed_comm", "exposed communication", "communication that no compute hid"],
	["dur", "step time", "length of the step on the host"],
];
const NAMES_WIDTH = 92, TOP = 18;

// Values of one key as rows of ranks, most first, and columns of steps.
function gridOf(data, key) {
	const t = data.rank_step, steps = [...new Set(t.step)].sort((a, b) => a - b), column = new Map(steps.map((s, i) => [s, i]));
	const rows = new Map();
	for (let i = 0; i < t.n; i++) {
		if (t[key][i] < 0)
			continue;
		if (!rows.has(t.rank[i]))
			rows.set(t.rank[i], { rank: t.rank[i], cells: new Array(steps.length).fill(null), sum: 0 });
		const row = rows.get(t.rank[i]);
		row.cells[column.get(t.step[i])] = t[key][i];
		row.sum += t[key][i];
	}
	return { steps, rows: [...rows.values()].sort((a, b) => b.sum - a.sum || data.rank.rank[a.rank] - data.rank.rank[b.rank]) };
}

class Matrix {
	constructor(data) {
		this.data = data;
		this.canvas = el("canvas", { role: "img", onpointermove: (e) => this.point(e), onclick: (e) => this.open(e) });
		this.said = el("p.muted", { role: "status" });
		this.table = el("div");
	}

	name(row) {
		return sourceName(this.data, this.data.rank.source[row.rank]);
	}

	set(key) {
		this.key = key;
		Object.assign(this, gridOf(this.data, key));
		const values = this.rows.flatMap((r) => r.cells.filter((v) => v !== null));
		[this.low, this.high] = key === "dur" ? extremes(values) : [0, extremes(values)[1]];
		this.draw();
		this.fill();
	}

	draw() {
		const wide = Math.max(400, (this.canvas.parentElement?.parentElement?.clientWidth || innerWidth - 48) - 8), ratio = devicePixelRatio || 1;
		this.cell = [Math.max(2, Math.min(64, (wide - NAMES_WIDTH) / this.steps.length)), this.rows.length > 128 ? 6 : 15];
		const w = NAMES_WIDTH + this.cell[0] * this.steps.length, h = TOP + this.cell[1] * this.rows.length;
		Object.assign(this.canvas, { width: Math.round(w * ratio), height: Math.round(h * ratio) });
		Object.assign(this.canvas.style, { width: `${w}px`, height: `${h}px` });
		this.canvas.setAttribute("aria-label", `${this.rows.length} ranks by ${this.steps.length} steps; the table below has the same numbers`);
		const ctx = this.canvas.getContext("2d"), heat = resolve("--heat"), ground = resolve("--panel"), ink = `rgb(${resolve("--ink")})`;
		ctx.scale(ratio, ratio);
		ctx.font = "11px system-ui, sans-serif";
		ctx.textBaseline = "middle";
		ctx.fillStyle = ink;
		const every = Math.ceil(34 / this.cell[0]);
		this.steps.forEach((s, k) => k % every === 0 && ctx.fillText(String(s), NAMES_WIDTH + k * this.cell[0] + 2, TOP / 2));
		this.rows.forEach((row, y) => {
			ctx.fillStyle = ink;
			if (this.cell[1] > 10)
				ctx.fillText(this.name(row), 4, TOP + (y + 0.5) * this.cell[1]);
			row.cells.forEach((v, x) => {
				if (v === null)
					return;
				const share = 0.06 + 0.94 * (v - this.low) / (this.high - this.low || 1);
				ctx.fillStyle = `rgb(${heat.map((c, k) => Math.round(c * share + ground[k] * (1 - share)))})`;
				ctx.fillRect(NAMES_WIDTH + x * this.cell[0], TOP + y * this.cell[1], Math.max(1, this.cell[0] - 1), Math.max(1, this.cell[1] - 1));
			});
		});
	}

	// [row, index of the step] under the pointer.
	under(e) {
		const row = this.rows[Math.floor((e.offsetY - TOP) / this.cell[1])], x = Math.floor((e.offsetX - NAMES_WIDTH) / this.cell[0]);
		return row && x >= 0 && x < this.steps.length ? [row, x] : null;
	}

	point(e) {
		const at = this.under(e), about = MATRIX_KEYS.find(([key]) => key === this.key)[2];
		this.said.textContent = at ? `${this.name(at[0])}, step ${this.steps[at[1]]}: ${at[0].cells[at[1]] === null ? "unknown" : formatTime(at[0].cells[at[1]])}`
			: `${about}: light ${formatTime(this.low)}, dark ${formatTime(this.high)}`;
	}

	// Leads to the step where the page has the rank's events.
	open(e) {
		const at = this.under(e), s = this.data.step, source = at ? this.data.rank.source[at[0].rank] : -1;
		for (let i = 0; at && i < (s?.n ?? 0); i++)
			if (s.source[i] === source && s.number[i] === this.steps[at[1]]) {
				location.hash = `${this.data.tag}time=${s.ts[i]},${s.dur[i]}`;
				return;
			}
		if (at)
			this.said.textContent = `${this.name(at[0])}: its events are not on this page; open its file, ${this.data.sources[source]?.path}`;
	}

	fill() {
		const most = (row) => row.cells.reduce((best, v, x) => v !== null && (best < 0 || v > row.cells[best]) ? x : best, -1);
		this.table.replaceChildren(makeTable([
			{ title: "rank", value: (r) => this.data.rank.rank[r.rank], show: (r) => this.name(r) },
			{ title: "all steps", number: true, value: (r) => r.sum, show: (r) => formatTime(r.sum) },
			{ title: "a step", number: true, value: (r) => r.sum / r.cells.length, show: (r) => formatTime(r.sum / r.cells.filter((v) => v !== null).length) },
			{ title: "most", number: true, value: (r) => r.cells[most(r)], show: (r) => formatTime(r.cells[most(r)]) },
			{ title: "in step", number: true, value: (r) => this.steps[most(r)], show: (r) => String(this.steps[most(r)]) },
		], this.rows, { caption: `${MATRIX_KEYS.find(([key]) => key === this.key)[1]} of ${formatCount(this.rows.length)} ranks over ${formatCount(this.steps.length)} steps`, rows: 16, sort: 1 }));
	}
}

export function rankMatrix(data) {
	const t = data.rank_step, keys = MATRIX_KEYS.filter(([key]) => t?.[key].some((v) => v >= 0));
	if (!keys.length || data.rank.n < 2)
		return null;
	const m = new Matrix(data);
	const made = el("div", {}, el("div.toolbar", {}, choice("cells", "What the cells show", keys, (key) => {
		m.set(key);
		m.point({});
	}), m.said), el("div.beside", {}, el("div.matrix", { tabindex: 0, role: "region", "aria-label": "Ranks by steps" }, m.canvas), m.table));
	m.set(keys[0][0]);
	m.point({});
	new ResizeObserver(() => m.draw()).observe(made);
	return Object.assign(made, { matrix: m });
}
