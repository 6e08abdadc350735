/** The panel: its nodes, the card of a source, and where the keyboard focus goes. */
import { create, iconButton } from "./nodes.js";

const FOCUSABLE = "a[href], button:enabled, textarea, summary, [tabindex]";
/** Pixels between a card or button and the edge of the window. */
const EDGE = 8;

/** The nodes of the panel and of the buttons outside it; `actions` is what its buttons do. */
export function panelNodes({ t, title, name, greeting, closed, busy }, actions) {
	const question = t("question");
	const send = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && actions.submit(event);
	const keepFocus = (event) => event.preventDefault();
	const field = create("textarea", { rows: 1, maxlength: 32_000, dir: "auto", "aria-label": question, placeholder: question, part: "input", onkeydown: send });
	const stop = create("button.stop", { hidden: !busy, onclick: actions.stop }, t("stop"));
	const submit = create("button.send", { part: "send", onclick: actions.submit }, t("send"));
	const [chosen, list, intro] = [create("div"), create("div"), create("div.note")];
	const heading = create("h2", { dir: "auto" }, name);
	const notices = create("div.note", { role: "status" });
	const log = create("div.log", { tabindex: 0, role: "region", "aria-label": name, part: "log" }, create("p.note", { dir: "auto" }, greeting), intro, list, notices);
	const card = create("div.card", { role: "tooltip", id: "card", part: "card", hidden: true, dir: "auto", onmousedown: keepFocus });
	const panel = create(
		"section.panel",
		{ role: "dialog", "aria-label": name, part: "panel", hidden: closed },
		create("header", { part: "header" }, heading, ...["fresh", "delete", "close"].map((kind) => iconButton(kind, t(kind), actions[kind]))),
		log,
		create("footer", {}, chosen, create("div.compose", {}, field, stop, submit)),
		card,
	);
	const launcher = create("button.launcher", { part: "launcher", hidden: !closed, onclick: actions.open }, title);
	const offer = create("button.offer", { part: "offer", hidden: true, onclick: actions.acceptOffer, onpointerdown: keepFocus }, t("askSelection"));
	const live = create("div.visually-hidden", { "aria-live": "polite" });
	return { field, stop, chosen, intro, heading, list, notices, log, panel, launcher, offer, card, live };
}

/** Show a card with `content()` while the pointer or the focus is on a node. */
export function showCardOn(node, card, content) {
	const open = () => {
		card.replaceChildren(...content());
		card.hidden = false;
		card.onclick = () => node.click();
		card.onmouseleave = close;
		const box = node.getBoundingClientRect();
		const above = box.top - card.offsetHeight;
		placeAt(card, Math.min(box.left, innerWidth - card.offsetWidth - EDGE), above > EDGE ? above : box.bottom);
	};
	const close = (event) => (card.hidden = !card.contains(event.relatedTarget));
	node.setAttribute("aria-describedby", "card");
	node.onmouseenter = node.onfocus = open;
	node.onmouseleave = node.onblur = close;
	const tap = (event) => event.pointerType === "touch" && (event.preventDefault(), event.stopImmediatePropagation(), open());
	node.addEventListener("click", tap, true);
}

/** Whether the panel fills the window. */
export function isFullScreen() {
	return matchMedia("(max-width: 767px)").matches;
}

export function placeAt(node, left, top) {
	node.style.left = `${Math.max(EDGE, left)}px`;
	node.style.top = `${top}px`;
}

/** Keep the focus in the panel: from its last node Tab goes to its first, and back. */
export function cycleFocus(event, panel, focused) {
	const stops = [...panel.querySelectorAll(FOCUSABLE)].filter((node) => node.getClientRects().length);
	const [from, to] = event.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
	if (focused !== from) return;
	event.preventDefault();
	to.focus();
}

/** Move the panel to the other side if it covers words of the page there; false if it covers them on both sides. */
export function uncover(words, panel) {
	const covers = () => {
		const { left, right } = panel.getBoundingClientRect();
		return words.left < right && words.right > left;
	};
	const move = () => panel.parentNode.classList.toggle("left");
	if (!covers()) return true;
	move();
	if (!covers()) return true;
	move();
	return false;
}
