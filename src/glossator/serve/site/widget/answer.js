/** Renders one turn: the question, the checked answer with its citations, or an error. */
import { markdown } from "./markdown.js";
import { create, iconButton, safeUrl } from "./nodes.js";
import { isCurrentPage, scrollToText, textFragment } from "./page.js";

const bar = (...children) => create("div.bar", {}, ...children);
const note = (text) => create("p.note", {}, text);
const sourceLabel = ({ title, section }) => (section && section !== title ? `${title} › ${section}` : title);

/** The nodes of a turn; `chat` provides the texts and the actions. */
export function turnNodes(turn, chat) {
	const { t } = chat;
	const { state, details = {}, text, question } = turn;
	const fromSelection = details.mode === "selected_text";
	const notInSelection = fromSelection && details.abstained;
	return [
		turn.selection && create("blockquote.quote", { dir: "auto" }, turn.selection.slice(0, 600)),
		create("span.visually-hidden", {}, `${t("you")}: `),
		create("div.question", { dir: "auto", part: "question" }, question),
		state === "waiting" && bar(t("waiting"), create("button", { onclick: () => chat.cancel(turn) }, t("cancel"))),
		state === "asked" && !text && note(t("thinking")),
		text && create("span.visually-hidden", {}, `${t("book")}: `),
		details.degraded && create("p.label", { part: "degraded" }, t("degraded")),
		fromSelection && create("p.label", {}, t(notInSelection ? "notInSelection" : "fromSelection")),
		notInSelection
			? bar(create("button", { onclick: () => chat.ask(question) }, t("wholeBook")))
			: create("div", { part: "answer" }, markdown(text, citationMarks(turn, chat), { name: t("copy"), done: t("copied") })),
		details.low_confidence && note(t("lowConfidence")),
		turn.error && errorBox(turn, chat),
		sourceList(turn.sources, "sources", "ol", chat),
		sourceList(details.suggestions, "near", "ul", chat),
		details.withheld > 0 && create("details.note", {}, create("summary", {}, t("withheld", details.withheld)), t("withheldWhy")),
		details.stored === false && note(t("notStored")),
		turn.rated && note(t("thanks")),
		details.receipt_id && !details.abstained && !turn.rated && bar(...["up", "down"].map((rating) => iconButton(rating, t(rating), () => chat.rate(turn, rating)))),
	].filter(Boolean);
}

/** A link to a source: on the current page it scrolls to the quoted words and highlights them. */
function sourceLink(source, chat, kind, attributes, ...children) {
	const url = source.url && safeUrl(source.url, chat.getAttribute("local"), chat.endpoint);
	const onclick = (event) => {
		if (url && !isCurrentPage(url)) return chat.rememberTarget(url.href);
		if (!scrollToText(url ? textFragment(url) : [source.quote], url?.hash.slice(1).split(":~:")[0])) return;
		event.preventDefault();
		chat.revealPage();
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
		const node = sourceLink(source, chat, "mark", { "aria-label": chat.t("source", number), part: "mark" }, number);
		chat.attachCard(node, () => cardNodes(source, verdicts[nth] ?? verdicts[0], chat.t));
		return node;
	};
}

function cardNodes(source, verdict, t) {
	const score = source.similarity_score && t("score", Math.round(100 * source.similarity_score));
	const checked = verdict && t(verdict.status === "supported" ? "supported" : "flagged");
	return [create("strong", {}, sourceLabel(source)), create("q", { dir: "auto" }, source.quote), note([score, checked].filter(Boolean).join(" · "))];
}

function sourceList(sources, name, kind, chat) {
	if (!sources?.[0]?.url) return null;
	const items = sources.map((source) => create("li", { dir: "auto" }, sourceLink(source, chat, "place", {}, sourceLabel(source)), source.quote && `: ${source.quote.slice(0, 60)}…`));
	return create("details.sources", { open: true }, create("summary", {}, chat.t(name)), create(kind, {}, ...items));
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
