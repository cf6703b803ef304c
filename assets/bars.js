// Stacked bars and their legends.
import { el, swatch } from "./dom.js";

// Parts that the time of a device is divided into: [key, title].
export const PARTS = [["compute", "compute"], ["exposed_comm", "exposed communication"], ["exposed_copy", "exposed copies"], ["idle", "idle"]];

// A stacked bar: parts as [share 0..1, colour, title]. A title that does not fit is not shown.
export function bar(parts, className = "bar") {
	return el(`div.${className}`, { "aria-hidden": "true" }, ...parts.filter(([share]) => share > 0).map(([share, colour, title]) => {
		const part = el("div", { title, style: { width: `${100 * share}%` } }, el("span", {}, title));
		part.style.setProperty("--part", `var(${colour})`);
		return part;
	}));
}

export const legend = (items) => el("ul.legend", {}, ...items.map(([colour, text]) => el("li", {}, swatch(colour), text)));
