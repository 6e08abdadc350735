/** The page around the chat: what the reader selected, and where cited words stand. */
const SHORTEST = 3;
const SKIPPED = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEXTAREA", "GLOSSATOR-CHAT"]);

/** Tell `changed({text, box})` when the reader has selected something in the page, and `changed(null)` when no more. */
export function watchSelection(changed, signal) {
	let timer;
	const look = () => {
		clearTimeout(timer);
		timer = setTimeout(() => changed(selected()), 150);
	};
	for (const name of ["selectionchange", "pointerup", "scroll"]) document.addEventListener(name, look, { signal });
}

function selected() {
	const selection = document.getSelection();
	if (!selection?.rangeCount || selection.isCollapsed) return null;
	const range = selection.getRangeAt(0);
	const around = range.commonAncestorContainer;
	if ((around.closest ? around : around.parentElement)?.closest("glossator-chat, input, textarea, [contenteditable]")) return null;
	const text = selection.toString().trim();
	const box = [...range.getClientRects()].at(-1);
	return text.length >= SHORTEST && box ? { text, box } : null;
}

/** Whether an address is that of this very page. */
export function isThisPage(url) {
	const plain = ({ origin, pathname, search }) => origin + pathname.replace(/(\/index\.html|\/)$/, "") + search;
	return plain(url) === plain(location);
}

/** The first and the last words that an address points at. */
export function pointedAt({ hash }) {
	const parts = /:~:(?:.*&)?text=([^&]*)/.exec(hash)?.[1].split(",") ?? [];
	try {
		return parts.filter((part) => !/^-|-$/.test(part)).map(decodeURIComponent);
	} catch {
		return [];
	}
}

/** Scroll to words and light them up; false where neither they nor the anchor stand. */
export function show(words, anchor) {
	const range = find(words.map(plain));
	const place = range ? range.startContainer.parentElement : document.getElementById(anchor);
	if (!place) return false;
	const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
	place.scrollIntoView({ block: "center", behavior: still ? "auto" : "smooth" });
	if (range && window.Highlight) CSS.highlights.set("glossator", new Highlight(range));
	else if (range) document.getSelection().setBaseAndExtent(range.startContainer, range.startOffset, range.endContainer, range.endOffset);
	return true;
}

function find([first, last]) {
	if (!first) return null;
	const { text, places } = wordsOfPage();
	const start = text.indexOf(first);
	const from = last ? text.indexOf(last, start + first.length) : start;
	if (start < 0 || from < 0) return null;
	const range = document.createRange();
	const [node, offset] = places[from + (last ?? first).length - 1];
	range.setStart(...places[start]);
	range.setEnd(node, offset + 1);
	return range;
}

const plain = (text) => [...text.replace(/\s+/g, " ").trim()].map(lower).join("");
const lower = (letter) => (letter.toLowerCase().length === letter.length ? letter.toLowerCase() : letter);

/** The page's text as a reader sees it, white space as one blank, with the place of every character. */
function wordsOfPage() {
	const places = [];
	const letters = [];
	const add = (letter, place) => {
		if (letter === " " && (letters.at(-1) ?? " ") === " ") return;
		letters.push(letter);
		places.push(place);
	};
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
		SKIPPED.has(node.tagName) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
	);
	while (walker.nextNode()) {
		const node = walker.currentNode;
		if (!node.data) {
			if (node.tagName && getComputedStyle(node).display !== "inline") add(" ", places.at(-1));
			continue;
		}
		for (let at = 0; at < node.data.length; at++) add(/\s/.test(node.data[at]) ? " " : lower(node.data[at]), [node, at]);
	}
	return { text: letters.join(""), places };
}
