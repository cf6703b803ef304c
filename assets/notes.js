// Notes of readers on events and stretches of time. They stay in the address and in this browser, and can be saved to a file.
import { timeColumn } from "./columns.js";
import { spanName } from "./data.js";
import { el, section } from "./dom.js";
import { decoded, formatTime, shortName } from "./format.js";
import { css } from "./strip.js";
import { makeTable } from "./tables.js";

const MOST_LETTERS = 2000, NEAR = 8, FLAG = 7;

// A note: { tag of its run, span or -1, from and length in ns, text }. As text "s12:..." or "t0,100:...".
export function noteText({ span, from, length, text }) {
	return `${span >= 0 ? `s${span}` : `t${Math.round(from)},${Math.round(length)}`}:${encodeURIComponent(text)}`;
}

// The other way; null when it is none, or of no event of the run.
function readNote(data, value) {
	const [, span, from, length, text] = value.match(/^(?:s(\d+)|t(-?\d+),(\d+)):(.*)$/) ?? [];
	if (text === undefined || Number(span) >= data.start.length)
		return null;
	const plain = decoded(text).slice(0, MOST_LETTERS);
	if (!plain.trim())
		return null;
	return span !== undefined ? { tag: data.tag, span: Number(span), from: data.start[span], length: data.dur[span], text: plain }
		: { tag: data.tag, span: -1, from: Number(from), length: Number(length), text: plain };
}

export class Notes {
	constructor(timelines, changed) {
		this.timelines = timelines;
		this.changed = changed;
		this.list = [];
		this.place = el("div");
		// the same page of the same run, wherever the file lies
		this.key = `assay notes ${timelines.map(({ data }) => `${data.origin_ns} ${data.length_ns} ${data.spans}`).join(" ")}`;
		for (const t of timelines)
			t.notes = this;
	}

	of(tag) {
		return this.list.filter((n) => n.tag === tag);
	}

	// "a.s12:text" of every note, for the address, the browser's store and files.
	texts() {
		return this.list.map((n) => `${n.tag}${noteText(n)}`);
	}

	// Takes such texts up; what is there already stays once.
	take(texts) {
		for (const text of texts) {
			const t = this.timelines.find(({ data }) => text.startsWith(data.tag)), note = t ? readNote(t.data, text.slice(t.data.tag.length)) : null;
			if (note && !this.list.some((n) => n.tag === note.tag && noteText(n) === noteText(note)))
				this.list.push(note);
		}
		this.update();
	}

	add(note) {
		this.list.push(note);
		this.update();
	}

	remove(note) {
		this.list = this.list.filter((n) => n !== note);
		this.update();
	}

	update() {
		this.list.sort((a, b) => a.from - b.from);
		this.fill();
		this.timelines.forEach((t) => t.dirty());
		this.changed();
		try {
			localStorage.setItem(this.key, JSON.stringify(this.texts()));
		} catch {
			// without a store they stay in the address
		}
	}

	// What this browser kept of the page.
	recall() {
		try {
			this.take(JSON.parse(localStorage.getItem(this.key) ?? "[]"));
		} catch {
			// no store, or not ours
		}
	}

	// Notes on a selection above its details, and a field for another one below; where is null without a selection.
	around(t, details, where) {
		if (!where)
			return [details];
		const { tag } = t.data, own = el("div");
		const field = el("input.note-field", { type: "text", maxlength: MOST_LETTERS, placeholder: "Note on this (T); Enter keeps it", "aria-label": "Note on the selection" });
		const fill = () => own.replaceChildren(...this.of(tag).filter((n) => n.span === where.span && n.from === where.from && n.length === where.length).map((n) => el("p.noted", {}, n.text, " ",
			el("button", { type: "button", "aria-label": "remove this note", title: "remove this note", onclick: () => { this.remove(n); fill(); } }, "×"))));
		fill();
		return [own, details, el("form", {
			onsubmit: (e) => {
				e.preventDefault();
				if (field.value.trim())
					this.add({ tag, ...where, text: field.value.trim() });
				field.value = "";
				fill();
			},
		}, field)];
	}

	// Small flags on the ruler.
	draw(t, strip) {
		for (const n of this.of(t.data.tag)) {
			const x = Math.round(t.x(n.from)) + 0.5;
			if (x < -200 || x > t.width)
				continue;
			strip.ctx.fillStyle = strip.ctx.strokeStyle = css(t.accent);
			strip.ctx.fillRect(x, 0, FLAG, FLAG);
			strip.ctx.fillRect(x, 0, 1, strip.height);
			const text = n.text.length > 24 ? `${n.text.slice(0, 23)}…` : n.text;
			strip.ctx.fillStyle = css(t.panel, 0.9);
			strip.ctx.fillRect(x + FLAG + 1, 0, strip.ctx.measureText(text).width + 4, 13);
			strip.text(text, x + FLAG + 3, 7, css(t.accent));
		}
	}

	// The note whose flag is under x, or undefined.
	at(t, x) {
		return this.of(t.data.tag).findLast((n) => Math.abs(t.x(n.from) + FLAG / 2 - x) < NEAR);
	}

	// A file of all notes.
	file() {
		const notes = this.list.map(({ tag, span, from, length, text }) => ({ run: tag, event: span, from_ns: from, length_ns: length, text }));
		return JSON.stringify({ of: this.key, title: document.title, notes }, null, "\t");
	}

	download() {
		const link = el("a", { href: URL.createObjectURL(new Blob([this.file()], { type: "application/json" })), download: "assay-notes.json" });
		link.click();
		setTimeout(() => URL.revokeObjectURL(link.href), 1000);
	}

	// What a file holds; says why not.
	load(text) {
		try {
			const { of, notes } = JSON.parse(text);
			if (of !== this.key)
				throw new Error("these notes are of another run");
			this.take(notes.map((n) => `${n.run}${noteText({ span: n.event, from: n.from_ns, length: n.length_ns, text: String(n.text) })}`));
			this.said.textContent = "";
		} catch (error) {
			this.said.textContent = `The file cannot be used: ${error.message}`;
		}
	}

	fill() {
		const data = (n) => this.timelines.find((t) => t.data.tag === n.tag).data;
		const what = (n) => n.span >= 0 ? shortName(spanName(data(n), n.span)) : `${formatTime(n.length)} of the timeline`;
		this.place.replaceChildren(this.list.length ? makeTable([
			timeColumn("at", (n) => n.from, { show: (n) => el("a", { href: n.span >= 0 ? `#${n.tag}span=${n.span}` : `#${n.tag}time=${n.from},${n.length}` }, formatTime(n.from)) }),
			...(this.timelines.length > 1 ? [{ title: "run", value: (n) => n.tag, show: (n) => n.tag === "a." ? "before" : "after" }] : []),
			{ title: "on", name: true, value: what, show: what },
			{ title: "note", words: true, value: (n) => n.text, show: (n) => n.text },
			{ title: "change", value: (n) => n.text.length, show: (n) => el("button", { type: "button", onclick: () => this.remove(n) }, "remove") },
		], this.list, { caption: "Notes, by time", sort: 0, rising: true }) : el("p.muted", {}, "No notes yet: select an event or an area and press T."));
	}

	section() {
		const file = el("input", { type: "file", accept: ".json", hidden: true, onchange: async () => file.files[0] && this.load(await file.files[0].text()) });
		this.said = el("span.count", { role: "status" });
		this.fill();
		return section("notes", "Notes",
			el("p.muted", {}, "Notes stay in the address of this page, which can be sent to others who have the file, and in this browser."),
			el("div.toolbar", {}, el("button", { type: "button", onclick: () => this.download() }, "Save as file"),
				el("button", { type: "button", onclick: () => file.click() }, "Load from file"), file, this.said), this.place);
	}
}
