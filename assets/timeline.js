// The timeline: lanes of spans, drawn pixel by pixel so that a million of them cost no more than what can be seen.
//
// A span wider than a pixel and a half is drawn as it is. Narrower ones share a pixel, whose colour is that of the
// longest among them and whose strength is the share of the pixel's time that they cover (data.js, Levels). So
// every zoom shows all spans, and zooming in ends at each single one.
import { Levels, markOf, spanName } from "./data.js";
import { el } from "./dom.js";
import { formatCount, formatTime, roundStep, shortName } from "./format.js";
import { laneLabels } from "./labels.js";
import { COLOURS, INFERRED, SHADES, colourSpans, pixelTable, resolve } from "./palette.js";
import { drawPath } from "./path.js";
import { groupLanes, placeRows } from "./rows.js";
import { extent, lowerBound, seriesTitle, seriesValue } from "./series.js";
import { steadySteps } from "./steady.js";
import { FONT, Strip, css, hatch } from "./strip.js";

const RULER = 38, OVERVIEW = 34, SERIES = 24, TALLEST_SERIES = 96, LETTER = 6.1;
const MOST_LABELS = 2500, MOST_STRETCH = 2, FEWEST_SERIES = 2, USUAL_SERIES = 3, SHARE_OF_SERIES = 0.22;

// Stretches in which a stream held back work until other work had ended: [start, end, span of the work held back].
function delaysOf(data) {
	const w = data.wait, out = [];
	for (let i = 0; i < (w?.n ?? 0); i++) {
		const span = w.consumer_gpu[i], before = w.producer_gpu[i];
		if (w.consumer[i] < 0 || span < 0 || before < 0 || w.delayed[i] <= 0)
			continue;
		const end = data.start[before] + data.dur[before];
		out.push([end - w.delayed[i], end, span]);
	}
	return out;
}

export class Timeline {
	constructor(data) {
		this.data = data;
		this.levels = new Levels(data.start, data.dur);
		this.colour = colourSpans(data);
		this.groups = groupLanes(data, this.levels);
		this.offAtFirst = new Set(["recorder", ...(data.step ? ["Steps"] : [])]); // the ruler has the steps
		this.off = new Set(this.offAtFirst); // kinds of lanes that are switched off
		this.moves = []; // [id, id]: groups that were put before others, in the order of time
		this.closed = new Set(); // ranks whose lanes are folded away
		this.delays = delaysOf(data);
		this.short = [];
		this.selected = -1;
		this.arrows = []; // [from span, to span, kind], by details.js
		this.underlined = []; // spans in which a selected wait spent its time
		this.measure = null; // [t, t]: the area selected, in
		this.band = null; // [y, y] of the lanes, null for all
		this.match = null; // what the search found, see markOf
		this.path = null; // the same of the critical path while it is shown
		this.framed = "steady"; // what is kept in view when the window changes: "steady", "all" or nothing
		this.frames = 0;
		this.drawMs = 0;
		this.t0 = 0;
		this.scale = 1;
		this.onselect = () => {};
		this.onmeasure = () => {};
		this.onchange = () => {};
		this.onplace = () => {};
		this.onlanes = () => {}; // lanes were arranged or scrolled
		this.onpath = () => {};
		this.build();
		this.theme();
	}

	build() {
		this.overview = new Strip("overview");
		this.ruler = new Strip("ruler");
		this.lanes = new Strip("lanes");
		this.telemetry = new Strip("telemetry");
		this.labels = el("div.labels");
		this.inner = el("div.inner", {}, this.labels, this.lanes.canvas);
		this.view = el("div.view", {}, this.inner);
		this.seriesLabels = el("div.series-labels");
		this.tip = el("div.tip", { role: "presentation" });
		this.hint = el("div.hint", { role: "presentation" }, "Ctrl + wheel zooms; so does the wheel after a click here");
		const side = { "a.": "before", "b.": "after" }[this.data.tag]; // of a page of two runs
		this.root = el("div.timeline", {
			tabindex: 0, role: "application",
			"aria-label": `${["Timeline", side].filter(Boolean).join(" ")}. W and S zoom, A and D pan, F fits, H goes to the steady steps, slash searches, question mark lists all keys.`,
		},
			el("div.row", {}, el("div.corner", {}, side ?? "whole run"), this.overview.canvas),
			el("div.row", {}, el("div.corner.when", {}), this.ruler.canvas),
			this.view,
			this.bottom = el("div.row.bottom", { tabindex: 0, role: "region", "aria-label": ["Telemetry", side].filter(Boolean).join(" ") }, this.seriesLabels, this.telemetry.canvas),
			this.tip, this.hint);
		this.corner = this.root.querySelector(".when");
		this.series = this.data.series.filter((s) => s.n &&
			/power_watts|clock_gfx|^util_pct|held_bytes|mem_used_bytes|temp_c$/.test(s.name) &&
			this.data.sources[this.data.tracks[s.track]?.source]?.clock !== "nowhere");
		this.series = this.series.slice(0, 12);
		const titles = this.series.map((s) => seriesTitle(this.data, s)), one = new Set(titles.map((title) => title.split(" · ")[0])).size === 1;
		for (const [i, s] of this.series.entries())
			this.seriesLabels.append(el("div.label", { title: titles[i] },
				el("span", {}, one ? titles[i].split(" · ").slice(1).join(" · ") : titles[i]), s.readout = el("b", {}, "")));
		this.place();
		new ResizeObserver(() => this.resize()).observe(this.root);
		this.view.addEventListener("scroll", () => {
			this.dirty();
			this.onlanes();
		});
	}

	// How much taller lanes can be while they, and telemetry, still need no scrolling: by quarters.
	roomForLanes() {
		const room = this.root.clientHeight - RULER - OVERVIEW - (this.bottom.hidden ? 0 : this.series.length * SERIES);
		return Math.min(MOST_STRETCH, Math.max(1, Math.floor(4 * room / this.least) / 4));
	}

	// Lanes were folded, hidden, pinned or switched.
	place() {
		const selected = this.bandRows().map((r) => r.lane);
		this.least = placeRows(this.groups, this.off, this.closed).total;
		this.bottom.hidden = !this.series.length || this.off.has("telemetry");
		this.stretch = this.roomForLanes();
		const { total, heads, folds } = placeRows(this.groups, this.off, this.closed, this.stretch);
		this.total = total;
		this.inner.style.height = `${total}px`;
		this.wanted = this.least + RULER + OVERVIEW + (this.bottom.hidden ? 0 : Math.min(this.series.length, USUAL_SERIES) * SERIES);
		this.onplace();
		this.rowOfLane = new Map(this.groups.filter((g) => g.rows.length).flatMap((group) =>
			group.lanes.map((lane, i) => [lane, { row: group.rows[group.flat ? 0 : i], group }])));
		this.shown = this.groups.filter((g) => g.rows.length);
		this.band = bandAround(selected.map((lane) => this.rowOfLane.get(lane)?.row).filter(Boolean));
		this.labels.replaceChildren(...laneLabels(this, heads, folds));
		this.resize();
		this.onlanes();
	}

	// Colours changed: light, dark or print.
	theme() {
		Object.assign(this, pixelTable());
		this.ink = resolve("--ink");
		this.ground = resolve("--ground");
		this.panel = resolve("--panel");
		this.faint = resolve("--faint");
		this.accent = resolve("--accent");
		this.hatchInferred = hatch(this.lanes.ctx, resolve("--inferred-stripe"));
		this.hatchWait = hatch(this.lanes.ctx, resolve("--wait"));
		this.bars = null;
		this.groundPixel = (255 << 24 | this.ground[2] << 16 | this.ground[1] << 8 | this.ground[0]) >>> 0;
		this.dirty();
	}

	resize() {
		const ratio = devicePixelRatio || 1;
		this.ratio = ratio;
		if (!this.view.clientWidth)
			return;
		if (this.stretch !== this.roomForLanes())
			return void this.place();
		// what lanes leave over goes to telemetry; else whole rows, the others by scrolling
		const left = this.root.clientHeight - RULER - OVERVIEW - this.total, fewest = Math.floor(this.root.clientHeight * SHARE_OF_SERIES / SERIES);
		const rows = Math.max(FEWEST_SERIES, fewest, Math.floor(left / SERIES));
		this.tall = Math.min(TALLEST_SERIES, Math.max(SERIES, Math.floor(left / this.series.length)));
		const all = this.series.length * this.tall;
		this.seriesLabels.style.setProperty("--tall", `${this.tall}px`);
		this.bottom.style.maxHeight = `${(left >= all ? all : rows * SERIES) + 1}px`;
		// either part may have a bar to scroll it by
		const inside = Math.min(this.view.clientWidth, this.bottom.clientWidth || Infinity), width = Math.max(100, inside - this.labels.offsetWidth), { framed } = this;
		this.width = width;
		this.overview.resize(width, OVERVIEW, ratio);
		this.ruler.resize(width, RULER, ratio);
		this.lanes.resize(width, this.view.clientHeight, ratio);
		this.telemetry.resize(width, all, ratio);
		if (framed === "steady")
			this.showSteady();
		else if (framed === "all")
			this.showAll();
		this.bars = null;
		this.dirty();
	}

	fit() {
		const length = Math.max(1, this.data.length_ns);
		return [-length * 0.01, length * 1.02 / (this.width || 1000)];
	}

	dirty() {
		if (this.pending)
			return;
		this.pending = requestAnimationFrame(() => {
			this.pending = 0;
			this.draw();
		});
	}

	x(t) {
		return (t - this.t0) / this.scale;
	}

	time(x) {
		return this.t0 + x * this.scale;
	}

	// Show [t, t + length); the whole run bounds it.
	show(t, length) {
		this.framed = null;
		this.scale = Math.max(0.01, Math.min(length / this.width, this.fit()[1] * 1.5));
		const slack = this.width * this.scale * 0.5;
		this.t0 = Math.max(-slack, Math.min(t, this.data.length_ns - this.width * this.scale + slack));
		this.hideTip();
		this.dirty();
		this.onchange();
	}

	zoom(factor, x = this.width / 2) {
		const t = this.time(x), length = this.width * this.scale * factor;
		const limited = Math.max(0.01 * this.width, Math.min(length, this.fit()[1] * 1.5 * this.width));
		this.show(t - x * limited / this.width, limited);
	}

	pan(pixels) {
		this.show(this.t0 + pixels * this.scale, this.width * this.scale);
	}

	showAll() {
		[this.t0, this.scale] = this.fit();
		this.framed = "all";
		this.dirty();
		this.onchange();
	}

	// [from, length, how many] of steps as the run has most of them, null without.
	steadyTime() {
		return this.steady ??= steadySteps(this.data);
	}

	// Two such steps; the whole run when it has none.
	showSteady() {
		if (!this.steadyTime())
			return this.showAll();
		const [from, length] = this.steady;
		this.show(from - length * 0.02, length * 1.04);
		this.framed = "steady";
	}

	laneOf(span) {
		let from = 0, to = this.data.lanes.length;
		while (to - from > 1) {
			const mid = (from + to) >> 1;
			if (this.data.lanes[mid].first <= span)
				from = mid;
			else
				to = mid;
		}
		return this.data.lanes[from];
	}

	rowOf(span) {
		return this.rowOfLane.get(this.laneOf(span)) ?? null;
	}

	// What lies under the pointer changes without it.
	hideTip() {
		this.tip.style.display = "none";
	}

	// Select a span, and bring it into view when asked.
	select(span, reveal) {
		this.selected = span;
		this.hideTip();
		if (span >= 0 && reveal) {
			const { start, dur } = this.data;
			const length = Math.max(dur[span] * 4, 2000);
			const visible = this.x(start[span]) >= 0 && this.x(start[span] + dur[span]) <= this.width &&
				dur[span] / this.scale >= 8;
			if (!visible)
				this.show(start[span] + dur[span] / 2 - length / 2, length);
			this.bringLane(span);
		}
		this.onselect(span);
		this.dirty();
	}

	// Show the lane of a span, whatever it is folded into.
	bringLane(span) {
		const lane = this.laneOf(span), group = this.groups.find((g) => g.lanes.includes(lane));
		const folded = group.flat || group.hidden || this.off.has(group.kind) || group.fold && !group.fold.open && !group.pinned || this.closed.has(group.rank) && !group.pinned;
		if (folded) {
			this.closed.delete(group.rank);
			group.flat = group.hidden = false;
			this.off.delete(group.kind);
			if (group.fold)
				group.fold.open = true;
			this.place();
		}
		const { y } = this.rowOf(span).row;
		if (y < this.view.scrollTop || y > this.view.scrollTop + this.view.clientHeight - 20)
			this.view.scrollTop = y - this.view.clientHeight / 2;
	}

	// Select [from, to] of the lanes between two of them (rows of data.lanes), of all without.
	selectArea(from, to, lanes) {
		const rows = (lanes ?? []).map((i) => this.rowOfLane.get(this.data.lanes[i])?.row);
		this.measure = [from, to];
		this.band = rows.every(Boolean) ? bandAround(rows) : null;
		this.measured();
	}

	// An area was selected, and so no event is.
	measured() {
		this.selected = -1;
		this.arrows = this.underlined = [];
		this.hideTip();
		this.dirty();
		this.onmeasure();
	}

	bandRows() {
		return this.band ? this.shown.flatMap((g) => g.rows).filter((r) => r.y < this.band[1] && r.y + r.height > this.band[0]) : [];
	}

	// First and last lane of the area, as selectArea takes them; null for all.
	bandLanes() {
		const rows = this.bandRows();
		return rows.length ? [rows[0], rows.at(-1)].map((r) => this.data.lanes.indexOf(r.lane)) : null;
	}

	// The span under a point of the lanes canvas, or -1.
	spanAt(x, y) {
		const found = this.shown.find((g) => y >= g.y && y < g.y + g.height);
		const row = found?.rows.find((r) => y >= r.y && y < r.y + r.height);
		if (!row)
			return -1;
		const from = this.time(x - 2), to = this.time(x + 2), exact = this.time(x);
		const i = this.levels.endsAfter(exact, row.lane.first, row.lane.last);
		if (i < row.lane.last && this.data.start[i] <= exact)
			return i;
		const a = this.levels.endsAfter(from, row.lane.first, row.lane.last);
		const b = a < row.lane.last && this.data.start[a] < to ? this.levels.startsFrom(to, a, row.lane.last) : a;
		return a < b ? this.levels.longest(a, b) : -1;
	}

	// Mark spans (1 in hit, by span; null marks none); returns how many and their total time.
	mark(hit) {
		this.match = hit ? markOf(this.data, hit) : null;
		this.dirty();
		return this.match;
	}

	// The next (or last) span that matches, in the order of lanes and time.
	nextMatch(step) {
		if (!this.match?.count)
			return;
		const { hit } = this.match;
		let i = this.selected;
		do
			i = (i + step + hit.length) % hit.length;
		while (!hit[i]);
		this.select(i, true);
	}

	draw() {
		const begun = performance.now();
		this.drawLanes();
		this.drawRuler();
		this.drawOverview();
		if (!this.bottom.hidden)
			this.drawTelemetry();
		setText(this.corner, `${formatTime(this.width * this.scale)} shown`);
		this.frames++;
		this.drawMs = performance.now() - begun;
	}

	// One lane as a row of pixels; wide spans that can hold a label are pushed to labels.
	rasterLane({ lane, height }, pixels, labels, y, stripes) {
		const { start, dur } = this.data, { levels, colour } = this;
		const width = pixels.length, scale = this.scale / this.ratio, t0 = this.t0, match = this.match ?? this.path;
		const dimmed = COLOURS.length;
		const table = this.pixels, full = SHADES - 1, { sum } = levels;
		pixels.fill(this.groundPixel);
		const t1 = t0 + width * scale;
		let i = levels.endsAfter(t0, lane.first, lane.last);
		while (i < lane.last && start[i] < t1) {
			const from = (start[i] - t0) / scale, to = from + dur[i] / scale;
			if (to - from >= 1.5) {
				const a = Math.max(0, Math.round(from)), b = Math.min(width, Math.max(a + 1, Math.round(to)));
				const dim = match && !match.hit[i] ? dimmed : 0;
				const base = (dim + colour[i]) * SHADES;
				pixels.fill(table[base + full], a, b);
				if (b - a > 2 && from >= 0)
					pixels[a] = table[base + 8]; // a faint edge keeps neighbours apart
				if (colour[i] === INFERRED && b - a > 2 && !dim)
					stripes.push([a / this.ratio, b / this.ratio, y, height]);
				if (b - a > 26 * this.ratio)
					labels.push(i, a / this.ratio, b / this.ratio, y);
				i++;
				continue;
			}
			const bin = Math.max(0, Math.floor(from)), end = t0 + (bin + 1) * scale;
			let j = levels.startsFrom(end, i, lane.last);
			if (j === i)
				j++;
			if (j - 1 > i && dur[j - 1] >= 1.5 * scale)
				j--; // drawn as itself in the next round
			const over = Math.max(0, start[j - 1] + dur[j - 1] - end);
			const share = Math.min(1, Math.max(0, (sum[j] - sum[i] - over) / scale));
			const hits = match ? match.before[j] - match.before[i] : 0;
			let best = levels.longest(i, j);
			if (hits && !match.hit[best])
				for (let k = i; k < Math.min(j, i + 64); k++)
					if (match.hit[k]) {
						best = k;
						break;
					}
			if (bin < width)
				pixels[bin] = table[((match && !hits ? dimmed : 0) + colour[best]) * SHADES +
					(hits ? full : Math.round(share * full))];
			i = j;
		}
	}

	drawLanes() {
		const { ctx, canvas } = this.lanes, ratio = this.ratio, w = canvas.width, h = canvas.height;
		const image = this.lanes.image ??= new ImageData(w, h), buffer = new Uint32Array(image.data.buffer);
		const pixels = this.rowPixels?.length === w ? this.rowPixels : this.rowPixels = new Uint32Array(w), labels = [], stripes = [];
		const top = this.view.scrollTop, bottom = top + this.lanes.height;
		let done = 0; // device rows from the top that are written
		for (const row of this.shown.flatMap((g) => g.y > bottom || g.y + g.height < top ? [] : g.rows)) {
			if (row.y > bottom || row.y + row.height < top)
				continue;
			const a = Math.max(done, Math.round((row.y - top) * ratio)), b = Math.min(h, Math.round((row.y + row.height - top) * ratio) - 1);
			this.rasterLane(row, pixels, labels, (row.y - top) + (row.height - 1) / 2, stripes);
			buffer.fill(this.groundPixel, done * w, a * w);
			for (done = a; done < b; done++)
				buffer.set(pixels, done * w);
		}
		ctx.setTransform(1, 0, 0, 1, 0, 0);
		if (done)
			ctx.putImageData(image, 0, 0, 0, 0, w, done);
		ctx.fillStyle = css(this.ground);
		ctx.fillRect(0, done, w, h - done);
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.fillStyle = this.hatchInferred;
		for (const [from, to, y, height] of stripes)
			ctx.fillRect(from, y - (height - 1) / 2, to - from, height - 1);
		this.drawDelays(ctx, top);
		this.drawLabels(ctx, labels);
		this.drawOver(ctx, top);
	}

	// Streams that waited for other work; what is narrower than a few pixels shows in the lists only.
	drawDelays(ctx, top) {
		ctx.fillStyle = this.hatchWait;
		for (const [start, end, span] of this.delays) {
			const from = this.x(start), to = this.x(end), at = to - from > 2 && to > 0 && from < this.width ? this.rowOf(span) : null;
			if (at)
				ctx.fillRect(Math.max(0, from), at.row.y - top, Math.min(to, this.width) - Math.max(0, from), at.row.height - 1);
		}
	}

	// Without namespaces, and without what the lane says: there is little room.
	label(span) {
		const id = this.data.name[span];
		if (span >= this.data.first_gap)
			return spanName(this.data, span).replace("idle: ", "");
		return id ? this.short[id] ??= shortName(this.data.texts[id]).replace(/^(?:\w+::)+(?=\w)/, "") : spanName(this.data, span);
	}

	drawLabels(ctx, labels) {
		ctx.font = FONT;
		ctx.textBaseline = "middle";
		const light = "#fff", dark = "#111";
		const match = this.match ?? this.path;
		let shown = 0;
		for (let k = 0; k < labels.length && shown < MOST_LABELS; k += 4) {
			const [i, a, b, y] = [labels[k], labels[k + 1], labels[k + 2], labels[k + 3]];
			if (match && !match.hit[i])
				continue;
			const letters = Math.floor((b - a - 6) / LETTER);
			let text = this.label(i);
			if (text.length > letters)
				text = text.slice(0, Math.max(1, letters - 1)) + "…";
			if (this.colour[i] === INFERRED) {
				ctx.fillStyle = css(resolveOnce(this, "--inferred"));
				ctx.fillRect(a + 2, y - 6, Math.min(b - a - 3, ctx.measureText(text).width + 3), 12);
			}
			ctx.fillStyle = this.dark[this.colour[i]] ? light : dark;
			ctx.fillText(text, a + 3, y + 0.5, b - a - 4);
			shown++;
		}
	}

	// What lies over the lanes: group lines, steps, measure, selection, arrows.
	drawOver(ctx, top) {
		const h = this.lanes.height;
		ctx.lineWidth = 1;
		ctx.strokeStyle = css(this.faint, 0.6);
		ctx.beginPath();
		for (const g of this.shown) {
			const y = Math.round(g.y + g.height - top) + 3.5;
			ctx.moveTo(0, y);
			ctx.lineTo(this.width, y);
		}
		ctx.stroke();
		this.stepLines(ctx, h);
		if (this.measure) {
			const [a, b] = [Math.min(...this.measure), Math.max(...this.measure)].map((t) => this.x(t));
			ctx.fillStyle = css(this.accent, 0.15);
			const [y0, y1] = this.band ? this.band.map((y) => y - top) : [-1, h + 1];
			ctx.fillRect(a, y0, b - a, y1 - y0);
			ctx.strokeStyle = css(this.accent);
			ctx.strokeRect(a, y0, b - a, y1 - y0);
		}
		if (this.path)
			drawPath(this, ctx, top);
		for (const [from, to, kind] of this.arrows)
			this.drawArrow(ctx, from, to, kind, top);
		ctx.fillStyle = css(resolveOnce(this, "--wait"));
		for (const span of this.underlined)
			this.underline(ctx, span, top);
		ctx.strokeStyle = css(this.ink);
		this.outline(ctx, this.selected, top);
	}

	underline(ctx, span, top) {
		const at = this.rowOf(span), a = this.x(this.data.start[span]), b = a + this.data.dur[span] / this.scale;
		if (at && b > 0 && a < this.width)
			ctx.fillRect(Math.max(0, a), at.row.y - top + at.row.height - 1, Math.max(1, Math.min(b, this.width) - Math.max(0, a)), 3);
	}

	outline(ctx, span, top) {
		const at = span >= 0 ? this.rowOf(span) : null;
		if (!at)
			return;
		const a = Math.max(-2, this.x(this.data.start[span])), b = Math.min(this.width + 2, this.x(this.data.start[span] + this.data.dur[span]));
		ctx.lineWidth = 2;
		ctx.strokeRect(a, at.row.y - top, Math.max(3, b - a), at.row.height - 1);
	}

	stepLines(ctx, h) {
		const step = this.data.step;
		if (!step || this.data.length_ns / step.n / this.scale < 8)
			return; // closer than this they are no help
		ctx.strokeStyle = css(this.ink, 0.25);
		ctx.setLineDash([2, 3]);
		ctx.beginPath();
		for (let i = 0; i < step.n; i++) {
			const x = Math.round(this.x(step.ts[i])) + 0.5;
			if (x >= 0 && x <= this.width) {
				ctx.moveTo(x, 0);
				ctx.lineTo(x, h);
			}
		}
		ctx.stroke();
		ctx.setLineDash([]);
	}

	// Kinds: see arrowsOf in details.js. Neighbours on one lane need no arrow.
	drawArrow(ctx, from, to, kind, top) {
		const a = this.rowOf(from), b = this.rowOf(to);
		if (!a || !b || a.row === b.row && kind === "order")
			return;
		const { start, dur } = this.data;
		const x0 = this.x(kind === "launch" || kind === "record" ? start[from] : start[from] + dur[from]), y0 = a.row.y - top + a.row.height / 2;
		const x1 = this.x(kind === "return" ? start[to] + dur[to] : start[to]), y1 = b.row.y - top + b.row.height / 2;
		const bend = Math.max(20, Math.min(120, Math.abs(x1 - x0) / 2));
		ctx.lineWidth = 1.6;
		ctx.strokeStyle = ctx.fillStyle = css(this.accent);
		ctx.beginPath();
		ctx.moveTo(x0, y0);
		ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
		ctx.setLineDash({ launch: [], record: [2, 3] }[kind] ?? [5, 3]);
		ctx.stroke();
		ctx.setLineDash([]);
		ctx.beginPath();
		ctx.moveTo(x1, y1);
		ctx.lineTo(x1 - 7, y1 - 4);
		ctx.lineTo(x1 - 7, y1 + 4);
		ctx.fill();
	}

	drawRuler() {
		const r = this.ruler, { ctx } = r;
		r.clear(css(this.panel), this.ratio);
		const step = roundStep(this.scale * 110), t1 = this.time(this.width);
		ctx.strokeStyle = css(this.faint);
		ctx.beginPath();
		for (let t = Math.ceil(this.t0 / step) * step; t < t1; t += step) {
			const x = Math.round(this.x(t)) + 0.5, text = t === 0 ? "0" : formatTick(t, step);
			ctx.moveTo(x, 0);
			ctx.lineTo(x, 18);
			if (x + 4 + ctx.measureText(text).width <= this.width)
				r.text(text, x + 4, 9, css(this.ink));
		}
		ctx.stroke();
		this.drawSteps(r);
		this.notes?.draw(this, r);
		if (this.measure) {
			const [a, b] = [Math.min(...this.measure), Math.max(...this.measure)];
			ctx.fillStyle = css(this.accent, 0.25);
			ctx.fillRect(this.x(a), 0, this.x(b) - this.x(a), RULER);
			const text = formatTime(b - a), x = Math.max(4, this.x(a) + 4);
			ctx.fillStyle = css(this.panel, 0.9);
			ctx.fillRect(x - 2, RULER - 16, ctx.measureText(text).width + 4, 14);
			r.text(text, x, RULER - 9, css(this.accent));
		}
	}

	drawSteps(r) {
		const step = this.data.step, { ctx } = r, shades = [0.32, 0.18].map((a) => css(this.accent, a)), ink = css(this.ink);
		let drawn = 0; // up to here; steps inside a pixel are drawn once
		for (let i = 0; step && i < step.n; i++) {
			const a = this.x(step.ts[i]), b = this.x(step.ts[i] + step.dur[i]);
			if (b < drawn || a > this.width || step.source[i] !== step.source[0])
				continue;
			drawn = Math.max(drawn, a) + 1;
			ctx.fillStyle = shades[i % 2];
			ctx.fillRect(a, 20, Math.max(1, b - a), RULER - 21);
			const from = Math.max(a, 0) + 4, room = Math.min(b, this.width) - from, number = String(step.number[i] >= 0 ? step.number[i] : i + 1);
			const text = room < 12 ? "" : [`step ${number}`, number, ""].find((t) => ctx.measureText(t).width <= room);
			if (text)
				r.text(text, from, 29, ink);
		}
	}

	// Share of each pixel in which some stream had work, over the whole run: that of the busiest lane. Of threads where there are no streams.
	busyPixels() {
		const [t0, scale] = this.fit(), { start, dur } = this.data, out = new Float64Array(Math.ceil(this.width));
		const streams = this.groups.filter((g) => g.kind === "gpu"), busy = streams.length ? streams : this.groups.filter((g) => ["host", "range", "python"].includes(g.kind));
		for (const lane of busy.flatMap((g) => g.lanes)) {
			let at = -1, sum = 0; // pixel, and work in it
			const add = (x, ns) => {
				if (x !== at) {
					out[at] = Math.max(out[at], sum / scale);
					[at, sum] = [x, 0];
				}
				sum += ns;
			};
			for (let i = lane.first; i < lane.last; i++) {
				const from = start[i], to = from + dur[i], last = Math.floor((to - t0) / scale);
				for (let x = Math.floor((from - t0) / scale); x <= last; x++)
					add(x, Math.min(to, t0 + (x + 1) * scale) - Math.max(from, t0 + x * scale));
			}
			add(-1, 0);
		}
		return out;
	}

	// The bars of the overview, drawn once a size and theme.
	overviewBars() {
		const { width, height } = this.overview.canvas, bars = new OffscreenCanvas(width, height), ctx = bars.getContext("2d");
		ctx.scale(this.ratio, this.ratio);
		ctx.fillStyle = css(resolveOnce(this, "--compute"));
		this.busyPixels().forEach((v, x) => ctx.fillRect(x, OVERVIEW - 1 - v * (OVERVIEW - 4), 1, v * (OVERVIEW - 4)));
		return bars;
	}

	drawOverview() {
		const o = this.overview, [t0, scale] = this.fit();
		o.clear(css(this.ground), this.ratio);
		o.ctx.drawImage(this.bars ??= this.overviewBars(), 0, 0, this.width, OVERVIEW);
		const a = (this.t0 - t0) / scale, b = (this.time(this.width) - t0) / scale;
		o.ctx.fillStyle = css(this.panel, 0.7);
		o.ctx.fillRect(0, 0, a, OVERVIEW);
		o.ctx.fillRect(b, 0, this.width - b, OVERVIEW);
		o.ctx.strokeStyle = css(this.accent);
		o.ctx.lineWidth = 2;
		o.ctx.strokeRect(Math.max(1, a), 1, Math.max(3, Math.min(this.width - 1, b) - Math.max(1, a)), OVERVIEW - 2);
	}

	// Samples hold until the next one: a step line.
	drawTelemetry() {
		const strip = this.telemetry, { ctx } = strip, { tall } = this;
		strip.clear(css(this.ground), this.ratio);
		this.series.forEach((s, k) => {
			const { time, value } = this.data.sample, top = k * tall;
			s.range ??= extent(value, s.first, s.first + s.n);
			const [low, high] = s.range, span = high - low || 1;
			const y = (v) => top + tall - 4 - (v - low) / span * (tall - 8);
			ctx.strokeStyle = css(this.faint);
			ctx.lineWidth = 1;
			ctx.strokeRect(-1, top + tall - 0.5, this.width + 2, 1);
			ctx.strokeStyle = ctx.fillStyle = css(resolveOnce(this, "--telemetry"));
			ctx.lineWidth = 1.5;
			ctx.beginPath();
			let i = lowerBound(time, this.t0, s.first, s.first + s.n) - 1, drawn = false, last = 0;
			for (i = Math.max(i, s.first); i < s.first + s.n; i++) {
				const x = this.x(time[i]);
				if (drawn)
					ctx.lineTo(x, last);
				else
					ctx.moveTo(x, y(value[i]));
				last = y(value[i]);
				ctx.lineTo(x, last);
				drawn = true;
				if (x > this.width)
					break;
				ctx.fillRect(x - 1.5, last - 1.5, 3, 3);
			}
			ctx.stroke();
			const t = this.time(this.pointer ?? this.width / 2), at = lowerBound(time, t, s.first, s.first + s.n) - 1;
			const ended = at === s.first + s.n - 1 && t > time[at] + (time[at] - time[s.first]) / s.n * 2;
			setText(s.readout, at >= s.first && !ended ? seriesValue(s.name, value[at]) : "");
		});
	}
}

// [y, y] of the area that rows make, null without rows.
function bandAround(rows) {
	return rows.length ? [Math.min(...rows.map((r) => r.y)) + 1, Math.max(...rows.map((r) => r.y + r.height)) - 1] : null;
}

// The same text again would be laid out and painted again.
function setText(element, text) {
	if (element.textContent !== text)
		element.textContent = text;
}

function resolveOnce(timeline, name) {
	timeline.resolved ??= {};
	if (timeline.resolvedFor !== timeline.pixels) {
		timeline.resolved = {};
		timeline.resolvedFor = timeline.pixels;
	}
	return timeline.resolved[name] ??= resolve(name);
}

function formatTick(t, step) {
	const [unit, size] = step >= 1e9 ? ["s", 1e9] : step >= 1e6 ? ["ms", 1e6] : step >= 1e3 ? ["µs", 1e3] : ["ns", 1];
	if (unit === "ns" && step < 1)
		return `${t.toFixed(2)} ns`;
	return `${formatCount(t / size)} ${unit}`;
}

