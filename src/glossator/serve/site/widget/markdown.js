/** Markdown to DOM nodes. What it does not know stays text. */
import { make, safeUrl } from "./nodes.js";

const INLINE =
	/(`{1,3})([^`]{1,4000})\1|\*\*([^*]{1,4000})\*\*|\*([^\s*][^*]{0,4000})\*|(?<![^\s\]])\[(?:Source )?(\d{1,3})\](?!\()|\[([^[\]]{1,500})\]\(([^()\s]{1,2000})\)/g;
const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^\s{0,3}#{1,6}\s+(.*)$/;
const QUOTE = /^\s{0,3}> ?/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^[\s|:-]+$/;
const DEEPEST = 8;

/** The nodes of a text; `mark(number)` gives the node of a citation, `copy` the names of the button that copies code. */
export const markdown = (text, mark, copy) => blocks(text.split(/\r\n?|\n/), { mark, copy }, 0);

function blocks(lines, tools, depth) {
	const out = document.createDocumentFragment();
	for (let at = 0, end; at < lines.length; at = end) {
		const line = lines[at];
		const until = (stops) => {
			for (end = at + 1; end < lines.length && !stops(lines[end]); ) end++;
			return lines.slice(at, end);
		};
		end = at + 1;
		if (!line.trim()) continue;
		const fence = FENCE.exec(line)?.[1];
		if (fence) {
			out.append(code(until((next) => next.trim().startsWith(fence)).slice(1).join("\n"), tools.copy));
			end++;
		} else if (HEADING.test(line)) {
			out.append(make("p", { dir: "auto" }, make("strong", {}, ...inline(HEADING.exec(line)[1], tools))));
		} else if (QUOTE.test(line) && depth < DEEPEST) {
			const inner = until((next) => !QUOTE.test(next)).map((quoted) => quoted.replace(QUOTE, ""));
			out.append(make("blockquote", { dir: "auto" }, blocks(inner, tools, depth + 1)));
		} else if (ITEM.test(line) && depth < DEEPEST) {
			out.append(list(until((next) => !ITEM.test(next) && !/^\s+\S/.test(next)), tools, depth));
		} else if (line.includes("|") && RULE.test(lines[end]) && lines[end].includes("-")) {
			out.append(table(until((next) => !next.includes("|")), tools));
		} else {
			const starts = (next) => !next.trim() || [FENCE, ITEM, HEADING, QUOTE].some((kind) => kind.test(next));
			out.append(make("p", { dir: "auto" }, ...inline(until(starts).join("\n"), tools)));
		}
	}
	return out;
}

function code(text, copy) {
	const done = () => (button.textContent = copy.done);
	const button = make("button.copy", { onclick: () => navigator.clipboard.writeText(text).then(done) }, copy.name);
	return make("div", {}, navigator.clipboard && button, make("pre", { tabindex: 0, dir: "ltr" }, make("code", {}, text)));
}

function list(lines, tools, depth) {
	const [, indent, sign] = ITEM.exec(lines[0]);
	const items = [];
	for (const line of lines) {
		const found = ITEM.exec(line);
		if (found && found[1].length <= indent.length) items.push([found[3]]);
		else items.at(-1).push(line.slice(Math.min(line.search(/\S/), indent.length + 2)));
	}
	const item = ([first, ...rest]) => make("li", { dir: "auto" }, ...inline(first, tools), blocks(rest, tools, depth + 1));
	return make(/\d/.test(sign) ? "ol" : "ul", { start: parseInt(sign) }, ...items.map(item));
}

function table([head, , ...rows], tools) {
	const row = (kind) => (line) => {
		const cells = line.trim().replace(/^\||\|$/g, "").split("|");
		return make("tr", {}, ...cells.map((cell) => make(kind, { dir: "auto" }, ...inline(cell.trim(), tools))));
	};
	return make("div.table", { tabindex: 0 }, make("table", { dir: "auto" }, row("th")(head), ...rows.map(row("td"))));
}

function inline(text, tools) {
	const out = [];
	let last = 0;
	for (const found of text.matchAll(INLINE)) {
		const [whole, , source, bold, slanted, number, label, address] = found;
		out.push(text.slice(last, found.index));
		last = found.index + whole.length;
		const url = address && safeUrl(address);
		if (source) out.push(make("code", { dir: "ltr" }, source));
		else if (bold) out.push(make("strong", {}, ...inline(bold, tools)));
		else if (slanted) out.push(make("em", {}, ...inline(slanted, tools)));
		else if (number) out.push(tools.mark(+number) ?? whole);
		else out.push(url ? make("a", { href: url.href, target: "_blank", rel: "noopener" }, label) : label);
	}
	return [...out, text.slice(last)];
}
