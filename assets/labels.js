// Names of lanes, left of the timeline: press to fold, pin to the top, hide.
import { el, elided } from "./dom.js";
import { formatCount, formatPercent } from "./format.js";
import { besideLane, moveLane } from "./lanestate.js";

function tool(text, title, run) {
	return el("button.tool", { type: "button", title, "aria-label": title, onclick: run }, text);
}

// Drag a name up or down, or press Alt and an arrow: the lane changes places with its neighbours.
function dragLane(t, g, event) {
	const first = event.clientY, edge = t.inner.getBoundingClientRect().top;
	let target = null;
	const move = (e) => {
		if (Math.abs(e.clientY - first) < 5)
			return;
		const y = e.clientY - edge, beside = besideLane(t, g), at = beside.find((o) => y < o.y + o.height) ?? beside.at(-1);
		target = at === g ? null : at;
		for (const label of t.labels.querySelectorAll(".target"))
			label.classList.remove("target");
		target?.label.classList.add("target");
	};
	const up = () => {
		removeEventListener("pointermove", move);
		removeEventListener("pointerup", up);
		if (target)
			stepLane(t, g, target);
	};
	addEventListener("pointermove", move);
	addEventListener("pointerup", up);
}

// Puts a group in the place of a neighbour: before it, or behind it when that lies below.
function stepLane(t, g, target) {
	const beside = besideLane(t, g), below = beside.indexOf(target) > beside.indexOf(g);
	moveLane(t, g, below ? t.groups[t.groups.indexOf(target) + 1] : target);
	t.place();
}

function laneKey(t, g, e) {
	const step = { ArrowUp: -1, ArrowDown: 1 }[e.key], beside = besideLane(t, g), target = beside[beside.indexOf(g) + step];
	if (!e.altKey || !step || !target)
		return;
	e.preventDefault();
	stepLane(t, g, target);
	g.label.querySelector("button").focus();
}

// above: the group over it. Lanes that hold more of the same track say only what.
function laneLabel(t, g, above) {
	const change = (key) => () => {
		g[key] = !g[key];
		t.place();
	};
	g.label = el("div.label", { class: g.pinned ? "label pinned" : "label", style: { top: `${g.y}px`, height: `${Math.max(g.height, 16)}px` } },
		el("button.title", {
			type: "button", title: `${g.title}: ${formatCount(g.spans)} events. Press to fold or unfold; drag, or Alt and an arrow, to move.`,
			"aria-expanded": String(!g.flat), onclick: change("flat"), onpointerdown: (e) => dragLane(t, g, e), onkeydown: (e) => laneKey(t, g, e),
		}, g.holds && above?.whose === g.whose && above.rank === g.rank ? el("span.more-of", {}, g.holds) : el("span", {}, elided(g.title, 20, g.title.length - 14))),
		el("span.tools", {},
			tool(g.pinned ? "↓" : "↑", `${g.pinned ? "unpin" : "pin to the top"}: ${g.title}`, change("pinned")),
			tool("×", `hide: ${g.title}`, change("hidden"))));
	return g.label;
}

function foldLabel(t, y, fold) {
	const n = fold.tracks.size, tracks = `${formatCount(n)} ${fold.unused ? "unused" : "near-empty"} ${fold.what}${n > 1 ? "s" : ""}`;
	return el("button.fold", {
		type: "button", style: { top: `${y}px` }, "aria-expanded": String(fold.open),
		title: `${tracks}: ${formatPercent(fold.share, 1)} of the work of the recording${fold.unused ? ", none in the steps that count" : ""}`,
		onclick: () => {
			fold.open = !fold.open;
			t.place();
		},
	}, `${fold.open ? "▾" : "▸"} ${tracks}`);
}

export function laneLabels(t, heads, folds) {
	return [
		...heads.map(([y, rank, closed]) => el("button.rank", {
			type: "button", style: { top: `${y}px` }, "aria-expanded": String(!closed), title: `${closed ? "show" : "fold away"} the lanes of ${rank}`,
			onclick: () => {
				t.closed[closed ? "delete" : "add"](rank);
				t.place();
			},
		}, `${closed ? "▸" : "▾"} ${rank}`)),
		...folds.map(([y, fold]) => foldLabel(t, y, fold)),
		...[...t.shown].sort((a, b) => a.y - b.y).map((g, i, all) => laneLabel(t, g, all[i - 1])),
	];
}
