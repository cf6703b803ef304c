// Names of lanes, left of the timeline: press to fold, pin to the top, hide.
import { el } from "./dom.js";
import { formatCount, formatPercent } from "./format.js";

function tool(text, title, run) {
	return el("button.tool", { type: "button", title, "aria-label": title, onclick: run }, text);
}

function laneLabel(t, g) {
	const change = (key) => () => {
		g[key] = !g[key];
		t.place();
	};
	return el("div.label", { class: g.pinned ? "label pinned" : "label", style: { top: `${g.y}px`, height: `${Math.max(g.height, 16)}px` } },
		el("button.title", {
			type: "button", title: `${g.title}: ${formatCount(g.spans)} events. Press to fold or unfold.`,
			"aria-expanded": String(!g.flat), onclick: change("flat"),
		}, el("span", {}, g.title)),
		el("span.tools", {},
			tool(g.pinned ? "↓" : "↑", `${g.pinned ? "unpin" : "pin to the top"}: ${g.title}`, change("pinned")),
			tool("×", `hide: ${g.title}`, change("hidden"))));
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
		...t.shown.map((g) => laneLabel(t, g)),
	];
}
