// Memory of devices: over time, peaks, and who holds it at the peak. The curves are lanes of the timeline, too.
import { legend } from "./bars.js";
import { countColumn, numberColumn, shareColumn } from "./columns.js";
import { chart } from "./curve.js";
import { el, section } from "./dom.js";
import { formatCount, formatTime } from "./format.js";
import { seriesTitle } from "./series.js";
import { makeTable } from "./tables.js";

// Device memory is given in powers of two, as vendors do.
const formatMemory = (bytes) => bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(2)} GiB` : bytes >= 2 ** 20 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : bytes >= 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${bytes} B`;

const CURVES = ["--telemetry", "--compute", "--comm", "--cause-host-data"], MOST_DEVICES = 4;

// One chart a device: what allocations add up to, and what telemetry saw.
function curves(data) {
	const all = data.series.filter((s) => /^(held_bytes|mem_used_bytes)$/.test(s.name) && s.n > 1 && data.sources[data.tracks[s.track]?.source]?.clock !== "nowhere");
	const byDevice = Map.groupBy(all, (s) => seriesTitle(data, s).split(" · ")[0]);
	const shown = [...byDevice].slice(0, MOST_DEVICES), left = byDevice.size - shown.length;
	return [...shown.flatMap(([device, list]) => {
		const lines = list.map((s, i) => [s, CURVES[i % CURVES.length]]);
		return [legend(lines.map(([s, colour]) => [colour, seriesTitle(data, s)])),
			chart(data, lines, `Memory of ${device} over the run; the table below has its peaks`, formatMemory, formatTime)];
	}), left > 0 ? el("p.muted", {}, `${formatCount(left)} more devices: on the timeline and in the tables.`) : null];
}

const nameOf = (m) => `GPU ${m.device}${m.rank === null ? "" : ` (rank ${m.rank})`}`;

const placeOf = (h) => [h.op, h.file && `${h.file.replace(/.*\//, "")}:${h.line} ${h.function}`, h.range].filter(Boolean).join(" · ") || "not known";

const memoryColumn = (title, bytes) => numberColumn(title, "B", bytes, formatMemory);

function accounts(all) {
	return makeTable([
		{ title: "device", value: nameOf, show: nameOf },
		{ title: "counted by", words: true, value: (r) => r.from, show: (r) => r.from },
		memoryColumn("peak", (r) => r.peak_bytes), memoryColumn("before the recording", (r) => r.before_bytes), memoryColumn("at the end", (r) => r.after_bytes),
		memoryColumn("reserved", (r) => r.reserved_bytes),
		countColumn("blocks taken", (r) => r.takes),
	], all, { caption: "Most that was held at a time", rows: 8 });
}

function holders(all) {
	const rows = all.flatMap((m) => [
		...m.unknown_holders_bytes > 0 ? [{ m, bytes: m.unknown_holders_bytes, blocks: null, place: "before the recording" }] : [],
		...m.holders.map((h) => ({ m, bytes: h.bytes, blocks: h.blocks, place: placeOf(h) })),
	]);
	return rows.length ? makeTable([
		memoryColumn("held", (r) => r.bytes),
		shareColumn("of the peak", (r) => r.bytes / r.m.peak_bytes, 1),
		countColumn("blocks", (r) => r.blocks),
		{ title: "device", value: (r) => nameOf(r.m), show: (r) => nameOf(r.m) },
		{ title: "taken by", words: true, value: (r) => r.place, show: (r) => r.place },
	], rows, { caption: "Who holds it at the peak", rows: 12 }) : el("p", {}, "Telemetry does not say who holds it.");
}

export function memory(data) {
	const { memory: all = [] } = data.report;
	return all.length ? section("memory", "Memory", ...curves(data), accounts(all), holders(all)) : null;
}
