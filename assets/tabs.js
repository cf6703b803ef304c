// Sections of the page as tabs: one is shown, print shows all.
import { el } from "./dom.js";

const TAB_NAMES = {
	devices: "Time", steps: "Steps", budget: "Budget", idle: "Idle", ranks: "Ranks", trust: "Trust", parts: "Time",
	environments: "Environment", environment: "Environment", rows: "As text", path: "Path",
};

export class Tabs {
	constructor(sections, onchange = () => {}) {
		this.sections = sections;
		this.onchange = onchange;
		this.tabs = sections.map((s) => el("a", {
			href: `#${s.id}`, id: `tab-${s.id}`, role: "tab", "aria-controls": s.id, tabindex: -1,
			onclick: (e) => {
				e.preventDefault();
				this.show(s.id);
				this.nav.scrollIntoView({ block: "start" });
			},
		}, TAB_NAMES[s.id] ?? s.querySelector("h2").textContent));
		this.nav = el("div.tabs", { role: "tablist", "aria-label": "Tables", onkeydown: (e) => this.key(e) }, ...this.tabs);
		for (const s of sections) {
			s.setAttribute("role", "tabpanel");
			s.classList.add("panel");
		}
		this.show(sections[0]?.id, false);
	}

	show(id, tell = true) {
		if (!this.sections.some((s) => s.id === id))
			return false;
		this.current = id;
		this.sections.forEach((s, i) => {
			s.classList.toggle("off", s.id !== id);
			this.tabs[i].setAttribute("aria-selected", String(s.id === id));
			this.tabs[i].tabIndex = s.id === id ? 0 : -1;
		});
		this.bringTab(this.tabs.find((tab) => tab.tabIndex === 0));
		this.sections.find((s) => s.id === id).dispatchEvent(new Event("shown"));
		if (tell)
			this.onchange();
		return true;
	}

	// Where not all tabs fit beside each other.
	bringTab(tab) {
		const { left, right } = this.nav.getBoundingClientRect(), at = tab.getBoundingClientRect();
		this.nav.scrollLeft += at.left < left ? at.left - left : Math.max(0, at.right - right);
	}

	// The open one for the address, and whether it is what is looked at; null for the first.
	state() {
		const seen = this.nav.getBoundingClientRect().top < innerHeight / 2;
		return this.current === this.sections[0]?.id && !seen || !this.current ? null : { id: this.current, seen };
	}

	key(e) {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], at = this.tabs.indexOf(document.activeElement);
		if (!step || at < 0)
			return;
		const next = (at + step + this.tabs.length) % this.tabs.length;
		this.tabs[next].focus();
		this.show(this.sections[next].id);
		e.preventDefault();
		e.stopPropagation();
	}
}
