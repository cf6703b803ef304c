// Which part of the run stands for all of it.
import { extremes } from "./format.js";

const MUCH_LONGER = 1.5;

// [from, length, how many] of two neighbouring steps of usual length, one of them that of the critical path, else as late as
// half of the run; null without steps.
export function steadySteps(data) {
	const s = data.step;
	if (!s)
		return null;
	const all = Array.from({ length: s.n }, (_, i) => i).filter((i) => s.source[i] === s.source[0] && s.dur[i] > 0).sort((a, b) => s.ts[a] - s.ts[b]);
	const counted = all.filter((i) => data.steady?.steps[0] > 0 && s.ts[i] >= data.steady.start[0]), own = counted.length ? counted : all;
	if (!own.length)
		return null;
	const median = own.map((i) => s.dur[i]).sort((a, b) => a - b)[own.length >> 1];
	const usual = (i) => i !== undefined && s.dur[i] <= MUCH_LONGER * median && s.dur[i] * MUCH_LONGER >= median;
	const followed = own.indexOf(data.path_step ?? -1), from = followed >= 0 ? followed : own.length >> 1, places = [...own.keys()].sort((a, b) => Math.abs(a - from) - Math.abs(b - from) || b - a);
	const at = places.find((k) => usual(own[k]) && usual(own[k + 1])) ?? places.find((k) => usual(own[k])) ?? 0;
	const pair = own.slice(at, at + 2).filter((i) => usual(i) || i === own[at]);
	const [, end] = extremes([...pair.map((i) => s.ts[i] + s.dur[i]), ...workEnds(data, pair)]);
	return [s.ts[own[at]], end - s.ts[own[at]], pair.length];
}

// [from, to, steps] of all steps that count; the whole recording, as one, when there are none.
export function countedTime(data) {
	const s = data.steady;
	return s?.steps[0] > 0 ? [s.start[0], s.start[0] + s.dur[0], s.steps[0]] : [-Infinity, Infinity, 1];
}

// When the device had finished the work of these steps: launches run ahead of it.
function workEnds(data, steps) {
	const s = data.step_time, out = [];
	for (let i = 0; i < (s?.n ?? 0); i++)
		if (steps.includes(s.step[i]))
			out.push(s.start[i] + s.span[i]);
	return out;
}
