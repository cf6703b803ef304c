// What is shown, in the address, so that a link leads back to it: parts joined by "&".
// #view=FROM,LENGTH shows exactly that time, #time=FROM,LENGTH a stretch with room around it, #span=N selects an
// event, area=FROM,LENGTH,FIRST,LAST an area (of all lanes without the last two), lanes=TEXT arranges lanes
// (lanestate.js), top=PIXELS scrolls them, q=QUERY marks, show=path shows the critical path, note=WHERE:TEXT is a note
// (notes.js), set.NAME=VALUE is what a choice of a table stands at (dom.js), table.SECTION.N=COLUMN,up,FILTER how its Nth table is sorted
// and filtered, zoom=CALL/CALL the box that fills the flame graph, tab=NAME opens a tab and #NAME goes there. With two
// runs a. and b. stand before what is of one of them.
import { choicesOf } from "./dom.js";
import { decoded } from "./format.js";
import { lanesText } from "./lanestate.js";
import { noteText } from "./notes.js";
import { tablesOf } from "./tables.js";

const WAIT_MS = 300;

// Inside another page, as in a notebook, there is no address to keep, and a link's is taken for one of the page around.
export const hasAddress = () => location.protocol !== "about:";

// [what, tag, text, numbers] of each part, in the order they have to be followed in.
const FOLLOWED = ["tab", "set", "table", "zoom", "lanes", "q", "show", "view", "time", "area", "span", "top", "go", "note"];

export function readHash(hash) {
	const out = [];
	for (const part of hash.replace(/^#/, "").split("&")) {
		const [, tag = "", what, value] = part.match(/^([ab]\.)?(span|time|view|area|lanes|top|q|show|note|tab|zoom|set\.\w+|table\.[\w-]+\.\d+)=(.*)$/) ?? [];
		if (what === "note")
			out.push({ what, text: `${tag}${value}` });
		else if (what?.startsWith("set."))
			out.push({ what: "set", name: what.slice(4), text: decoded(value) });
		else if (what?.startsWith("table."))
			out.push({ what: "table", name: what.slice(6), text: value });
		else if (what === "zoom")
			out.push({ what, text: value });
		else if (["q", "show", "lanes", "tab"].includes(what))
			out.push({ what, tag, text: decoded(value), numbers: [] });
		else if (what && /^[\d.,-]+$/.test(value))
			out.push({ what, tag, numbers: value.split(",").map(Number) });
		else if (/^[\w-]+$/.test(part))
			out.push({ what: "go", text: part });
	}
	return out.sort((a, b) => FOLLOWED.indexOf(a.what) - FOLLOWED.indexOf(b.what));
}

// Parts that are of one timeline.
function timelineParts(t) {
	const lanes = lanesText(t), parts = [];
	if (lanes)
		parts.push(`lanes=${encodeURIComponent(lanes)}`);
	if (t.framed !== "steady")
		parts.push(`view=${Math.round(t.t0)},${Math.round(t.width * t.scale)}`);
	if (t.measure) {
		const [from, to] = [...t.measure].sort((a, b) => a - b);
		parts.push(`area=${[Math.round(from), Math.round(to - from), ...t.bandLanes() ?? []].join()}`);
	}
	if (t.selected >= 0)
		parts.push(`span=${t.selected}`);
	if (t.path)
		parts.push("show=path");
	if (t.view.scrollTop > 0)
		parts.push(`top=${Math.round(t.view.scrollTop)}`);
	return parts.map((part) => `${t.data.tag}${part}`);
}

// How tables of the sections are sorted and filtered, and where the flame graph stands.
function tableParts() {
	const flame = document.getElementById("flame")?.flame?.zoomText();
	return [
		...[...document.querySelectorAll(".panel")].flatMap((section) => tablesOf(section).map((table, i) => table.asText() && `table.${section.id}.${i}=${table.asText()}`)).filter(Boolean),
		...(flame ? [`zoom=${flame}`] : []),
	];
}

function writeHash({ timelines, query, tab, notes }) {
	return [
		...timelines.flatMap(timelineParts),
		...(notes?.list ?? []).map((note) => `${note.tag}note=${noteText(note)}`),
		...(query ? [`q=${encodeURIComponent(query)}`] : []),
		...choicesOf(document).filter((c) => c.value !== c.dataset.usual).map((c) => `set.${c.dataset.choice}=${encodeURIComponent(c.value)}`),
		...tableParts(),
		...(tab ? [tab.seen ? tab.id : `tab=${tab.id}`] : []),
	].join("&");
}

// What of an address the reader chose: going back leads from one choice to the one before.
const chosen = (hash) => hash.replace(/^#/, "").split("&").filter((part) => /^([ab]\.)?(span|area)=/.test(part)).join("&");

// Addresses written here are whole: what they do not have was not there.
export const isWhole = (state) => state?.whole === true;

// A function that keeps the address up to date, a while after the last change: browsers limit how often it may change.
// Its member now() does so at once.
export function keepHash(state) {
	let timer = 0;
	const now = () => {
		clearTimeout(timer);
		if (!hasAddress())
			return;
		const hash = writeHash(state());
		if (`#${hash}` === location.hash || !hash && !location.hash)
			return;
		const write = isWhole(history.state) && chosen(hash) !== chosen(location.hash) ? "pushState" : "replaceState";
		history[write]({ whole: true }, "", hash ? `#${hash}` : location.pathname + location.search);
	};
	return Object.assign(() => {
		clearTimeout(timer);
		timer = setTimeout(now, WAIT_MS);
	}, { now });
}
