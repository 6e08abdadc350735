/** Create a DOM node; `kind` is a tag with classes (`div.note`). Text stays text: nothing here parses markup. */
export function create(kind, attributes = {}, ...children) {
	const [name, ...classes] = kind.split(".");
	const node = document.createElement(name);
	if (classes.length) node.classList.add(...classes);
	if (name === "button") node.type = "button";
	for (const [key, value] of Object.entries(attributes)) {
		if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
		else if (value || value === 0) node.setAttribute(key, value === true ? "" : value);
	}
	node.append(...children.filter((child) => child || child === 0));
	return node;
}

const MATH = "http://www.w3.org/1998/Math/MathML";
const MATH_TAG = /^(math|semantics|annotation|m(row|i|o|n|text|space|frac|sqrt|root|style|padded|phantom|sub|sup|subsup|under|over|underover|multiscripts|prescripts|table|tr|td))$/;
const MATH_ATTRIBUTE = /^(display|displaystyle|scriptlevel|mathvariant|stretchy|fence|separator|form|accent|accentunder|movablelimits|minsize|maxsize|width|lspace|rspace|linethickness|columnspan|rowspan|columnalign|encoding)$/;

/** The node of a formula: `[tag, attributes, ...children]`, as the server typesets it. */
export function formulaNode([tag, attributes, ...children]) {
	const node = document.createElementNS(MATH, MATH_TAG.test(tag) ? tag : "mrow");
	for (const [key, value] of Object.entries(attributes)) if (MATH_ATTRIBUTE.test(key)) node.setAttribute(key, value);
	node.append(...children.map((child) => (Array.isArray(child) ? formulaNode(child) : String(child))));
	return node;
}

/** The TeX of a formula in a page, as a text of the book has it. */
export function texOf(formula) {
	const tex = formula.querySelector("annotation")?.textContent;
	if (tex === undefined) return formula.textContent;
	return formula.getAttribute("display") === "block" ? `$$ ${tex} $$` : `$${tex}$`;
}

const THUMB = "M2 7h2v7H2zM4 8l3-6q3 0 2 4h5l-1 8H4";
const ICON_PATHS = {
	fresh: "M8 2v12M2 8h12",
	close: "M3 3l10 10M13 3L3 13",
	copy: "M5 5h9v9H5zM3 11H2V2h9v1",
	delete: "M2 4h12M6 4V2h4v2M4 4l1 10h6l1-10",
	up: THUMB,
	down: THUMB,
};

/** A button with an icon and an accessible name. */
export function iconButton(kind, name, onclick) {
	const [svg, path] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
	svg.setAttribute("viewBox", "0 0 16 16");
	path.setAttribute("d", ICON_PATHS[kind]);
	svg.append(path);
	return create(`button.icon.${kind}`, { "aria-label": name, title: name, onclick }, svg);
}

/**
 * The URL if a link may hold it, else null; a path is one of `server`. `local` moves it to this site, whatever host the
 * book came from: to the same path, or to the one that the JSON in `local` gives for the beginning of the URL.
 */
export function safeUrl(text, local, server = location.href) {
	try {
		const url = new URL(/^\/[^/]/.test(text) ? text.slice(1) : text, server);
		if (!/^https?:$/.test(url.protocol)) return null;
		if (typeof local !== "string") return url;
		const moves = local.startsWith("[") ? JSON.parse(local) : [];
		const [from, to] = moves.find(([start]) => url.href.startsWith(start)) ?? [url.origin, ""];
		return new URL((to + url.href.slice(from.length)).replace(/^\/+/, "/"), location.origin);
	} catch {
		return null;
	}
}
