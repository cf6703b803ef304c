// Values over time as small pictures.
import { svg } from "./dom.js";
import { extremes, roundStep } from "./format.js";

const MOST_POINTS = 600;

// The highest value of each of so many stretches of the samples, as [time, value]; samples hold until the next one.
function thinned(data, { first, n }) {
	const { time, value } = data.sample, each = Math.ceil(n / MOST_POINTS), out = [];
	for (let i = first; i < first + n; i += each) {
		let most = i;
		for (let k = i; k < Math.min(first + n, i + each); k++)
			most = value[k] > value[most] ? k : most;
		out.push([time[most], value[most]]);
	}
	return out;
}

// A line of steps through points.
function steppedPath(points, x, y) {
	return points.map(([t, v], i) => i ? `H${x(t).toFixed(1)}V${y(v).toFixed(1)}` : `M${x(t).toFixed(1)} ${y(v).toFixed(1)}`).join("");
}

// One series in a cell of a table, from its lowest to its highest value; title says it in words.
export function sparkline(data, series, title) {
	const points = thinned(data, series), [low, high] = extremes(points.map(([, v]) => v)), end = points.at(-1)[0], from = points[0][0];
	const x = (t) => 1 + 158 * (t - from) / (end - from || 1), y = (v) => high > low ? 19 - 17 * (v - low) / (high - low) : 10;
	return svg("svg.spark", { viewBox: "0 0 160 20", role: "img" }, svg("title", {}, title), svg("path.line", { d: steppedPath(points, x, y) }));
}

const WIDE_CHART = 1000, HIGH_CHART = 170, FOOT = 20, HALF_MARK = 24;

// Several series of one unit over the whole run, lines: [series, colour]; show(v) writes a value, time(t) a moment.
export function chart(data, lines, label, show, time) {
	const all = lines.map(([series]) => thinned(data, series)), [, high] = extremes(all.flat().map(([, v]) => v)), length = data.length_ns || 1;
	const x = (t) => WIDE_CHART * t / length, y = (v) => HIGH_CHART - FOOT - (HIGH_CHART - FOOT - 16) * v / (high || 1);
	const step = roundStep(length / 6), level = (v) => [svg("path.grid", { d: `M0 ${y(v)}H${WIDE_CHART}` }), svg("text", { x: 4, y: y(v) - 4 }, show(v))];
	return svg("svg.chart", { viewBox: `0 0 ${WIDE_CHART} ${HIGH_CHART}`, role: "img", "aria-label": label },
		...level(0), ...level(high / 2), ...level(high),
		...Array.from({ length: Math.ceil(length / step) - 1 }, (_, i) => (i + 1) * step).map((t) => svg("text", { x: x(t), y: HIGH_CHART - 4, "text-anchor": x(t) > WIDE_CHART - HALF_MARK ? "end" : "middle" }, time(t))),
		...all.map((points, i) => {
			const line = svg("path.line", { d: steppedPath(points, x, y) });
			line.style.stroke = `var(${lines[i][1]})`;
			return line;
		}));
}
