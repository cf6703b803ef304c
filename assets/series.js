// Telemetry: what its series are called, and their values as people read them.
import { formatBytes, formatNumber } from "./format.js";

const SERIES_NAMES = {
	power_watts: ["power", (v) => `${v.toFixed(0)} W`],
	clock_gfx_mhz: ["clock", (v) => `${v.toFixed(0)} MHz`],
	util_pct: ["utilisation", (v) => `${v.toFixed(0)} %`],
	mem_used_bytes: ["memory", (v) => `${(v / 2 ** 30).toFixed(2)} GiB`],
	held_bytes: ["memory held", (v) => `${(v / 2 ** 30).toFixed(2)} GiB`],
	mem_total_bytes: ["memory size", (v) => `${(v / 2 ** 30).toFixed(2)} GiB`],
	mem_util_pct: ["memory utilisation", (v) => `${v.toFixed(0)} %`],
	temp_c: ["temperature", (v) => `${v.toFixed(0)} °C`],
	clock_mem_mhz: ["memory clock", (v) => `${v.toFixed(0)} MHz`],
	pcie_tx_bytes_per_s: ["PCIe sent", (v) => `${formatBytes(v)}/s`],
	pcie_rx_bytes_per_s: ["PCIe received", (v) => `${formatBytes(v)}/s`],
	energy_joules: ["energy since the driver started", (v) => `${(v / 1000).toFixed(2)} kJ`],
	throttle: ["throttle reasons, bits", (v) => v.toFixed(Number.isInteger(v) ? 0 : 1)],
};

const UNITS = [["_pct", " %"], ["_mhz", " MHz"], ["_watts", " W"], ["_c", " °C"], ["_joules", " J"], ["_bytes_per_s", " B/s"]];

export function seriesTitle(data, s) {
	const track = s.track < 0 ? { pid: s.device } : data.tracks[s.track];
	return `GPU ${track.pid >= 0 ? track.pid : track.process} · ${SERIES_NAMES[s.name]?.[0] ?? s.name}`;
}

export function seriesValue(name, v) {
	return SERIES_NAMES[name]?.[1](v) ?? (name.endsWith("_bytes") ? formatBytes(v) : `${formatNumber(v)}${UNITS.find(([end]) => name.endsWith(end))?.[1] ?? ""}`);
}

// [lowest, highest] of values[from...to), 0 included.
export function extent(values, from, to) {
	let low = Infinity, high = -Infinity;
	for (let i = from; i < to; i++) {
		low = Math.min(low, values[i]);
		high = Math.max(high, values[i]);
	}
	return [Math.min(low, 0), high];
}

// First index of [from, to) whose value is above t.
export function lowerBound(values, t, from, to) {
	while (from < to) {
		const mid = (from + to) >> 1;
		if (values[mid] > t)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}
