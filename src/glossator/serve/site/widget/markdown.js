/** Markdown to DOM nodes. Unknown syntax stays text. */
import { create, formulaNode, safeUrl } from "./nodes.js";

const INLINE =
	/(\${1,2})[^$]{1,2000}\1|(`{1,3})([^`]{1,4000})\2|(?<![\w{^])(?:\*\*(?!\s)([^*]{1,4000})(?<![\s{])\*\*|\*(?!\s)([^*]{1,4000})(?<![\s{])\*(?!\*))(?!\w)|(?<![^\s\]])\[(?:Source )?(\d{1,3})\](?!\()|\[([^[\]]{1,500})\]\(([^()\s]{1,2000})\)/g;
const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^\s{0,3}#{1,6}\s+(.*)$/;
const QUOTE = /^\s{0,3}> ?/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const TABLE_RULE = /^[\s|:-]+$/;
const MAX_DEPTH = 8;
const MARKS = /\[\d{1,3}\]/g;
const IN_QUOTE = /(?<!\S)\[((?:Source )?\d{1,3})\]/g;

/**
 * The nodes of a text. `context.mark(number)` creates the node of a citation, `copy` holds the labels of the copy button,
 * `quotes` are words of the book, which are no Markdown, and `formulas` are the typeset formulas by their text.
 */
export function markdown(text, context) {
	const quotes = context.quotes.map((quote) => quote.replace(IN_QUOTE, "($1)")).sort((one, other) => other.length - one.length);
	const pattern = quotes.map((quote) => quote.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|");
	const verbatim = pattern && new RegExp(`(?<!\\S)(?:${pattern})(?=\\s*(?:\\[\\d|$))`, "g"); // whole sentences only
	const onlyQuotes = verbatim && !text.replace(verbatim, "").replace(MARKS, "").trim();
	const inner = { ...context, verbatim };
	return onlyQuotes ? create("p.verbatim", { dir: "auto" }, ...inline(text, inner)) : blocks(text.split(/\r\n?|\n/), inner, 0);
}

/** Words of the book, unchanged, with typeset formulas. */
export function verbatimNodes(text, formulas = {}) {
	const out = [];
	let last = 0;
	for (const { 0: found, index } of text.matchAll(/(\${1,2})[^$]{1,2000}\1/g)) {
		if (!Object.hasOwn(formulas, found)) continue;
		out.push(text.slice(last, index), formulaNode(formulas[found]));
		last = index + found.length;
	}
	return [...out, text.slice(last)];
}

function blocks(lines, context, depth) {
	const out = document.createDocumentFragment();
	for (let at = 0, end; at < lines.length; at = end) {
		const line = lines[at];
		const takeUntil = (isEnd) => {
			for (end = at + 1; end < lines.length && !isEnd(lines[end]); ) end++;
			return lines.slice(at, end);
		};
		end = at + 1;
		if (!line.trim()) continue;
		const fence = FENCE.exec(line)?.[1];
		if (fence) {
			out.append(code(takeUntil((next) => next.trim().startsWith(fence)).slice(1).join("\n"), context.copy));
			end++;
		} else if (HEADING.test(line)) {
			out.append(create("p", { dir: "auto" }, create("strong", {}, ...inline(HEADING.exec(line)[1], context))));
		} else if (QUOTE.test(line) && depth < MAX_DEPTH) {
			const inner = takeUntil((next) => !QUOTE.test(next)).map((quoted) => quoted.replace(QUOTE, ""));
			out.append(create("blockquote", { dir: "auto" }, blocks(inner, context, depth + 1)));
		} else if (ITEM.test(line) && depth < MAX_DEPTH) {
			out.append(list(takeUntil((next) => !ITEM.test(next) && !/^\s+\S/.test(next)), context, depth));
		} else if (line.includes("|") && TABLE_RULE.test(lines[end]) && lines[end].includes("-")) {
			out.append(table(takeUntil((next) => !next.includes("|")), context));
		} else {
			const startsBlock = (next) => !next.trim() || [FENCE, ITEM, HEADING, QUOTE].some((kind) => kind.test(next));
			out.append(create("p", { dir: "auto" }, ...inline(takeUntil(startsBlock).join("\n"), context)));
		}
	}
	return out;
}

function code(text, copy) {
	const done = () => (button.textContent = copy.done);
	const button = create("button.copy", { onclick: () => navigator.clipboard.writeText(text).then(done) }, copy.name);
	return create("div", {}, navigator.clipboard && button, create("pre", { tabindex: 0, dir: "ltr" }, create("code", {}, text)));
}

function list(lines, context, depth) {
	const [, indent, marker] = ITEM.exec(lines[0]);
	const items = [];
	for (const line of lines) {
		const found = ITEM.exec(line);
		if (found && found[1].length <= indent.length) items.push([found[3]]);
		else items.at(-1).push(line.slice(Math.min(line.search(/\S/), indent.length + 2)));
	}
	const item = ([first, ...rest]) => create("li", { dir: "auto" }, ...inline(first, context), blocks(rest, context, depth + 1));
	return create(/\d/.test(marker) ? "ol" : "ul", { start: parseInt(marker) }, ...items.map(item));
}

function table([head, , ...rows], context) {
	const textOf = (line) => line.trim().replace(/^\||\|$/g, "").trim();
	const isQuote = context.verbatim && rows.every((line) => !textOf(line).replace(context.verbatim, "").replace(MARKS, "").trim());
	const row = (kind) => (line) => {
		const text = textOf(line);
		const [, words, marks] = /^(.*?)((?:\s*\[\d{1,3}\])*)$/.exec(text);
		const cells = isQuote ? words.split(" | ").map((cell) => verbatimNodes(cell, context.formulas)) : text.split("|").map((cell) => inline(cell.trim(), context));
		if (isQuote) cells.at(-1).push(...written(marks, context));
		return create("tr", {}, ...cells.map((cell) => create(kind, { dir: "auto" }, ...cell)));
	};
	return create("div.table", { tabindex: 0 }, create("table", { dir: "auto" }, row("th")(head), ...rows.map(row("td"))));
}

function inline(text, context) {
	const out = [];
	let last = 0;
	for (const { 0: quote, index } of context.verbatim ? text.matchAll(context.verbatim) : []) {
		out.push(...written(text.slice(last, index), context), ...verbatimNodes(quote, context.formulas));
		last = index + quote.length;
	}
	return [...out, ...written(text.slice(last), context)];
}

/** What a language model wrote, or the marks between quotes. */
function written(text, context) {
	const out = [];
	let last = 0;
	for (const found of text.matchAll(INLINE)) {
		const [match, formula, , codeText, bold, italic, number, label, address] = found;
		out.push(text.slice(last, found.index));
		last = found.index + match.length;
		const url = address && safeUrl(address);
		if (formula) out.push(...verbatimNodes(match, context.formulas));
		else if (codeText) out.push(create("code", { dir: "ltr" }, codeText));
		else if (bold) out.push(create("strong", {}, ...written(bold, context)));
		else if (italic) out.push(create("em", {}, ...written(italic, context)));
		else if (number) out.push(context.mark(+number) ?? match);
		else out.push(url ? create("a", { href: url.href, target: "_blank", rel: "noopener" }, label) : label);
	}
	return [...out, text.slice(last)];
}
