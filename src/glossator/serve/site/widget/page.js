import { create, texOf } from "./nodes.js";

/** The page around the chat: the user's selection, and the positions of quoted words. */
const MIN_SELECTION_LENGTH = 3;
const SELECTION_DELAY_MS = 150;
const IGNORED_TAGS = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEXTAREA", "GLOSSATOR-CHAT"]);

/** Call `onChange({text, box})` when the user selects text in the page, and `onChange(null)` when the selection ends. */
export function watchSelection(onChange, signal) {
	let timer;
	const schedule = () => {
		clearTimeout(timer);
		timer = setTimeout(() => onChange(currentSelection()), SELECTION_DELAY_MS);
	};
	for (const name of ["selectionchange", "pointerup", "scroll"]) document.addEventListener(name, schedule, { signal });
}

function currentSelection() {
	const selection = document.getSelection();
	if (!selection?.rangeCount || selection.isCollapsed) return null;
	const range = selection.getRangeAt(0);
	const container = range.commonAncestorContainer;
	if ((container.closest ? container : container.parentElement)?.closest("glossator-chat, input, textarea, [contenteditable]")) return null;
	const text = textOf(selection).trim();
	const box = [...range.getClientRects()].at(-1);
	return text.length >= MIN_SELECTION_LENGTH && box ? { text, box } : null;
}

/** The selected text; formulas are TeX. */
function textOf(selection) {
	const copy = create("div");
	for (let at = 0; at < selection.rangeCount; at++) copy.append(selection.getRangeAt(at).cloneContents());
	const formulas = copy.querySelectorAll("math");
	if (!formulas.length) return selection.toString();
	for (const formula of formulas) formula.replaceWith(texOf(formula));
	for (const block of copy.querySelectorAll("p, li, tr, dt, dd, pre, blockquote, h1, h2, h3, h4, h5, h6")) block.append("\n\n");
	return copy.textContent.replace(/\n{3,}/g, "\n\n");
}

/** Copy the formulas of a selection as TeX. */
export function copyTex(event) {
	const selection = document.getSelection();
	const text = textOf(selection);
	if (text === selection.toString()) return;
	event.clipboardData.setData("text/plain", text.trim());
	event.preventDefault();
}

/** Whether a URL is that of the current page. */
export function isCurrentPage(url) {
	const normalized = ({ origin, pathname, search }) => origin + pathname.replace(/(\/index\.html|\/)$/, "") + search;
	return normalized(url) === normalized(location);
}

/** The first and the last words of the text fragment of a URL. */
export function textFragment({ hash }) {
	const parts = /:~:(?:.*&)?text=([^&]*)/.exec(hash)?.[1].split(",") ?? [];
	try {
		return parts.filter((part) => !/^-|-$/.test(part)).map(decodeURIComponent);
	} catch {
		return [];
	}
}

/** A text fragment for a quote: its longest part without formulas and superscripts, or the first and last words of it. */
export function fragmentFor(quote) {
	const parts = quote.split(/\${1,2}[^$]+\${1,2}|\s\|\s|\n|\S*(?:[⁰ⁱ¹²³⁴-ⁿ₀-₎]|[\^_]\()\S*/).sort((one, other) => other.length - one.length);
	const words = parts[0].trim().split(/\s+/);
	const encoded = (some) => encodeURIComponent(some.join(" ")).replaceAll("-", "%2D");
	return words.length > 12 ? `${encoded(words.slice(0, 5))},${encoded(words.slice(-5))}` : encoded(words);
}

/** Scroll to words and highlight them; gives the words or the anchor, nothing if the page has neither. */
export function scrollToText(words, anchor) {
	const range = findRange(words.map(normalize));
	const target = range ? range.startContainer.parentElement : document.getElementById(anchor);
	if (!target) return null;
	const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
	target.scrollIntoView({ block: "center", behavior: reducedMotion ? "auto" : "smooth" });
	if (range && window.Highlight) CSS.highlights.set("glossator", new Highlight(range));
	else if (range) document.getSelection().setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
	return range ?? target;
}

function findRange([first, last]) {
	if (!first) return null;
	const { text, positions } = pageText();
	const start = text.indexOf(first);
	const from = last ? text.indexOf(last, start + first.length) : start;
	if (start < 0 || from < 0) return null;
	const range = document.createRange();
	const [node, offset] = positions[from + (last ?? first).length - 1];
	range.setStart(...positions[start]);
	range.setEnd(node, offset + 1);
	return range;
}

const normalize = (text) => [...text.replace(/\s+/g, " ").trim()].map(lower).join("");
const lower = (letter) => (letter.toLowerCase().length === letter.length ? letter.toLowerCase() : letter);

/** The visible text of the page, white space collapsed, with the position of every character. */
function pageText() {
	const positions = [];
	const letters = [];
	const add = (letter, position) => {
		if (letter === " " && (letters.at(-1) ?? " ") === " ") return;
		letters.push(letter);
		positions.push(position);
	};
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
		IGNORED_TAGS.has(node.tagName) || node.parentNode.tagName === "math" ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
	);
	while (walker.nextNode()) {
		const node = walker.currentNode;
		if (node.tagName === "math") {
			const position = [node.parentNode, [...node.parentNode.childNodes].indexOf(node)];
			for (const letter of texOf(node)) add(/\s/.test(letter) ? " " : lower(letter), position);
			continue;
		}
		if (!node.data) {
			if (node.tagName && getComputedStyle(node).display !== "inline") add(" ", positions.at(-1));
			continue;
		}
		for (let at = 0; at < node.data.length; at++) add(/\s/.test(node.data[at]) ? " " : lower(node.data[at]), [node, at]);
	}
	return { text: letters.join(""), positions };
}
