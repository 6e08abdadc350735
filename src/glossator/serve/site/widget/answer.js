/** Renders one turn: the question, the checked answer with its citations, or an error. */
import { markdown, verbatimNodes } from "./markdown.js";
import { create, iconButton, safeUrl } from "./nodes.js";
import { fragmentFor, isCurrentPage, scrollToText, textFragment } from "./page.js";

const bar = (...children) => create("div.bar", {}, ...children);
const note = (text) => create("p.note", {}, text);
const MAX_PREVIEW = 100;
const sourceLabel = ({ title, section }) => (section && section !== title ? `${title} › ${section}` : title);

/** The nodes of a turn; `chat` provides the texts and the actions. */
export function turnNodes(turn, chat) {
	const { t } = chat;
	const { state, details = {}, text, question } = turn;
	const fromSelection = details.mode === "selected_text";
	const notInSelection = fromSelection && details.abstained;
	// A refusal ends with a list of its suggestions, which are shown as links instead.
	const shown = details.abstained ? text.split("\n\n", 1)[0] : text;
	return [
		turn.selection && create("blockquote.quote", { dir: "auto" }, turn.selection.slice(0, 600)),
		create("span.visually-hidden", {}, `${t("you")}: `),
		create("div.question", { dir: "auto", part: "question" }, question),
		state === "waiting" && bar(t("waiting"), create("button", { onclick: () => chat.cancel(turn) }, t("cancel"))),
		state === "asked" && !text && note(t("thinking")),
		text && create("span.visually-hidden", {}, `${t("book")}: `),
		details.degraded && create("p.label", { part: "degraded" }, t(details.keywords_only ? "keywordsOnly" : "degraded")),
		fromSelection && create("p.label", {}, t(notInSelection ? "notInSelection" : "fromSelection")),
		notInSelection
			? bar(create("button", { onclick: () => chat.ask(question) }, t("wholeBook")))
			: create("div", { part: "answer" }, markdown(shown, answerContext(turn, chat))),
		details.low_confidence && note(t("lowConfidence")),
		turn.error && errorBox(turn, chat),
		sourceList(turn, chat),
		suggestionList(details.suggestions, chat),
		details.withheld > 0 && create("details.note", {}, create("summary", {}, t("withheld", details.withheld)), t("withheldWhy")),
		details.stored === false && note(t("notStored")),
		turn.rated && note(t("thanks")),
		text && state === "done" && !details.abstained && actionBar(turn, chat),
	].filter(Boolean);
}

/**
 * The metadata of an answer, and its citations with their sources. URLs of the server become paths again: a proxy may
 * show it at another address than the one that it knows.
 */
export function answerDetails(sources, details) {
	const server = details.server_url;
	const path = (url) => (server && url?.startsWith(`${server}/`) ? url.slice(server.length) : url);
	const suggestions = details.suggestions?.map((near) => ({ ...near, url: path(near.url) }));
	const cited = details.citations.map(({ quote }, at) => ({ ...sources[at], url: path(sources[at]?.source_url), quote }));
	return { details: { ...details, suggestions }, sources: cited };
}

/** What the answer's text is made of. */
function answerContext(turn, chat) {
	const { t } = chat;
	const quotes = [...(turn.sources ?? []), ...(turn.details?.verdicts ?? [])].map(({ quote }) => quote).filter(Boolean);
	return { mark: citationMarks(turn, chat), copy: { name: t("copy"), done: t("copied") }, quotes, formulas: turn.details?.formulas };
}

function actionBar(turn, chat) {
	const { t } = chat;
	const copy = iconButton("copy", t("copyAnswer"), () => navigator.clipboard.writeText(plainAnswer(turn, chat)).then(() => chat.announce(t("copied"), copy)));
	const ratings = turn.details?.receipt_id && !turn.rated ? ["up", "down"].map((rating) => iconButton(rating, t(rating), () => chat.rate(turn, rating))) : [];
	return bar(navigator.clipboard && copy, ...ratings);
}

/** The answer with its sources, as text to paste elsewhere. */
function plainAnswer({ text, sources = [] }, chat) {
	const lines = sources.map((source, at) => {
		const url = source.url && safeUrl(source.url, chat.getAttribute("local"), chat.endpoint);
		return [`[${at + 1}]`, source.title && `${sourceLabel(source)}:`, `“${source.quote}”`, url?.href].filter(Boolean).join(" ");
	});
	return [text.trim(), lines.join("\n")].filter(Boolean).join("\n\n");
}

/** A link to a source: on the current page it scrolls to the quoted words and highlights them. */
function sourceLink(source, chat, kind, attributes, ...children) {
	const url = source.url && safeUrl(source.url, chat.getAttribute("local"), chat.endpoint);
	const onclick = (event) => {
		if (url && !isCurrentPage(url)) return chat.rememberTarget(url.href);
		const target = scrollToText(url ? textFragment(url) : [source.quote], url?.hash.slice(1).split(":~:")[0]);
		if (!target) return;
		event.preventDefault();
		chat.revealPage(target);
	};
	if (!url) return create(source.quote ? `button.${kind}` : "span", { onclick, ...attributes }, ...children);
	const target = url.origin !== location.origin && "_blank";
	return create(`a.${kind}`, { href: url.href, onclick, target, rel: "noopener", ...attributes }, ...children);
}

function citationMarks({ sources = [], details, state }, chat) {
	const seen = {};
	return (number) => {
		const source = sources[number - 1];
		if (!source) return state === "done" ? null : create("span.mark", {}, number);
		const nth = (seen[number] = (seen[number] ?? -1) + 1);
		const verdicts = (details?.verdicts ?? []).filter((verdict) => verdict.citations.includes(number));
		const verdict = verdicts[nth] ?? verdicts[0];
		const cited = citedBy(verdict, source);
		const node = sourceLink(cited, chat, "mark", { "aria-label": chat.t("source", number), part: "mark" }, number);
		chat.attachCard(node, () => cardNodes(cited, verdict, chat.t, details?.formulas));
		return node;
	};
}

/** The source at the words behind one sentence; other sentences may cite other words of it. */
function citedBy(verdict, source) {
	if (!verdict?.quote || verdict.quote === source.quote) return source;
	return { ...source, quote: verdict.quote, url: source.url && `${source.url.split(":~:")[0]}${source.url.includes("#") ? "" : "#"}:~:text=${fragmentFor(verdict.quote)}` };
}

function cardNodes(source, verdict, t, formulas) {
	const score = source.similarity_score && t("score", Math.round(100 * source.similarity_score));
	const checked = verdict && t(verdict.status === "supported" ? "supported" : "flagged");
	return [create("strong", {}, sourceLabel(source)), create("q", { dir: "auto" }, ...verbatimNodes(source.quote, formulas)), note([score, checked].filter(Boolean).join(" · "))];
}

/** The sources by section, folded; each quote is listed once, with the numbers of all its marks. */
function sourceList({ sources = [], details }, chat) {
	if (!sources[0]?.url) return null;
	const sections = grouped(sources);
	const items = [...sections.values()].map((members) => {
		const quotes = new Map();
		for (const at of members) quotes.set(sources[at].quote, [...(quotes.get(sources[at].quote) ?? []), at]);
		const rows = [...quotes].map(([quote, places]) => create("p", { dir: "auto" }, ...places.map((at) => sourceLink(sources[at], chat, "mark", { "aria-label": chat.t("source", at + 1) }, at + 1)), " ", ...verbatimNodes(preview(quote), details?.formulas)));
		return create("li", { dir: "auto" }, sourceLink(sources[members[0]], chat, "place", {}, sourceLabel(sources[members[0]])), ...rows);
	});
	return create("details.sources", {}, create("summary", {}, `${chat.t("sources")} (${sections.size})`), create("ul", {}, ...items));
}

const sectionKey = ({ url, title, section }) => JSON.stringify([url.split("#")[0], title, section]);

function grouped(sources) {
	const groups = new Map();
	for (const at of sources.keys()) groups.set(sectionKey(sources[at]), [...(groups.get(sectionKey(sources[at])) ?? []), at]);
	return groups;
}

/** The beginning of a quote, cut between words and outside formulas. */
function preview(quote) {
	const letters = [...quote];
	if (letters.length <= MAX_PREVIEW) return quote;
	const start = letters.slice(0, MAX_PREVIEW).join("").replace(/\s+\S*$/, "");
	const whole = start.split("$").length % 2 ? start : start.slice(0, start.lastIndexOf("$"));
	return `${whole.replace(/[$\s]+$/, "")} …`;
}

function suggestionList(suggestions, chat) {
	if (!suggestions?.[0]?.url) return null;
	const items = suggestions.map((near) => create("li", { dir: "auto" }, sourceLink(near, chat, "place", {}, sourceLabel(near))));
	return create("details.sources", { open: true }, create("summary", {}, chat.t("near")), create("ul", {}, ...items));
}

function errorBox(turn, chat) {
	const explained = create("p", {}, chat.t(turn.error.kind), ` ${turn.error.detail}`);
	if (turn.error.final) return create("div.trouble", { part: "trouble" }, explained);
	const button = create("button", { onclick: () => chat.retry(turn) });
	const countDown = () => {
		const left = Math.ceil((turn.retryAt - Date.now()) / 1000);
		button.disabled = left > 0;
		button.textContent = left > 0 ? chat.t("retryIn", left) : chat.t("retry");
		if (left > 0) setTimeout(countDown, 250);
	};
	countDown();
	return create("div.trouble", { part: "trouble" }, explained, bar(button));
}
