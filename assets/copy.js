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
