// Mouse, touch pad and keys of the timeline.
import { spanName } from "./data.js";
import { el } from "./dom.js";
import { formatTime } from "./format.js";
import { sameName } from "./neighbours.js";
import { togglePath } from "./path.js";
import { factTable } from "./tables.js";

const KEYS = [
	["W, +", "zoom in", (t) => t.zoom(0.7)],
	["S, −", "zoom out", (t) => t.zoom(1 / 0.7)],
	["A, ←", "pan left", (t) => t.pan(-t.width * 0.12)],
	["D, →", "pan right", (t) => t.pan(t.width * 0.12)],
	["↑", "lanes up", (t) => { t.view.scrollTop -= 60; }],
	["↓", "lanes down", (t) => { t.view.scrollTop += 60; }],
	["F, 0", "fit the whole run", (t) => t.showAll()],
	["H", "two steady steps", (t) => t.showSteady()],
	["C", "critical path of a step, on or off", (t) => togglePath(t)],
	["Z", "zoom to the selection or the area", (t) => zoomTo(t)],
	["[", "event before in the lane", (t) => beside(t, -1)],
	["]", "event behind in the lane; the first one in view when none is selected", (t) => beside(t, 1)],
	["J", "event in the lane below", (t) => across(t, 1)],
	["K", "event in the lane above", (t) => across(t, -1)],
	[".", "next of the same name", (t) => sameName(t, 1)],
	[",", "one before of the same name", (t) => sameName(t, -1)],
	["M", "select all that is in view as an area", (t) => t.selectArea(t.time(0), t.time(t.width))],
	["T", "write a note on the selection or the area", () => document.querySelector(".note-field")?.focus()],
	["N", "next match of the search", (t) => t.nextMatch(1)],
	["P", "match before", (t) => t.nextMatch(-1)],
	["Esc", "drop selection, area and search; leave the timeline", null],
	["/", "search", null],
	["?", "this list", null],
];
const ACTION = new Map();
for (const [keys, , run] of KEYS)
	for (const key of keys.split(", "))
		ACTION.set({ "←": "ArrowLeft", "→": "ArrowRight", "↑": "ArrowUp", "↓": "ArrowDown", "−": "-" }[key] ?? key.toLowerCase(), run);
ACTION.set("=", ACTION.get("+"));

const MOUSE = [
	["wheel", "lanes and page up and down; sideways or with Shift, pan"],
	["wheel with Ctrl or Meta, or after a click on the timeline", "zoom at the pointer"],
	["drag", "select an area of lanes and time: what is in it, by name, class and cause"],
	["drag on the ruler", "the same of all lanes"],
	["drag with Shift or the middle button", "pan"],
	["click", "select: details, links and arrows; on a flag of the ruler: its note"],
	["double click", "zoom to what is under the pointer"],
	["drag on the top strip", "move through the whole run"],
	["drag a lane's name, or Alt with ↑ or ↓ on it", "put the lane elsewhere"],
];

const TERMS = [
	["gemm", "events whose name has that in it, as name~gemm, and those of that class"],
	["dur>100us start<2s", "length and start: ns, us, ms, s"],
	["step=5", "of that step; of GPU work, the step that launched it"],
	["kind=kernel class=gemm", "kind, and class: families of kernels, causes of gaps"],
	["lane~\"stream 7\"", "title of the lane"],
	["line=train.py:12", "launched at, or idle at, that line of the program"],
	["text~allreduce", "arguments"],
	["~ !~ = !=", "contains, does not, is, is not; all terms must hold"],
];

export function helpDialog() {
	const group = (title, list) => el("div", {}, el("h3", {}, title), factTable(list.map(([key, what]) => [key, what])));
	const dialog = el("dialog.help", { "aria-labelledby": "help-title" },
		el("form", { method: "dialog" }, el("button", { autofocus: true }, "Close")),
		el("h2", { id: "help-title" }, "Keys, mouse and search"),
		el("div.groups", {}, group("Keys", KEYS), el("div", {}, group("Mouse", MOUSE), group("Search", TERMS))));
	dialog.querySelector("form").addEventListener("submit", (e) => {
		e.preventDefault();
		dialog.close();
	});
	return dialog;
}

function zoomTo(t) {
	const { start, dur } = t.data;
	const [a, b] = t.selected >= 0 ? [start[t.selected], start[t.selected] + dur[t.selected]]
		: t.measure ? [Math.min(...t.measure), Math.max(...t.measure)]
		: [0, t.data.length_ns];
	const length = Math.max(10, b - a);
	t.show(a - length * 0.05, length * 1.1);
}

// The event of a lane nearest to the middle of the selected one, or to that of the view, or -1.
function nearestIn(t, lane) {
	const { start, dur } = t.data, at = t.selected >= 0 ? start[t.selected] + dur[t.selected] / 2 : t.time(t.width / 2);
	const i = Math.min(lane.last - 1, t.levels.endsAfter(at, lane.first, lane.last));
	return i > lane.first && at - (start[i - 1] + dur[i - 1]) < start[i] - at ? i - 1 : i;
}

// Up or down, lane by lane as they are shown.
function across(t, step) {
	const lanes = t.shown.flatMap((g) => g.rows.map((row) => row.lane)), at = t.selected < 0 ? -1 : lanes.indexOf(t.laneOf(t.selected));
	const lane = lanes[at < 0 ? 0 : at + step];
	if (lane)
		t.select(nearestIn(t, lane), true);
}

function beside(t, step) {
	if (t.selected < 0)
		return across(t, step);
	const lane = t.laneOf(t.selected), next = t.selected + step;
	if (next >= lane.first && next < lane.last)
		t.select(next, true);
}

function showTip(t, event, span) {
	if (span < 0)
		return t.hideTip();
	t.tip.replaceChildren(el("b", {}, spanName(t.data, span).slice(0, 300)), el("br"),
		`${formatTime(t.data.dur[span])}, ${t.data.enums["span.kind"][t.data.kind[span]]}`);
	t.tip.style.display = "block";
	const box = t.root.getBoundingClientRect();
	const x = event.clientX - box.left, y = event.clientY - box.top;
	t.tip.style.left = `${Math.min(x + 14, box.width - t.tip.offsetWidth - 8)}px`;
	t.tip.style.top = `${y + 18}px`;
}


function openNote(t, note) {
	if (note?.span >= 0)
		return t.select(note.span, true);
	if (note)
		t.selectArea(note.from, note.from + note.length);
}

function dragging(t, strip, event) {
	const x0 = event.offsetX, started = t.t0, top = t.view.scrollTop, y0 = event.clientY;
	const panning = event.shiftKey || event.button === 1 || event.pointerType === "touch" && strip !== t.ruler;
	const edge = strip.canvas.getBoundingClientRect(), first = y0 - edge.top + top;
	let moved = false;
	const move = (e) => {
		const x = e.clientX - edge.left, y = e.clientY - edge.top + t.view.scrollTop;
		moved ||= Math.abs(x - x0) > 3 || Math.abs(e.clientY - y0) > 3;
		if (!moved)
			return;
		if (panning) {
			t.show(started - (x - x0) * t.scale, t.width * t.scale);
			t.view.scrollTop = top - (e.clientY - y0);
		} else {
			t.hideTip();
			t.measure = [t.time(x0), t.time(Math.max(0, Math.min(x, t.width)))];
			t.band = strip === t.lanes ? [Math.min(first, y), Math.max(first, y)] : null;
			t.dirty();
		}
	};
	const up = (e) => {
		removeEventListener("pointermove", move);
		removeEventListener("pointerup", up);
		removeEventListener("pointercancel", up);
		if (moved && !panning) {
			t.measured();
		} else if (!moved && strip === t.lanes) {
			t.measure = t.band = null;
			t.select(t.spanAt(e.offsetX, e.offsetY + t.view.scrollTop), false);
		} else if (!moved && strip === t.ruler) {
			openNote(t, t.notes.at(t, e.offsetX));
		}
	};
	addEventListener("pointermove", move);
	addEventListener("pointerup", up);
	addEventListener("pointercancel", up);
}

// The wheel zooms when asked to, else it scrolls the lanes and the page as everywhere.
function wheel(t, e) {
	const asked = e.ctrlKey || e.metaKey || t.root.contains(document.activeElement);
	if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
		t.pan(e.deltaX || e.deltaY);
	} else if (asked) {
		t.zoom(1.0018 ** Math.max(-300, Math.min(300, e.deltaY)), e.offsetX);
	} else {
		t.root.classList.add("hinted");
		return;
	}
	t.root.classList.remove("hinted");
	e.preventDefault();
}

// Keys go to the timeline that was pointed at or focused last.
let active = null;

export function control(t, searchBox, help) {
	active ??= t;
	for (const event of ["pointerenter", "focusin"])
		t.root.addEventListener(event, () => { active = t; });
	for (const strip of [t.lanes, t.ruler, t.telemetry]) {
		strip.canvas.addEventListener("wheel", (e) => wheel(t, e), { passive: false });
		strip.canvas.addEventListener("pointerdown", (e) => {
			if (e.button > 1)
				return;
			t.root.focus({ preventScroll: true });
			e.preventDefault();
			dragging(t, strip, e);
		});
		strip.canvas.addEventListener("pointermove", (e) => {
			t.pointer = e.offsetX;
			if (strip === t.lanes && !e.buttons)
				showTip(t, e, t.spanAt(e.offsetX, e.offsetY + t.view.scrollTop));
			if (t.series.length)
				t.dirty();
		});
		strip.canvas.addEventListener("pointerleave", (e) => {
			showTip(t, e, -1);
			t.root.classList.remove("hinted");
		});
	}
	t.lanes.canvas.addEventListener("dblclick", (e) => {
		t.select(t.spanAt(e.offsetX, e.offsetY + t.view.scrollTop), false);
		zoomTo(t);
	});
	const jump = (e) => {
		const [t0, scale] = t.fit();
		t.show(t0 + e.offsetX * scale - t.width * t.scale / 2, t.width * t.scale);
	};
	t.overview.canvas.addEventListener("pointerdown", jump);
	t.overview.canvas.addEventListener("pointermove", (e) => e.buttons && jump(e));

	document.addEventListener("keydown", (e) => {
		const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || help.open;
		if (active !== t || e.ctrlKey || e.metaKey || e.altKey || typing && e.key !== "Escape")
			return;
		if (e.key === "/") {
			searchBox.focus();
		} else if (e.key === "?") {
			help.showModal();
		} else if (e.key === "Escape" && !help.open) {
			document.querySelectorAll(".drop[open]").forEach((menu) => { menu.open = false; });
			t.measure = t.band = null;
			document.activeElement?.blur();
			searchBox.value = "";
			searchBox.dispatchEvent(new Event("input"));
			t.select(-1, false);
			return;
		} else {
			const run = ACTION.get(e.key.length === 1 ? e.key.toLowerCase() : e.key);
			// arrows and Home belong to the page unless the timeline has the focus
			if (!run || e.key.startsWith("Arrow") && !t.root.contains(document.activeElement))
				return;
			run(t);
		}
		e.preventDefault();
	});
}
