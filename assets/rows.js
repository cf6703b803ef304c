// Which lanes the timeline shows, from top to bottom, and what they are called.
import { sourceName } from "./data.js";
import { countedTime } from "./steady.js";

const LANE = 16, HOST_LANE = 14, FLAT_LANE = 8, PAD = 6, HEAD = 20;

// Kinds of lanes of a thread, from top to bottom, and what their titles add.
const OF_THREAD = { range: "ranges", host: "", python: "Python", recorder: "" };
const ofThread = (g) => g.kind in OF_THREAD;
const OF_STREAM = { mark: "scopes", sync: "waits" };

// [whose lanes, what they hold], the latter empty for the work itself. Devices are named where there are several.
function trackTitle(data, track, kind) {
	data.manyDevices ??= new Set(data.tracks.filter((t) => t.kind === "stream").map((t) => t.pid)).size > 1;
	const gpu = track.pid >= 0 ? `GPU ${track.pid}` : track.process || "GPU", before = data.manyDevices ? `${gpu} · ` : "";
	if (kind === "gap")
		return [gpu, "idle, by cause"];
	if (kind === "Steps")
		return [before ? gpu : "", "steps"];
	if (track.kind === "stream" || DERIVED.includes(kind))
		return [before + (track.tid >= 0 ? `stream ${track.tid}` : track.name || "no stream"), OF_STREAM[kind] ?? (DERIVED.includes(kind) ? kind : "")];
	const thread = track.name && !/^-?\d+$/.test(track.name) ? track.name : `thread ${track.tid >= 0 ? track.tid : track.name || "without a name"}`;
	return [thread.replace(/^thread (\d+) \((.*)\)$/, "$2 · $1"), OF_THREAD[kind] ?? ""];
}

// Rows made from the work of a stream, as xprof makes them, from top to bottom.
const DERIVED = ["Steps", "XLA Modules", "XLA Ops", "Framework Name Scope", "Framework Ops", "Command Buffers"];
const ORDER = ["gap", ...DERIVED, "mark", "gpu", "sync", ...Object.keys(OF_THREAD)];
const KIND_ORDER = Object.fromEntries(ORDER.map((kind, i) => [kind, i]));

function laneKind(data, kind) {
	const name = data.enums["span.kind"][kind];
	if (DERIVED.includes(name))
		return name;
	return { "idle gap": "gap", "device annotation": "mark", wait: "sync", user_annotation: "range", python_function: "python" }[name] ??
		(["kernel", "memcpy", "memset"].includes(name) ? "gpu" : "host");
}

// Tracks of a source that do nearly nothing are folded away: what is left of MOST of the work, when that are several,
// and what does nothing in the steps that count.
const MOST = 0.99, ALWAYS_SHOWN = 6, WORTH_FOLDING = 4;

function nearlyEmpty(groups, weight, inSteps) {
	const all = new Map(), counted = new Map(), add = (sums, g, w) => sums.set(g.track, (sums.get(g.track) ?? 0) + w);
	for (const g of groups) {
		add(all, g, weight(g));
		add(counted, g, inSteps(g));
	}
	const sorted = [...all].sort((a, b) => counted.get(b[0]) - counted.get(a[0]) || b[1] - a[1]);
	const total = sorted.reduce((sum, [, w]) => sum + w, 0), used = sorted.filter(([track]) => counted.get(track) > 0).length;
	let kept = 0, sum = 0;
	while (kept < sorted.length && (kept < ALWAYS_SHOWN || sum < MOST * total))
		sum += sorted[kept++][1];
	kept = sorted.length - kept < WORTH_FOLDING ? sorted.length : kept;
	const rest = sorted.slice(used ? Math.min(kept, used) : kept);
	return !rest.length ? null : {
		tracks: new Set(rest.map(([track]) => track)), share: rest.reduce((part, [, w]) => part + w, 0) / (total || 1), open: false, unused: kept > used && used > 0,
	};
}

// Folds of one source: of its streams and of its threads. busy(group): its time in the steps that count.
function foldGroups(groups, busy) {
	for (const [what, mine, weight, inSteps] of [
		["stream", groups.filter((g) => !ofThread(g) && g.kind !== "gap"), (g) => g.kind === "gpu" ? g.busy : 0, (g) => g.kind === "gpu" ? busy(g) : 0],
		["thread", groups.filter((g) => ofThread(g) && g.kind !== "recorder"), (g) => g.spans, busy]]) {
		const fold = nearlyEmpty(mine, weight, inSteps);
		for (const g of fold ? mine : [])
			if (fold.tracks.has(g.track))
				g.fold = fold;
		if (fold)
			Object.assign(fold, { what, id: `${what}.${mine[0].track.source}` });
	}
}

// Devices by number; of a device first why it was idle, then its streams by their work, each below the rows made from
// it; threads by how much they hold.
function byWork(groups) {
	const work = new Map();
	for (const g of groups)
		if (g.kind === "gpu" || ofThread(g))
			work.set(g.track, (work.get(g.track) ?? 0) + (g.kind === "gpu" ? g.busy : g.spans));
	return (a, b) =>
		a.track.source - b.track.source ||
		ofThread(a) - ofThread(b) ||
		(a.fold ? 1 : 0) - (b.fold ? 1 : 0) ||
		(ofThread(a) ? 0 : a.track.pid - b.track.pid || (a.kind === "gap" ? -1 : b.kind === "gap" ? 1 : 0)) ||
		(work.get(b.track) ?? 0) - (work.get(a.track) ?? 0) ||
		a.track.tid - b.track.tid || KIND_ORDER[a.kind] - KIND_ORDER[b.kind];
}

// Threads with nothing but what recording took are the recorders' own.
function markRecorders(data, groups) {
	const overhead = data.enums["span.kind"].indexOf("overhead"), only = (lane) => data.kind.subarray(lane.first, lane.last).every((kind) => kind === overhead);
	for (const g of groups)
		if (g.kind === "host" && groups.filter((o) => o.track === g.track).length === 1 && g.lanes.every(only))
			g.kind = "recorder";
}

// Groups of lanes: one for each track and kind.
export function groupLanes(data, levels) {
	const groups = new Map();
	for (const lane of data.lanes) {
		const kind = laneKind(data, lane.kind), key = `${lane.track} ${kind}`;
		if (!groups.has(key)) {
			const track = data.tracks[lane.track], [whose, holds] = trackTitle(data, track, kind);
			groups.set(key, { id: `${lane.track}.${kind}`, kind, track, lanes: [], spans: 0, busy: 0, flat: false, pinned: false, hidden: false, fold: null, whose, holds, title: `${whose} ${holds}`.trim() });
		}
		const g = groups.get(key);
		g.lanes.push(lane);
		g.spans += lane.last - lane.first;
		g.busy += levels.sum[lane.last] - levels.sum[lane.first];
	}
	const list = [...groups.values()];
	markRecorders(data, list);
	const sources = new Set(list.map((g) => g.track.source));
	const [from, to] = countedTime(data), busy = (g) => g.lanes.reduce((sum, lane) => sum + levels.covered(lane, from, to), 0);
	for (const source of sources)
		foldGroups(list.filter((g) => g.track.source === source), busy);
	list.sort(byWork(list));
	for (const g of list) {
		g.rank = sources.size > 1 ? sourceName(data, g.track.source) : "";
		g.lanes.sort((a, b) => a.depth - b.depth);
	}
	return list;
}

// Kinds of lanes as readers switch them.
export const LANE_KINDS = [["idle", ["gap"]], ["steps", ["Steps"]], ["XLA rows", DERIVED.slice(1)], ["scopes", ["mark"]], ["GPU work", ["gpu"]], ["waits", ["sync"]],
	["host ranges", ["range"]], ["operators and calls", ["host"]], ["Python stacks", ["python"]], ["threads of recorders", ["recorder"]], ["telemetry", ["telemetry"]]];

// Give every group that is shown and its lanes their place; returns the height of all. off: kinds not shown, closed: ranks of
// which only the head is. heads: [y, rank, is it closed],
// folds: [y, fold], a line in the place of the groups folded away. stretch: how much taller lanes are than they must be.
export function placeRows(groups, off = new Set(), closed = new Set(), stretch = 1) {
	const heads = [], folds = [];
	const order = [...groups.filter((g) => g.pinned), ...groups.filter((g) => !g.pinned)];
	let y = PAD, rank = null, fold = null;
	for (const g of order) {
		g.rows = [];
		g.y = g.height = -1;
		if (g.hidden || off.has(g.kind))
			continue;
		if (g.rank && !g.pinned && g.rank !== rank) {
			heads.push([y, rank = g.rank, closed.has(rank)]);
			y += HEAD;
		}
		if (!g.pinned && closed.has(g.rank))
			continue;
		if (g.fold && !g.pinned && g.fold !== fold) {
			folds.push([y, fold = g.fold]);
			y += HEAD;
		}
		if (g.fold && !g.fold.open && !g.pinned)
			continue;
		const height = Math.round(stretch * (g.flat ? FLAT_LANE : ofThread(g) ? HOST_LANE : LANE)), lanes = g.flat ? g.lanes.slice(0, 1) : g.lanes;
		g.y = y;
		g.rows = lanes.map((lane, i) => ({ lane, y: y + i * height, height }));
		y += Math.max(g.rows.length * height, LANE) + PAD;
		g.height = y - g.y - PAD;
	}
	return { total: y, heads, folds };
}
