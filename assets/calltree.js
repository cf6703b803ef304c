// The calls of all threads as one tree by name: how long, how much GPU work they launched, how long devices stood idle before it.
import { shortName, spaced } from "./format.js";
import { threadLanes, walkNest } from "./nest.js";
import { frameText } from "./stacks.js";

const node = (name, up, span) => ({ name, up, span, inside: new Map(), depth: up ? up.depth + 1 : 0, count: 0, host: 0, gpu: 0, idle: 0 });

function child(up, name, span) {
	let found = up.inside.get(name);
	if (!found)
		up.inside.set(name, found = node(name, up, span));
	return found;
}

// Names that only count up are one: of steps, and those with a number behind "#".
export const plainName = (data, id) => {
	data.stepNames ??= new Set(data.step?.name ?? []);
	const text = data.texts[id];
	return data.stepNames.has(id) && text.replace(/[\s#_:-]*\d+\W*$/, "") || text.replace(/#\d+$/, "");
};

function namesAsOne(data) {
	const first = new Map();
	return Uint32Array.from(data.texts, (_, i) => {
		const plain = plainName(data, i);
		if (!first.has(plain))
			first.set(plain, i);
		return first.get(plain);
	});
}

// Node of every host span. What lies in [from, to) counts.
function placeSpans(data, root, from, to) {
	const of = new Array(data.start.length), { start, dur, name } = data, one = namesAsOne(data);
	for (const lanes of threadLanes(data).values())
		walkNest(data, lanes, -Infinity, Infinity, (i, around) => {
			const own = of[i] = child(around < 0 ? root : of[around], one[name[i]], i);
			const inside = Math.min(to, start[i] + dur[i]) - Math.max(from, start[i]);
			if (inside < 0 || inside === 0 && dur[i] > 0)
				return;
			own.count++;
			own.host += inside;
		});
	return of;
}

function addUp(at, key, ns) {
	for (let n = at; n; n = n.up)
		n[key] += ns;
}

// Of the calls and the idle time in [from, to), and of work that begins in it.
export function callTree(data, from = -Infinity, to = Infinity) {
	const root = node(0, null, -1), of = placeSpans(data, root, from, to), g = data.gap;
	for (const n of root.inside.values())
		root.host += n.host;
	for (let i = 0; i < data.gpu.n; i++)
		if (data.start[i] >= from && data.start[i] < to)
			addUp(of[data.gpu.launch[i]] ?? root, "gpu", data.dur[i]);
	for (let i = 0; i < (g?.n ?? 0); i++)
		addUp(of[g.launch[i]] ?? root, "idle", Math.max(0, Math.min(to, g.ts[i] + g.dur[i]) - Math.max(from, g.ts[i])));
	return root;
}

// What two runs call the same: lines move, objects lie elsewhere, steps count up.
export function sameCall(data, n) {
	return plainName(data, n.name).replace(/^(?:.*\/)?([^/]+\.py)\(\d+\): /, "$1: ").replace(/\b0x[0-9a-f]+/g, "0x…");
}

export function sameLaunch(data, n) {
	return n.leaf ? leafName(data, n) : frameText(data, n.name).replace(/:\d+$/, "");
}

// Two trees as one: lengths before and after (by[0], by[1]) of one of `steps` each, and as key of `measured` their mean, which
// nests as they do. nameOf(run, node): what is the same in both has the same.
export function mergeTrees(runs, trees, steps, measured, nameOf) {
	const made = (text, up) => ({ ...node(text, up, -1), by: Object.fromEntries(measured.map((key) => [key, [0, 0]])), ...Object.fromEntries(measured.map((key) => [key, 0])), counts: [0, 0] });
	const root = made("", null);
	const add = (into, from, side) => {
		into.counts[side] += from.count / steps[side];
		for (const key of measured) {
			into.by[key][side] += from[key] / steps[side];
			into[key] += from[key] / steps[side] / 2;
		}
		for (const c of from.inside.values()) {
			const text = nameOf(runs[side], c);
			if (!into.inside.has(text))
				into.inside.set(text, made(text, into));
			add(into.inside.get(text), c, side);
		}
	};
	trees.forEach((tree, side) => add(root, tree, side));
	return root;
}

// at(row, below): the node of a row of stack, its callers around it, inside a node; made from `empty` where there is none.
// Calls of one function at several lines are one node.
function stackNodes({ stack }, empty) {
	const of = new Map(), at = (row, below) => {
		if (row < 0)
			return below;
		if (!of.has(below))
			of.set(below, new Map());
		const known = of.get(below);
		if (!known.has(row)) {
			const up = at(stack.caller[row], below), key = `${stack.code[row]}`;
			if (!up.inside.has(key))
				up.inside.set(key, { ...node(row, up, -1), ...empty, lines: new Set() });
			known.set(row, up.inside.get(key));
			known.get(row).lines.add(stack.line[row]);
		}
		return known.get(row);
	};
	return at;
}

// Of the innermost of launchTree: a kernel, or a cause of idle time.
export const leafName = (data, { leaf: { what, id } }) => what === "kernel" ? shortName(data.texts[id] || "(no name)") : `idle: ${spaced(data.enums.cause[id])}`;

// Python stacks, outermost call first: the GPU work that begins in [from, to) by where it was launched, and idle time by where the
// launching thread was longest meanwhile. What has no stack is in none of the calls. Innermost stand kernels and causes, with the longest span of theirs.
export function launchTree(data, from = -Infinity, to = Infinity) {
	const empty = { stack_gpu: 0, stack_idle: 0 }, root = { ...node(-1, null, -1), ...empty }, at = stackNodes(data, empty), g = data.gap, p = data.gap_part;
	const leaf = (up, what, id, span, ns) => {
		const key = `${what} ${id}`;
		if (!up.inside.has(key))
			up.inside.set(key, { ...node(-1, up, span), ...empty, leaf: { what, id }, most: ns });
		const found = up.inside.get(key);
		if (ns > found.most)
			[found.span, found.most] = [span, ns];
		return found;
	};
	for (let i = 0; i < data.gpu.n; i++)
		if (data.start[i] >= from && data.start[i] < to)
			addUp(leaf(at(data.gpu.stack?.[i] ?? -1, root), "kernel", data.name[i], i, data.dur[i]), "stack_gpu", data.dur[i]);
	for (let i = 0; i < (p?.n ?? 0); i++) {
		const gap = p.gap[i], inside = Math.max(0, Math.min(to, g.ts[gap] + g.dur[gap]) - Math.max(from, g.ts[gap])), ns = p.dur[i] * inside / (g.dur[gap] || 1);
		addUp(leaf(at(p.stack[i], root), "cause", p.cause[i], data.spanOfGap[gap], ns), "stack_idle", ns);
	}
	return root;
}

// Stacks that samples saw in [from, to), outermost call first, those outside Python inside the line that called them:
// how many looks saw them.
export function stackTree(data, from = -Infinity, to = Infinity) {
	const empty = { looks: 0 }, root = { ...node(-1, null, -1), ...empty }, l = data.look, at = stackNodes(data, empty);
	for (let i = 0; i < (l?.n ?? 0); i++) {
		const calls = l.calls?.[i] ?? -1;
		if ((l.stack[i] >= 0 || calls >= 0) && l.ts[i] < to && l.ts[i] + Math.max(0, l.dur[i]) >= from)
			addUp(at(calls, at(l.stack[i], root)), "looks", l.count[i]);
	}
	return root;
}
