// Ranks by steps as a picture: how late, how much communication nothing hid, how long. Outliers stand first; of very many ranks those
// behind them share lines.
import { countColumn, numberColumn, timeColumn } from "./columns.js";
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
const NAMES_WIDTH = 92, TABLE_WIDTH = 540, TOP = 18, NAMED = 15, SHARED = 3; // pixels; the table stands beside where both have room; the last two are heights of lines
const ALL_NAMED = 72, FIRST_NAMED = 24, MOST_SHARED = 150; // lines
const USUAL = 0.9, FAR_OFF = 4; // values beyond so many times this quantile have a colour of their own

// Values of one key as rows of ranks (or machines: the most of their ranks), most first, and columns of steps; who: the rank a cell is of.
function gridOf(data, key, unit) {
	const t = data.rank_step, steps = [...new Set(t.step)].sort((a, b) => a - b), column = new Map(steps.map((s, i) => [s, i])), rows = new Map();
	for (let i = 0; i < t.n; i++) {
		if (t[key][i] < 0)
			continue;
		const rank = t.rank[i], of = unit === "host" ? data.rank.host[rank] : rank, x = column.get(t.step[i]);
		if (!rows.has(of))
			rows.set(of, { rank, name: unit === "host" ? data.texts[of] : sourceName(data, data.rank.source[rank]), cells: new Array(steps.length).fill(null), who: new Array(steps.length).fill(-1), ranks: new Set(), sum: 0 });
		const row = rows.get(of);
		row.ranks.add(rank);
		if (row.cells[x] === null || t[key][i] > row.cells[x])
			[row.cells[x], row.who[x]] = [t[key][i], rank];
	}
	for (const row of rows.values())
		row.sum = row.cells.reduce((sum, v) => sum + (v ?? 0), 0);
	return { steps, rows: [...rows.values()].sort((a, b) => b.sum - a.sum || data.rank.rank[a.rank] - data.rank.rank[b.rank]) };
}

// Index of the largest cell of a row, -1 for none.
const mostOf = (cells) => cells.reduce((best, v, x) => v !== null && (best < 0 || v > cells[best]) ? x : best, -1);

// Rows as lines of the picture, [rows, y, height]: one each while names fit, else the first ones and the rest together.
function linesOf(rows) {
	const named = rows.length <= ALL_NAMED ? rows.length : FIRST_NAMED, each = Math.ceil((rows.length - named) / MOST_SHARED), out = [];
	for (let i = 0; i < rows.length; i += i < named ? 1 : each) {
		const [, y, height] = out.at(-1) ?? [null, TOP, 0];
		out.push([rows.slice(i, i < named ? i + 1 : i + each), y + height, i < named ? NAMED : SHARED]);
	}
	return out;
}

// The row of a line that a cell is drawn of: the one with most.
const rowAt = (rows, x) => rows.reduce((best, r) => r.cells[x] !== null && (!best || r.cells[x] > best.cells[x]) ? r : best, null);

class Matrix {
	constructor(data) {
		this.data = data;
		this.unit = "rank";
		this.canvas = el("canvas", { role: "img", onpointermove: (e) => this.point(e), onclick: (e) => this.press(e) });
		this.said = el("p.muted", { role: "status" });
		this.table = el("div");
	}

	set(key, unit = this.unit) {
		[this.key, this.unit] = [key, unit];
		Object.assign(this, gridOf(this.data, key, unit));
		this.lines = linesOf(this.rows);
		const values = this.rows.flatMap((r) => r.cells.filter((v) => v !== null)).sort((a, b) => a - b), usual = values[Math.floor((values.length - 1) * USUAL)];
		[this.low, this.most] = key === "dur" ? extremes(values) : [0, values.at(-1)];
		this.high = usual > this.low && this.most - this.low > FAR_OFF * (usual - this.low) ? this.low + 2 * (usual - this.low) : this.most;
		this.draw();
		this.fill();
	}

	draw() {
		const wide = Math.max(400, (this.canvas.parentElement?.parentElement?.clientWidth || innerWidth - 48) - 8), ratio = devicePixelRatio || 1;
		this.cell = Math.max(2, Math.min(64, (wide - NAMES_WIDTH - (wide > 2 * TABLE_WIDTH ? TABLE_WIDTH : 0)) / this.steps.length));
		const [, y, height] = this.lines.at(-1), w = NAMES_WIDTH + this.cell * this.steps.length, h = y + height;
		Object.assign(this.canvas, { width: Math.round(w * ratio), height: Math.round(h * ratio) });
		Object.assign(this.canvas.style, { width: `${w}px`, height: `${h}px` });
		this.canvas.setAttribute("aria-label", `${this.rows.length} ${this.unit}s by ${this.steps.length} steps; the table below has the same numbers`);
		const ctx = this.canvas.getContext("2d"), ink = `rgb(${resolve("--ink")})`;
		ctx.scale(ratio, ratio);
		ctx.font = "11px system-ui, sans-serif";
		ctx.textBaseline = "middle";
		ctx.fillStyle = ink;
		const every = Math.ceil(34 / this.cell);
		ctx.fillText("step", 4, TOP / 2);
		this.steps.forEach((s, k) => k % every === 0 && ctx.fillText(String(s), NAMES_WIDTH + k * this.cell + 2, TOP / 2));
		this.drawNames(ctx);
		this.drawCells(ctx);
	}

	drawNames(ctx) {
		for (const [rows, y, height] of this.lines)
			if (height === NAMED)
				ctx.fillText(rows[0].name, 4, y + height / 2, NAMES_WIDTH - 8);
		const [rows, y] = this.lines.find(([, , height]) => height === SHARED) ?? [];
		const rest = this.rows.length - this.lines.filter(([, , height]) => height === NAMED).length, words = rows ? [`${formatCount(rest)} others`, rows.length > 1 ? `${rows.length} a line` : ""] : [];
		words.forEach((text, i) => ctx.fillText(text, 4, y + 10 + 14 * i, NAMES_WIDTH - 8));
	}

	drawCells(ctx) {
		const heat = resolve("--heat"), ground = resolve("--panel"), beyond = `rgb(${resolve("--wait")})`;
		const colour = (v) => {
			const share = 0.06 + 0.94 * (v - this.low) / (this.high - this.low || 1);
			return v > this.high ? beyond : `rgb(${heat.map((c, k) => Math.round(c * share + ground[k] * (1 - share)))})`;
		};
		for (const [rows, y, height] of this.lines)
			for (let x = 0; x < this.steps.length; x++) {
				const row = rowAt(rows, x);
				if (!row)
					continue;
				ctx.fillStyle = colour(row.cells[x]);
				ctx.fillRect(NAMES_WIDTH + x * this.cell, y, Math.max(1, this.cell - 1), height === NAMED ? height - 1 : height);
			}
	}

	// [rows of the line, index of the step] under the pointer.
	under(e) {
		const line = this.lines.find(([, y, height]) => e.offsetY >= y && e.offsetY < y + height), x = Math.floor((e.offsetX - NAMES_WIDTH) / this.cell);
		return line && x >= 0 && x < this.steps.length ? [line[0], x] : null;
	}

	point(e) {
		const at = this.under(e), about = MATRIX_KEYS.find(([key]) => key === this.key)[2], row = at ? rowAt(...at) : null;
		const others = at?.[0].length > 1 ? `, most of ${at[0].length} ${this.unit}s` : "";
		this.said.textContent = at ? `${row?.name ?? at[0][0].name}, step ${this.steps[at[1]]}: ${row ? formatTime(row.cells[at[1]]) : "unknown"}${others}`
			: `${about}: faint ${formatTime(this.low)}, strong ${formatTime(this.high)}${this.most > this.high ? `, red more, up to ${formatTime(this.most)}` : ""}`;
	}

	press(e) {
		const at = this.under(e), row = at ? rowAt(...at) : null;
		if (row)
			this.open(row.who[at[1]], at[1]);
	}

	// Leads to the step of a rank where the page has its events.
	open(rank, x) {
		const s = this.data.step, source = this.data.rank.source[rank], own = (i) => s.source[i] === source && s.number[i] === this.steps[x];
		const step = Array.from({ length: s?.n ?? 0 }, (_, i) => i).find(own);
		if (step !== undefined)
			location.hash = `${this.data.tag}time=${s.ts[step]},${s.dur[step]}`;
		else
			this.said.textContent = `${sourceName(this.data, source)}: its events are not on this page; open its file, ${this.data.sources[source]?.path}`;
	}

	fill() {
		const most = (r) => mostOf(r.cells), known = (r) => r.cells.filter((v) => v !== null).length, host = (r) => this.data.texts[this.data.rank.host[r.rank]];
		this.table.replaceChildren(makeTable([
			{ title: this.unit, value: (r) => this.unit === "host" ? r.name : this.data.rank.rank[r.rank], show: (r) => el("button.plain", { type: "button", title: "where it is most", onclick: () => this.open(r.who[most(r)], most(r)) }, r.name) },
			...(this.unit === "host" ? [countColumn("ranks", (r) => r.ranks.size)] : [{ title: "host", value: host, show: host }]),
			timeColumn("all steps", (r) => r.sum),
			timeColumn("a step", (r) => r.sum / known(r)),
			timeColumn("most", (r) => r.cells[most(r)]),
			numberColumn("in step", "", (r) => this.steps[most(r)], String),
		], this.rows, {
			caption: `${MATRIX_KEYS.find(([key]) => key === this.key)[1]} of ${formatCount(this.rows.length)} ${this.unit}s over ${formatCount(this.steps.length)} steps`, rows: 16, sort: 2,
			...(this.rows.length > 16 ? { search: `Filter ${this.unit}s` } : {}),
		}));
	}
}

export function rankMatrix(data) {
	const t = data.rank_step, keys = MATRIX_KEYS.filter(([key]) => t?.[key].some((v) => v >= 0));
	if (!keys.length || data.rank.n < 2)
		return null;
	const m = new Matrix(data), hosts = new Set(data.rank.host);
	const set = (key, unit) => {
		m.set(key, unit);
		m.point({});
	};
	const units = hosts.size > 1 && hosts.size < data.rank.n && !hosts.has(0) ? [choice("unit", "What a row is", [["rank", "by rank"], ["host", "by machine"]], (unit) => set(m.key, unit))] : [];
	const made = el("div", {}, el("div.toolbar", {}, choice("cells", "What the cells show", keys, (key) => set(key)), ...units, m.said),
		el("div.beside", {}, el("div.matrix", { tabindex: 0, role: "region", "aria-label": "Ranks by steps" }, m.canvas), m.table));
	set(keys[0][0]);
	new ResizeObserver(() => m.draw()).observe(made);
	return Object.assign(made, { matrix: m });
}
