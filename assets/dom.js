// The one place where text becomes part of the document, always as text.

// el("a.link", { href: "#x", onclick }, child, "text", ...): null children are left out.
export function el(what, attributes, ...children) {
	const [tag, ...classes] = what.split(".");
	return made(document.createElement(tag), classes, attributes, children);
}

// The same of a picture; the template has one to take the namespace from.
export function svg(what, attributes, ...children) {
	const [tag, ...classes] = what.split(".");
	return made(document.createElementNS(document.querySelector("svg").namespaceURI, tag), classes, attributes, children);
}

function made(e, classes, attributes, children) {
	if (classes.length)
		e.setAttribute("class", classes.join(" "));
	for (const [key, value] of Object.entries(attributes ?? {})) {
		if (key.startsWith("on"))
			e.addEventListener(key.slice(2), value);
		else if (key === "style")
			Object.assign(e.style, value); // by property: the policy forbids style attributes
		else if (value !== null && value !== false)
			e.setAttribute(key, value === true ? "" : value);
	}
	e.append(...children.flat().filter((c) => c !== null && c !== undefined));
	return e;
}

// A section of the page with its heading.
export function section(id, title, ...children) {
	const heading = `${id}-title`;
	return el("section", { id, "aria-labelledby": heading },
		el("h2", { id: heading, tabindex: -1 }, title), ...children);
}

// Text folded away behind a title.
export function folded(title, ...children) {
	return el("details", {}, el("summary", {}, title), ...children);
}

export function swatch(colour) {
	return el("span.swatch", { style: { background: `var(${colour})` }, "aria-hidden": "true" });
}

// A name that gives way where there is no room, if it has more letters than `most`: first in front of letter `at`, for what
// tells names apart often stands at their ends, then at its end.
export function elided(name, most = 30, at = name.length - 10) {
	return name.length <= most ? name : el("span.elided", {}, el("span", {}, name.slice(0, at)), el("span", {}, name.slice(at)));
}

// Stripes of one colour on another.
export function hatched(what, stripe, between, style = {}) {
	const e = el(`${what}.hatched`, { style, "aria-hidden": "true" });
	e.style.setProperty("--stripe", `var(${stripe})`);
	e.style.setProperty("--between", `var(${between})`);
	return e;
}

// A choice that the address keeps: name, what it is of, [[value, text], ...]; the first is usual unless told. run(value) on a change.
export function choice(name, label, options, run, usual = options[0][0]) {
	const made = el("select", { "aria-label": label, "data-choice": name, "data-usual": usual, onchange: () => run(made.value) },
		...options.map(([value, text]) => el("option", { value }, text)));
	made.value = usual;
	return made;
}

export const choicesOf = (root) => [...root.querySelectorAll("select[data-choice]")];
