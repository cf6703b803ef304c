// Unpacks the page's script and runs it. The policy allows that one by its hash, as it allows this one.
(async () => {
	try {
		const block = document.getElementById("script"), packed = Uint8Array.from(atob(block.textContent), (c) => c.charCodeAt(0));
		const script = document.createElement("script"), stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
		script.textContent = await new Response(stream).text();
		block.replaceWith(script);
	} catch (error) {
		document.getElementById("loading").textContent = `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`;
	}
})();
