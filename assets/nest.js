// What lies inside what: on a thread, whichever lanes its ranges, Python frames and calls stand in; of a stream, in rows of one kind.
import { endsAfter } from "./data.js";

const OUTER_FIRST = ["user_annotation", "python_function", "cpu_op"]; // kinds of lanes

// Lanes whose spans nest in each other, by track for threads; of equal spans that of the lane before is the outer one.
function makeNests(data) {
	const kinds = data.enums["span.kind"], order = (lane) => OUTER_FIRST.indexOf(kinds[lane.kind]), by = new Map();
	for (const lane of data.lanes) {
		const key = data.tracks[lane.track].kind === "thread" ? lane.track : `${lane.track} ${lane.kind}`;
		if (lane.first >= data.gpu.n && lane.first < data.first_gap && kinds[lane.kind] !== "wait")
			by.set(key, [...by.get(key) ?? [], lane]);
	}
	for (const lanes of by.values())
		lanes.sort((a, b) => order(a) - order(b) || a.depth - b.depth);
	return { threads: new Map([...by].filter(([key]) => typeof key === "number")), ofLane: new Map([...by.values()].flatMap((lanes) => lanes.map((lane) => [lane, lanes]))) };
}

const nestsOf = (data) => data.nests ??= makeNests(data);

export function threadLanes(data) {
	return nestsOf(data).threads;
}

// The lanes that one nests in, with itself; undefined for lanes of work that does not nest.
export function lanesAround(data, lane) {
	return nestsOf(data).ofLane.get(lane);
}

// Calls enter(span, around, lane) for every span of such lanes that meets [from, to), in the order of time, with the span it lies
// in (-1 for none), and leave(span, inside, lane) behind the last one in it, with the time of those directly in it within [from, to).
export function walkNest(data, lanes, from, to, enter, leave = () => {}) {
	const { start, dur } = data, next = lanes.map((lane) => endsAfter(data, from, lane.first, lane.last)), open = [];
	const close = () => {
		const { span, inside, lane } = open.pop();
		leave(span, inside, lane);
	};
	for (;;) {
		let first = -1, span = -1;
		for (let k = 0; k < lanes.length; k++) {
			const i = next[k];
			if (i < lanes[k].last && start[i] < to && (first < 0 || start[i] < start[span] || start[i] === start[span] && dur[i] > dur[span]))
				[first, span] = [k, i];
		}
		while (open.length && (first < 0 || open.at(-1).end <= start[span]))
			close();
		if (first < 0)
			return;
		next[first]++;
		const around = open.at(-1), end = start[span] + dur[span];
		if (around)
			around.inside += Math.min(to, end, around.end) - Math.max(from, start[span]);
		enter(span, around?.span ?? -1, lanes[first]);
		open.push({ span, end, inside: 0, lane: lanes[first] });
	}
}

// Spans that lie around one, the outermost first.
export function spansAround(data, lane, span) {
	const { start, dur } = data, lanes = lanesAround(data, lane) ?? [], own = lanes.indexOf(lane);
	const outer = (i, k) => start[i] < start[span] || start[i] === start[span] && (dur[i] > dur[span] || dur[i] === dur[span] && k < own);
	return lanes.map((other, k) => [endsAfter(data, start[span], other.first, other.last), other, k])
		.filter(([i, other, k]) => i < other.last && i !== span && outer(i, k))
		.sort(([a, , k], [b, , m]) => start[a] - start[b] || dur[b] - dur[a] || k - m).map(([i]) => i);
}
