// Memory of devices: peaks, and who holds it at the peak. The curves are lanes of the timeline.
import { el, section } from "./dom.js";
import { formatBytes, formatCount, formatPercent } from "./format.js";
import { makeTable } from "./tables.js";

const nameOf = (m) => `GPU ${m.device}${m.rank === null ? "" : ` (rank ${m.rank})`}`;

const placeOf = (h) => [h.op, h.file && `${h.file.replace(/.*\//, "")}:${h.line} ${h.function}`, h.range].filter(Boolean).join(" · ") || "not known";

function accounts(all) {
	const bytes = (title, value) => ({ title, number: true, value, show: (r) => value(r) === null ? "" : formatBytes(value(r)) });
	return makeTable([
		{ title: "device", value: nameOf, show: nameOf },
		{ title: "counted by", words: true, value: (r) => r.from, show: (r) => r.from },
		bytes("peak", (r) => r.peak_bytes), bytes("before the recording", (r) => r.before_bytes), bytes("at the end", (r) => r.after_bytes),
		bytes("reserved", (r) => r.reserved_bytes),
		{ title: "blocks taken", number: true, value: (r) => r.takes, show: (r) => r.takes === null ? "" : formatCount(r.takes) },
	], all, { caption: "Most that was held at a time", rows: 8 });
}

function holders(all) {
	const rows = all.flatMap((m) => [
		...m.unknown_holders_bytes > 0 ? [{ m, bytes: m.unknown_holders_bytes, blocks: null, place: "before the recording" }] : [],
		...m.holders.map((h) => ({ m, bytes: h.bytes, blocks: h.blocks, place: placeOf(h) })),
	]);
	return rows.length ? makeTable([
		{ title: "held", number: true, value: (r) => r.bytes, show: (r) => formatBytes(r.bytes) },
		{ title: "of the peak", number: true, value: (r) => r.bytes / r.m.peak_bytes, show: (r) => formatPercent(r.bytes, r.m.peak_bytes) },
		{ title: "blocks", number: true, value: (r) => r.blocks, show: (r) => r.blocks === null ? "" : formatCount(r.blocks) },
		{ title: "device", value: (r) => nameOf(r.m), show: (r) => nameOf(r.m) },
		{ title: "taken by", words: true, value: (r) => r.place, show: (r) => r.place },
	], rows, { caption: "Who holds it at the peak", rows: 12 }) : el("p", {}, "Telemetry does not say who holds it.");
}

export function memory({ report: { memory: all = [] } }) {
	return all.length ? section("memory", "Memory", accounts(all), holders(all)) : null;
}
