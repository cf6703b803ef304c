// Which lanes the timeline shows, from top to bottom, and what they are called.
import { sourceName } from "./data.js";

const LANE = 16, HOST_LANE = 14, FLAT_LANE = 8, PAD = 6, HEAD = 20;

function trackTitle(data, track, kind) {
	const gpu = track.pid >= 0 ? `GPU ${track.pid}` : track.process || "GPU";
	if (kind === "gap")
		return `${gpu} · idle, by cause`;
	if (kind === "Steps")
		return `${gpu} · steps`;
	if (DERIVED.includes(kind))
		return `${gpu} · ${kind}, stream ${track.tid}`;
	if (track.kind === "stream")
		return `${gpu} · ${kind === "mark" ? "scopes, " : kind === "sync" ? "waits, " : ""}` +
			(track.tid >= 0 ? `stream ${track.tid}` : track.name || "no stream");
	const thread = track.name && !/^-?\d+$/.test(track.name) ? track.name : `thread ${track.tid >= 0 ? track.tid : track.name || "without a name"}`;
	return thread.replace(/^thread (\d+) \((.*)\)$/, "$2 · $1");
}

// Rows made from the work of a stream, as xprof makes them, from top to bottom.
const DERIVED = ["Steps", "XLA Modules", "XLA Ops", "Framework Name Scope", "Framework Ops", "Command Buffers"];
const ORDER = ["gap", ...DERIVED, "mark", "gpu", "sync", "host"];
const KIND_ORDER = Object.fromEntries(ORDER.map((kind, i) => [kind, i]));

function laneKind(data, kind) {
	const name = data.enums["span.kind"][kind];
	if (DERIVED.includes(name))
		return name;
	return { "idle gap": "gap", "device annotation": "mark", wait: "sync" }[name] ??
		(["kernel", "memcpy", "memset"].includes(name) ? "gpu" : "host");
}

// Groups of lanes: one for each track and kind. Devices come first, threads by how much they hold.
export function groupLanes(data) {
	const groups = new Map();
	for (const lane of data.lanes) {
		const kind = laneKind(data, lane.kind), key = `${lane.track} ${kind}`;
		if (!groups.has(key)) {
			const track = data.tracks[lane.track];
			groups.set(key, { kind, track, lanes: [], spans: 0, flat: false, title: trackTitle(data, track, kind) });
		}
		const g = groups.get(key);
		g.lanes.push(lane);
		g.spans += lane.last - lane.first;
	}
	const list = [...groups.values()];
	list.sort((a, b) =>
		a.track.source - b.track.source ||
		(a.kind === "host") - (b.kind === "host") ||
		(a.kind === "host" ? b.spans - a.spans : a.track.pid - b.track.pid ||
			(a.kind === "gap" ? -1 : b.kind === "gap" ? 1 : 0) ||
			a.track.tid - b.track.tid || KIND_ORDER[a.kind] - KIND_ORDER[b.kind]));
	const many = new Set(list.map((g) => g.track.source)).size > 1;
	for (const g of list) {
		g.rank = many ? sourceName(data, g.track.source) : "";
		g.head = many && list.find((o) => o.track.source === g.track.source) === g;
		g.lanes.sort((a, b) => a.depth - b.depth);
	}
	return list;
}

// Give every group and lane its place; returns the height of all.
export function placeRows(groups) {
	let y = PAD;
	for (const g of groups) {
		const height = g.flat ? FLAT_LANE : g.kind === "host" ? HOST_LANE : LANE;
		y += g.head ? HEAD : 0;
		g.y = y;
		g.rows = g.lanes.map((lane, i) => ({ lane, y: y + (g.flat ? 0 : i * height), height }));
		if (g.flat)
			g.rows = g.rows.slice(0, 1);
		y += Math.max(g.rows.length * height, LANE) + PAD;
		g.height = y - g.y - PAD;
	}
	return y;
}
