/** One exchange as nodes: the question, the checked answer with its marks and cards, or what went wrong. */
import { markdown } from "./markdown.js";
import { icon, make, safeUrl } from "./nodes.js";
import { isThisPage, pointedAt, show } from "./page.js";

const bar = (...children) => make("div.bar", {}, ...children);
const note = (text) => make("p.note", {}, text);
const placeOf = ({ title, section }) => (section && section !== title ? `${title} › ${section}` : title);

/** The nodes of a turn; `chat` gives the words and the ways to go on. */
export function exchange(turn, chat) {
	const { say } = chat;
	const { state, about = {}, text, question } = turn;
	const chosen = about.mode === "selected_text";
	const missing = chosen && about.abstained;
	return [
		turn.selection && make("blockquote.quote", { dir: "auto" }, turn.selection.slice(0, 600)),
		make("span.sight", {}, `${say("you")}: `),
		make("div.question", { dir: "auto", part: "question" }, question),
		state === "waiting" && bar(say("waiting"), make("button", { onclick: () => chat.drop(turn) }, say("cancel"))),
		state === "asked" && !text && note(say("thinking")),
		text && make("span.sight", {}, `${say("book")}: `),
		about.degraded && make("p.label", { part: "degraded" }, say("degraded")),
		chosen && make("p.label", {}, say(missing ? "notInSelection" : "fromSelection")),
		missing
			? bar(make("button", { onclick: () => chat.ask(question) }, say("wholeBook")))
			: make("div", { part: "answer" }, markdown(text, marks(turn, chat), { name: say("copy"), done: say("copied") })),
		about.low_confidence && note(say("lowConfidence")),
		turn.trouble && trouble(turn, chat),
		places(turn.sources, "sources", "ol", chat),
		places(about.suggestions, "near", "ul", chat),
		about.withheld > 0 && make("details.note", {}, make("summary", {}, say("withheld", about.withheld)), say("withheldWhy")),
		about.stored === false && note(say("notStored")),
		turn.rated && note(say("thanks")),
		about.receipt_id && !about.abstained && !turn.rated && bar(...["up", "down"].map((rating) => icon(rating, say(rating), () => chat.rate(turn, rating)))),
	].filter(Boolean);
}

/** A link to a source: in this page it scrolls there and lights up the words, elsewhere it opens. */
function link(source, chat, kind, attributes, ...children) {
	const url = source.url && safeUrl(source.url, chat.hasAttribute("local"));
	const onclick = (event) => {
		if (url && !isThisPage(url)) return chat.going(url.href);
		if (!show(url ? pointedAt(url) : [source.quote], url?.hash.slice(1).split(":~:")[0])) return;
		event.preventDefault();
		chat.lookAtPage();
	};
	if (!url) return make(source.quote ? `button.${kind}` : "span", { onclick, ...attributes }, ...children);
	const target = url.origin !== location.origin && "_blank";
	return make(`a.${kind}`, { href: url.href, onclick, target, rel: "noopener", ...attributes }, ...children);
}

function marks({ sources = [], about, state }, chat) {
	const seen = {};
	return (number) => {
		const source = sources[number - 1];
		if (!source) return state === "done" ? null : make("span.mark", {}, number);
		const nth = (seen[number] = (seen[number] ?? -1) + 1);
		const verdicts = (about?.verdicts ?? []).filter((verdict) => verdict.citations.includes(number));
		const node = link(source, chat, "mark", { "aria-label": chat.say("source", number), part: "mark" }, number);
		chat.giveCard(node, () => card(source, verdicts[nth] ?? verdicts[0], chat.say));
		return node;
	};
}

function card(source, verdict, say) {
	const score = source.similarity_score && say("score", Math.round(100 * source.similarity_score));
	const checked = verdict && say(verdict.status === "supported" ? "supported" : "flagged");
	return [make("strong", {}, placeOf(source)), make("q", { dir: "auto" }, source.quote), note([score, checked].filter(Boolean).join(" · "))];
}

function places(found, name, kind, chat) {
	if (!found?.[0]?.url) return null;
	const items = found.map((place) => make("li", { dir: "auto" }, link(place, chat, "place", {}, placeOf(place)), place.quote && `: ${place.quote.slice(0, 60)}…`));
	return make("details.sources", { open: true }, make("summary", {}, chat.say(name)), make(kind, {}, ...items));
}

function trouble(turn, chat) {
	const again = make("button", { onclick: () => chat.retry(turn) });
	const wait = () => {
		const left = Math.ceil((turn.again - Date.now()) / 1000);
		again.disabled = left > 0;
		again.textContent = left > 0 ? chat.say("retryIn", left) : chat.say("retry");
		if (left > 0) setTimeout(wait, 250);
	};
	wait();
	return make("div.trouble", { part: "trouble" }, make("p", {}, chat.say(turn.trouble.kind), ` ${turn.trouble.detail}`), bar(again));
}
