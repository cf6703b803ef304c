// Texts for the clipboard.
import { el } from "./dom.js";

const SAID_MS = 1200;

// Old way for pages that may not use the clipboard otherwise.
function copyOldWay(text) {
	const box = el("textarea", {}, text);
	document.body.append(box);
	box.select();
	document.execCommand("copy");
	box.remove();
}

// Names whose middle gives way are two boxes, which a browser would copy as two lines: while it copies, they are text like any other.
export function copyNamesWhole() {
	document.addEventListener("copy", () => {
		document.documentElement.classList.add("copying");
		setTimeout(() => document.documentElement.classList.remove("copying"));
	});
}

// A button that copies what make() gives, and says so.
export function copyButton(label, title, make) {
	const button = el("button", {
		type: "button", title,
		onclick: async () => {
			const text = make();
			globalThis.assay.copied = text; // for tests
			await navigator.clipboard.writeText(text).catch(() => copyOldWay(text));
			button.textContent = "copied";
			setTimeout(() => { button.textContent = label; }, SAID_MS);
		},
	}, label);
	return button;
}
