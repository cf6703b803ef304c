// What is shown, in the address: time, selection, query and tab, so that a link leads back to it.
// #view=FROM,LENGTH shows exactly that time, #time=FROM,LENGTH a stretch with room around it, #span=N selects an
// event, q=QUERY marks, show=path shows the critical path, note=WHERE:TEXT is a note (notes.js), #NAME opens a
// tab; joined by "&". With two runs a. and b. stand before view, time, span, show and note.
import { noteText } from "./notes.js";

const WAIT_MS = 300;

export function readHash(hash) {
	const out = [];
	for (const part of hash.replace(/^#/, "").split("&")) {
		const [, tag, what, value] = part.match(/^([ab]\.)?(span|time|view|q|show|note)=(.*)$/) ?? [];
		if (what === "q")
			out.push({ what, text: decodeURIComponent(value) });
		else if (what === "note")
			out.push({ what, text: `${tag ?? ""}${value}` });
		else if (what === "show")
			out.push({ what, tag: tag ?? "", text: value, numbers: [] });
		else if (what && /^[\d.,-]+$/.test(value))
			out.push({ what, tag: tag ?? "", numbers: value.split(",").map(Number) });
		else if (/^[\w-]+$/.test(part))
			out.push({ what: "tab", text: part });
	}
	return out;
}

export function writeHash({ timelines, query, tab, notes }) {
	const parts = [];
	for (const t of timelines) {
		if (t.framed !== "steady")
			parts.push(`${t.data.tag}view=${Math.round(t.t0)},${Math.round(t.width * t.scale)}`);
		if (t.selected >= 0)
			parts.push(`${t.data.tag}span=${t.selected}`);
		if (t.path)
			parts.push(`${t.data.tag}show=path`);
	}
	for (const note of notes?.list ?? [])
		parts.push(`${note.tag}note=${noteText(note)}`);
	if (query)
		parts.push(`q=${encodeURIComponent(query)}`);
	if (tab)
		parts.push(tab);
	return parts.join("&");
}

// A function that keeps the address up to date, a while after the last change: browsers limit how often it may change.
export function keepHash(state) {
	let timer = 0;
	return () => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			const hash = writeHash(state());
			if (`#${hash}` !== location.hash && (hash || location.hash))
				history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
		}, WAIT_MS);
	};
}
