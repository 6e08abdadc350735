/** <glossator-chat>: ask the book from any page. docs/embed.md describes its attributes, variables and parts. */
import { answerDetails, turnNodes } from "./answer.js";
import { create, iconButton, safeUrl } from "./nodes.js";
import { copyTex, isCurrentPage, scrollToText, textFragment, watchSelection } from "./page.js";
import { cycleFocus, isFullScreen, panelNodes, placeAt, showCardOn, uncover } from "./panel.js";
import { ask, call, RequestError } from "./stream.js";
import { strings, translations } from "./strings.js";
import { applyStyles } from "./style.js";

/** Characters of a selection: the server's limit, and the length below which a hint is shown. */
const MAX_SELECTION = 64_000;
const SHORT_SELECTION = 20;
/** Restored turns that are drawn without yielding to the browser. */
const RESTORE_BATCH = 5;
/** By then a page is drawn, and the browser has searched it for the text fragment of its URL. */
const PAGE_SETTLED_MS = 700;
const STOPPED = new RequestError("stopped");

class GlossatorChat extends HTMLElement {
	static observedAttributes = ["title", "book", "greeting", "lang", "accent", "position", "token"];
	static strings = strings;
	#turns = [];
	#selection = "";
	#offeredText = "";
	#session = "";
	#title = "";
	#request;
	#lifetime;
	#nodes;
	#followsEnd = true;
	#book;

	connectedCallback() {
		this.#lifetime = new AbortController();
		this.#render();
		watchSelection((selection) => this.#offerSelection(selection), this.#lifetime.signal);
		this.#session = this.#store("localStorage");
		const stored = this.#store("sessionStorage"); // "open", or the URL of a source that the user followed
		const url = safeUrl(stored);
		if (stored) this.#toggle(!isFullScreen());
		// While the page is being drawn, the browser would find the text fragment in the restored answer.
		if (url && isCurrentPage(url)) setTimeout(() => (this.revealPage(scrollToText(textFragment(url))), this.#restore()), PAGE_SETTLED_MS);
		else this.#restore();
		if (!document.fragmentDirective) scrollToText(textFragment(location));
		if (this.hasAttribute("local")) document.addEventListener("copy", copyTex, { signal: this.#lifetime.signal });
	}

	disconnectedCallback() {
		this.#lifetime.abort();
		this.#request?.abort(STOPPED);
	}

	attributeChangedCallback(name, _, value) {
		if (name === "title" && value) {
			this.#title = value;
			this.removeAttribute("title"); // or the browser shows it as a tooltip everywhere
		} else if (this.#nodes && name === "token") this.#restore();
		else if (this.#nodes) this.#render();
	}

	get endpoint() {
		const given = this.getAttribute("endpoint") ?? new URL(".", import.meta.url);
		return new URL(`${given}/`.replace(/\/+$/, "/"), location.href);
	}

	open() {
		this.#toggle(true);
		if (this.#offeredText) this.#acceptOffer();
		this.#nodes.field.focus();
	}

	close() {
		this.#toggle(false);
		this.#nodes.launcher.focus();
	}

	/** Ask a question; while another one is being answered, it waits. */
	ask(question, selection = "") {
		const turn = { question, selection, text: "", state: "waiting" };
		this.#turns.push(turn);
		this.#update(() => this.#nodes.intro.replaceChildren());
		this.#renderTurn(turn);
		this.#scrollToEnd();
		this.#askNext();
	}

	retry(turn) {
		Object.assign(turn, { text: "", state: "waiting", error: null, sources: undefined, details: undefined });
		this.#renderTurn(turn);
		this.#askNext();
	}

	cancel(turn) {
		this.#turns = this.#turns.filter((other) => other !== turn);
		this.#update(() => turn.node.remove());
	}

	async rate(turn, rating) {
		const body = { receipt_id: turn.details.receipt_id, rating, session_id: this.#session || null };
		turn.rated = await call(this, "feedback", { method: "POST", body }).catch((error) => this.#showNotice(error.kind));
		this.#renderTurn(turn);
	}

	/** Remember the source that the user follows to another page: that page highlights it. */
	rememberTarget(href) {
		this.#store("sessionStorage", href);
	}

	/** Uncover what the user followed a source to: the panel moves to the other side, or closes. */
	revealPage(target) {
		const { card, panel } = this.#nodes;
		if (!target || panel.hidden) return;
		card.hidden = true;
		if (isFullScreen()) return this.#toggle(false);
		if (!uncover(target.getBoundingClientRect(), panel)) this.close();
	}

	/** Say something to screen readers, and show it on a button for a moment. */
	announce(text, button) {
		this.#nodes.live.textContent = text;
		button.classList.add("done");
		setTimeout(() => button.classList.remove("done"), 1500);
	}

	/** Show a card with `content()` while the pointer or the focus is on a node. */
	attachCard(node, content) {
		showCardOn(node, this.#nodes.card, content);
	}

	#toggle(open) {
		const { panel, launcher, card } = this.#nodes;
		panel.hidden = !open;
		this.toggleAttribute("open", open);
		if (open) this.setAttribute("open", panel.getBoundingClientRect().left < innerWidth / 2 ? "left" : "right"); // for the page's style sheet
		launcher.hidden = open;
		card.hidden = true;
		this.#store("sessionStorage", open ? "open" : "");
		if (open) this.#introduce();
		this.#scrollToEnd();
	}

	#loadBook() {
		return (this.#book ??= call(this, "widget/book").then((response) => response.json(), () => ({ examples: [] })));
	}

	/** The version of the book that this page is of; nothing if the book has no versions. */
	async #version() {
		if (this.getAttribute("version")) return this.getAttribute("version");
		const { versions = [] } = await this.#loadBook();
		const here = versions.filter(({ url }) => location.href.startsWith(new URL(url, this.endpoint)));
		return here.sort((one, other) => other.url.length - one.url.length)[0]?.name;
	}

	/** Show the name of the book and questions that it answers; nothing moves once a conversation has begun. */
	async #introduce() {
		const { name, examples } = await this.#loadBook();
		const { intro, heading } = this.#nodes;
		if (this.#turns.length) return;
		if (name && !this.#title && !this.getAttribute("book")) heading.textContent = name;
		if (!examples.length) return;
		const items = examples.slice(0, 3).map((question) => create("li", {}, create("button.example", { dir: "auto", onclick: () => this.ask(question) }, question)));
		intro.replaceChildren(create("p", {}, this.t("examples")), create("ul", {}, ...items));
	}

	async #askNext() {
		const turn = this.#turns.find((one) => one.state === "waiting");
		if (this.#request || !turn) return;
		const controller = (this.#request = new AbortController());
		turn.state = "asked";
		this.#renderTurn(turn);
		const body = { query: turn.question, selected_text: turn.selection || null, session_id: this.#session || null };
		try {
			const version = await this.#version();
			if (version) body.filters = { version };
			await ask(this, body, controller.signal, (kind, data) => this.#handleEvent(turn, kind, data));
			turn.state = "done";
		} catch (error) {
			turn.state = "failed";
			turn.error = error.kind ? error : new RequestError("failed");
			turn.retryAt = Date.now() + 1000 * turn.error.seconds;
			this.#nodes.live.textContent = this.t(turn.error.kind);
		}
		this.#request = null;
		this.#renderTurn(turn);
		this.#askNext();
	}

	#handleEvent(turn, kind, { delta, sources, metadata }) {
		if (kind === "delta" && delta?.trim) {
			turn.text += delta;
			this.#nodes.live.textContent = delta;
		} else if (kind === "sources") {
			Object.assign(turn, answerDetails(sources, metadata));
			this.#setSession(metadata.session_id ?? this.#session);
		} else return;
		this.#renderTurn(turn);
	}

	#setSession(session) {
		this.#session = session;
		if (this.#store("localStorage", session) === null) this.#showNotice("noStorage");
	}

	/** Read, set or (with an empty value) remove what the browser stores for this book; null if it stores nothing. */
	#store(kind, value) {
		try {
			if (value) window[kind].setItem(`glossator:${this.endpoint}`, value);
			else if (value === "") window[kind].removeItem(`glossator:${this.endpoint}`);
			return window[kind].getItem(`glossator:${this.endpoint}`) ?? "";
		} catch {
			return null;
		}
	}

	async #restore() {
		const session = this.#session;
		if (!session || this.#turns.length) return;
		try {
			const { entries } = await (await call(this, `history/${encodeURIComponent(session)}?details=true`)).json();
			for (const [at, { query, response, sources, metadata }] of entries.entries()) {
				if (session !== this.#session) return;
				const { selected_text: selection } = metadata;
				const turn = { question: query, selection, text: response, state: "done", ...answerDetails(sources, metadata) };
				this.#turns.splice(at, 0, turn);
				this.#renderTurn(turn, this.#turns[at + 1]?.node);
				if (at % RESTORE_BATCH === 0) await new Promise((resolve) => setTimeout(resolve));
			}
			this.#scrollToEnd();
		} catch (error) {
			if (error.kind === "refused") this.#setSession("");
		}
	}

	#startAgain() {
		this.#request?.abort(STOPPED);
		this.#turns = [];
		this.#setSession("");
		this.#render();
		this.open();
	}

	#askToDelete() {
		const session = this.#session;
		const { notices } = this.#nodes;
		const confirm = async () => {
			this.#startAgain();
			const deletion = session ? call(this, `agent/session/${encodeURIComponent(session)}`, { method: "DELETE" }) : Promise.resolve();
			const failed = await deletion.then(() => "", (error) => error.kind.replace("refused", ""));
			this.#showNotice(failed || "deleted");
		};
		const dismiss = () => this.#update(() => notices.replaceChildren());
		const button = (name, onclick) => create("button", { onclick }, this.t(name));
		notices.replaceChildren(create("p", {}, this.t("deleteSure")), create("div.bar", {}, button("delete", confirm), button("keep", dismiss)));
		notices.querySelector("button").focus();
		this.#scrollToEnd();
	}

	#offerSelection(selection) {
		const { offer } = this.#nodes;
		this.#offeredText = selection?.text;
		offer.hidden = !selection || (isFullScreen() && !this.#nodes.panel.hidden);
		if (selection) placeAt(offer, Math.min(selection.box.right - 60, innerWidth - 180), Math.min(selection.box.bottom + 8, innerHeight - 48));
	}

	#acceptOffer() {
		const letters = [...this.#offeredText];
		const hint = letters.length > MAX_SELECTION ? "cutSelection" : letters.length < SHORT_SELECTION && "shortSelection";
		this.#offeredText = "";
		this.#nodes.offer.hidden = true;
		this.#setSelection(letters.slice(0, MAX_SELECTION).join(""), hint);
		this.open();
	}

	#setSelection(text, hint) {
		const { chosen, field } = this.#nodes;
		const { t } = this;
		const remove = () => (this.#setSelection(""), field.focus());
		this.#selection = text;
		chosen.replaceChildren();
		if (!text) return;
		chosen.append(
			create("div.bar", {}, create("span.label", {}, t("selection")), iconButton("close", t("removeSelection"), remove)),
			create("blockquote.quote", { dir: "auto", tabindex: 0 }, text.slice(0, 600)),
		);
		if (hint) chosen.append(create("p.note", { role: "status" }, t(hint, MAX_SELECTION)));
	}

	#submit(event) {
		event.preventDefault();
		const { field } = this.#nodes;
		const [question, selection] = [field.value.trim(), this.#selection];
		if (!question) return;
		field.value = "";
		this.#setSelection("");
		this.ask(question, selection);
	}

	#render() {
		const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
		const { t, lang, dir } = translations(this.lang, () => this.#render());
		const oldField = this.#nodes?.field;
		const focused = oldField && root.activeElement === oldField;
		const closed = this.#nodes?.panel.hidden ?? true;
		const title = this.#title || t("title");
		const name = this.#title || this.getAttribute("book") || title;
		const greeting = this.getAttribute("greeting") ?? t("greeting");
		this.t = t;
		this.#nodes = panelNodes({ t, title, name, greeting, closed, busy: this.#request }, this.#actions());
		const { field, log, list, offer, launcher, panel, live } = this.#nodes;
		log.onscroll = () => (this.#followsEnd = log.scrollTop + log.clientHeight > log.scrollHeight - 40);
		new ResizeObserver(() => this.#followsEnd && this.#scrollToEnd()).observe(list);
		const side = this.getAttribute("position") === "left" ? "div.root.left" : "div.root";
		const ignore = (event) => event.stopPropagation(); // keys typed here are not shortcuts of the page
		root.replaceChildren(create(side, { lang, dir, onkeydown: (event) => this.#handleKey(event), onkeyup: ignore, onkeypress: ignore }, offer, launcher, panel, live));
		applyStyles(root);
		if (this.hasAttribute("accent")) this.style.setProperty("--accent", this.getAttribute("accent"));
		this.#setSelection(this.#selection);
		for (const turn of this.#turns) {
			turn.node = null;
			this.#renderTurn(turn);
		}
		field.value = oldField?.value ?? "";
		if (focused) field.focus();
		if (!closed) this.#introduce();
	}

	/** What the buttons of the panel do. */
	#actions() {
		return {
			submit: (event) => this.#submit(event),
			stop: () => this.#request?.abort(STOPPED),
			fresh: () => this.#startAgain(),
			delete: () => this.#askToDelete(),
			open: () => this.open(),
			close: () => this.close(),
			acceptOffer: () => this.#acceptOffer(),
		};
	}

	#renderTurn(turn, before = null) {
		if (!this.#turns.includes(turn)) return;
		turn.node ??= this.#nodes.list.insertBefore(create("div.message", { part: "message" }), before);
		this.#update(() => {
			turn.node.replaceChildren(...turnNodes(turn, this));
			this.#nodes.stop.hidden = !this.#request;
		});
	}

	/** Change what is shown; if the focused node disappears, the focus stays in the panel. */
	#update(change) {
		const { activeElement } = this.shadowRoot;
		change();
		if (activeElement && !activeElement.getClientRects().length) this.#nodes.log.focus();
	}

	#showNotice(key) {
		const text = this.t(key);
		const { notices } = this.#nodes;
		if (![...notices.children].some((node) => node.textContent === text)) notices.append(create("p", {}, text));
		this.#scrollToEnd();
	}

	/** Scroll to the end of the log, and follow it until the user scrolls elsewhere. */
	#scrollToEnd() {
		const { log } = this.#nodes;
		log.scrollTop = log.scrollHeight;
		this.#followsEnd = true;
	}

	#handleKey(event) {
		const { panel, card } = this.#nodes;
		event.stopPropagation();
		if (panel.hidden) return;
		if (event.key === "Escape") {
			if (card.hidden) this.close();
			card.hidden = true;
		} else if (event.key === "Tab") cycleFocus(event, panel, this.shadowRoot.activeElement);
	}
}

if (!customElements.get("glossator-chat")) customElements.define("glossator-chat", GlossatorChat);
