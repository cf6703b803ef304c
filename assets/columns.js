// Columns of numbers: shown as people read them, and copied as CSV as plain numbers with the unit in the head.
// What is null, not a number or shown as nothing is left empty there.
import { formatBytes, formatCount, formatMoment, formatPercent, formatTime, withShare } from "./format.js";

const isKnown = (x) => x !== null && !Number.isNaN(x);

// more: what else the column has, or its own way to show a row
export function numberColumn(title, unit, value, format, more) {
	return { title, number: true, value, show: (row) => isKnown(value(row)) ? format(value(row)) : "", plain: [[unit ? `${title} (${unit})` : title, value]], ...more };
}

export const timeColumn = (title, ns, more) => numberColumn(title, "ns", ns, formatTime, more);
export const momentColumn = (title, ns, more) => numberColumn(title, "ns", ns, formatMoment, more);
export const sizeColumn = (title, bytes, more) => numberColumn(title, "B", bytes, formatBytes, more);
export const countColumn = (title, count, more) => numberColumn(title, "", count, formatCount, more);

const percentOf = (part, whole) => whole > 0 && isKnown(part) ? 100 * part / whole : null;

export function shareColumn(title, part, whole, more) {
	return { ...numberColumn(title, "%", part, (x) => formatPercent(x, whole), more), plain: [[`${title} (%)`, (row) => percentOf(part(row), whole)]] };
}

// A number and its share of what whole(row) is: copied as two columns.
export function withShares(column, whole) {
	const { title, value, show } = column;
	return { ...column, show: (row) => show(row) && withShare(show(row), value(row), whole(row)), plain: [...column.plain, [`${title} (%)`, (row) => percentOf(value(row), whole(row))]] };
}

// "12 → 14": copied as two columns.
export function pairColumn(title, before, after, format = formatCount, more = {}) {
	return {
		title, number: true, value: (row) => after(row) - before(row), show: (row) => `${format(before(row))} → ${format(after(row))}`,
		plain: [[`${title} before`, before], [`${title} after`, after]], ...more,
	};
}

// Fractions as exact as anything measured; whole numbers as they are.
export const plainNumber = (x) => typeof x !== "number" ? String(x ?? "") : !Number.isFinite(x) ? "" : String(Number.isInteger(x) ? x : Number(x.toPrecision(9)));
