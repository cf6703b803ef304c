// Canvases of the timeline, and how they are painted.
import { el } from "./dom.js";

export const FONT = "11px system-ui, sans-serif";

export const css = (rgb, a = 1) => `rgba(${rgb.join(",")},${a})`;

// A canvas that keeps its size in device pixels.
export class Strip {
	constructor(className) {
		this.canvas = el(`canvas.${className}`, { "aria-hidden": "true" });
		this.ctx = this.canvas.getContext("2d", { alpha: false });
	}

	resize(width, height, ratio) {
		const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
		this.width = width;
		this.height = height;
		if (this.canvas.width === w && this.canvas.height === h)
			return;
		this.canvas.width = w;
		this.canvas.height = h;
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
		this.image = null;
	}

	clear(colour, ratio) {
		this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.ctx.fillStyle = colour;
		this.ctx.fillRect(0, 0, this.width, this.height);
		this.ctx.font = FONT;
		this.ctx.textBaseline = "middle";
	}

	text(text, x, y, colour) {
		this.ctx.fillStyle = colour;
		this.ctx.fillText(text, x, y);
	}
}

// A pattern of diagonal stripes.
export function hatch(ctx, rgb) {
	const size = 6, tile = new OffscreenCanvas(size, size), t = tile.getContext("2d");
	t.strokeStyle = css(rgb);
	t.lineWidth = 1.7;
	t.beginPath();
	for (const shift of [-size, 0, size]) {
		t.moveTo(shift - 1, size + 1);
		t.lineTo(shift + size + 1, -1);
	}
	t.stroke();
	return ctx.createPattern(tile, "repeat");
}
