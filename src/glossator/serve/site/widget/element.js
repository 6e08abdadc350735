/** <glossator-chat>: ask the book from any page. docs/embed.md tells its attributes, variables and parts. */
import { exchange } from "./answer.js";
import { icon, make, safeUrl } from "./nodes.js";
import { isThisPage, pointedAt, show, watchSelection } from "./page.js";
import { ask, call, Trouble } from "./stream.js";
import { strings, wordsOf } from "./strings.js";
import { dress } from "./style.js";

/** Characters of a selection: what the server takes, and from where on one says something. */
const LONGEST = 64_000;
const SHORT = 20;
/** Restored exchanges that are drawn without a pause. */
const AT_ONCE = 5;
/** Milliseconds in which a page is drawn, and within which the browser looks for the words that its address names. */
const SETTLED = 700;
const STOPPED = new Trouble("stopped");

class GlossatorChat extends HTMLElement {
	static observedAttributes = ["title", "greeting", "lang", "accent", "position", "token"];
	static strings = strings;
	#turns = [];
	#selection = "";
	#offered = "";
	#session = "";
	#title = "";
	#stop;
	#page;
	#parts;
	#follows = true;

	connectedCallback() {
		this.#page = new AbortController();
		this.#build();
		watchSelection((found) => this.#offer(found), this.#page.signal);
		this.#session = this.#keep("localStorage");
		const going = this.#keep("sessionStorage");
		const url = safeUrl(going);
		if (going) this.#show(!this.#isSheet());
		// On a page that is still being drawn the browser would find the words in the restored answer.
		if (url && isThisPage(url)) setTimeout(() => (show(pointedAt(url)), this.#restore()), SETTLED);
		else this.#restore();
		if (!document.fragmentDirective) show(pointedAt(location));
	}

	disconnectedCallback() {
		this.#page.abort();
		this.#stop?.abort(STOPPED);
	}

	attributeChangedCallback(name, _, value) {
		if (name === "title" && value) {
			this.#title = value;
			this.removeAttribute("title"); // or the browser shows it wherever the pointer rests
		} else if (this.#parts && name === "token") this.#restore();
		else if (this.#parts) this.#build();
	}

	get endpoint() {
		const given = this.getAttribute("endpoint") ?? new URL(".", import.meta.url);
		return new URL(`${given}/`.replace(/\/+$/, "/"), location.href);
	}

	open() {
		this.#show(true);
		if (this.#offered) this.#take();
		this.#parts.field.focus();
	}

	close() {
		this.#show(false);
		this.#parts.launcher.focus();
	}

	/** Ask; while an answer is written, a question waits for its turn. */
	ask(question, selection = "") {
		const turn = { question, selection, text: "", state: "waiting" };
		this.#turns.push(turn);
		this.#draw(turn);
		this.#toEnd();
		this.#next();
	}

	retry(turn) {
		Object.assign(turn, { text: "", state: "waiting", trouble: null, sources: undefined, about: undefined });
		this.#draw(turn);
		this.#next();
	}

	drop(turn) {
		this.#turns = this.#turns.filter((other) => other !== turn);
		this.#change(() => turn.node.remove());
	}

	async rate(turn, rating) {
		const body = { receipt_id: turn.about.receipt_id, rating, session_id: this.#session || null };
		turn.rated = await call(this, "feedback", { method: "POST", body }).catch((error) => this.#notice(error.kind));
		this.#draw(turn);
	}

	/** The reader goes to another page, which is to show the words. */
	going(href) {
		this.#keep("sessionStorage", href);
	}

	/** The reader goes to the page: out of its way. */
	lookAtPage() {
		this.#parts.card.hidden = true;
		if (this.#isSheet()) this.#show(false);
	}

	giveCard(node, content) {
		const { card } = this.#parts;
		const open = () => {
			card.replaceChildren(...content());
			card.hidden = false;
			card.onclick = () => node.click();
			card.onmouseleave = close;
			const at = node.getBoundingClientRect();
			const above = at.top - card.offsetHeight;
			this.#place(card, Math.min(at.left, innerWidth - card.offsetWidth - 8), above > 8 ? above : at.bottom);
		};
		const close = (event) => (card.hidden = !card.contains(event.relatedTarget));
		node.setAttribute("aria-describedby", "card");
		node.onmouseenter = node.onfocus = open;
		node.onmouseleave = node.onblur = close;
		const tap = (event) => event.pointerType === "touch" && (event.preventDefault(), event.stopImmediatePropagation(), open());
		node.addEventListener("click", tap, true);
	}

	#place(node, left, top) {
		node.style.left = `${Math.max(8, left)}px`;
		node.style.top = `${top}px`;
	}

	#isSheet() {
		return matchMedia("(max-width: 767px)").matches;
	}

	#show(open) {
		const { panel, launcher, card } = this.#parts;
		panel.hidden = !open;
		this.toggleAttribute("open", open);
		launcher.hidden = open;
		card.hidden = true;
		this.#keep("sessionStorage", open ? "open" : "");
		this.#toEnd();
	}

	async #next() {
		const turn = this.#turns.find((one) => one.state === "waiting");
		if (this.#stop || !turn) return;
		const stop = (this.#stop = new AbortController());
		turn.state = "asked";
		this.#draw(turn);
		const body = { query: turn.question, selected_text: turn.selection || null, session_id: this.#session || null };
		try {
			await ask(this, body, stop.signal, (kind, data) => this.#hear(turn, kind, data));
			turn.state = "done";
		} catch (error) {
			turn.state = "failed";
			turn.trouble = error.kind ? error : new Trouble("failed");
			turn.again = Date.now() + 1000 * turn.trouble.seconds;
			this.#parts.live.textContent = this.say(turn.trouble.kind);
		}
		this.#stop = null;
		this.#draw(turn);
		this.#next();
	}

	#hear(turn, kind, { delta, sources, metadata }) {
		if (kind === "delta" && delta?.trim) {
			turn.text += delta;
			this.#parts.live.textContent = delta;
		} else if (kind === "sources") {
			Object.assign(turn, told(sources, metadata));
			this.#remember(metadata.session_id ?? this.#session);
		} else return;
		this.#draw(turn);
	}

	#remember(session) {
		this.#session = session;
		if (this.#keep("localStorage", session) === null) this.#notice("noStorage");
	}

	/** What the browser keeps for this book; null where it keeps nothing. */
	#keep(kind, value) {
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
				const turn = { question: query, text: response, state: "done", ...told(sources, metadata) };
				this.#turns.splice(at, 0, turn);
				this.#draw(turn, this.#turns[at + 1]?.node);
				if (at % AT_ONCE === 0) await new Promise((resolve) => setTimeout(resolve));
			}
			this.#toEnd();
		} catch (error) {
			if (error.kind === "refused") this.#remember("");
		}
	}

	#fresh() {
		this.#stop?.abort(STOPPED);
		this.#turns = [];
		this.#remember("");
		this.#build();
		this.open();
	}

	#delete() {
		const session = this.#session;
		const { notices } = this.#parts;
		const sure = async () => {
			this.#fresh();
			const gone = session ? call(this, `agent/session/${encodeURIComponent(session)}`, { method: "DELETE" }) : Promise.resolve();
			const failed = await gone.then(() => "", (error) => error.kind.replace("refused", ""));
			this.#notice(failed || "deleted");
		};
		const keep = () => this.#change(() => notices.replaceChildren());
		const button = (name, onclick) => make("button", { onclick }, this.say(name));
		notices.replaceChildren(make("p", {}, this.say("deleteSure")), make("div.bar", {}, button("delete", sure), button("keep", keep)));
		notices.querySelector("button").focus();
		this.#toEnd();
	}

	#offer(found) {
		const { offer } = this.#parts;
		this.#offered = found?.text;
		offer.hidden = !found || (this.#isSheet() && !this.#parts.panel.hidden);
		if (found) this.#place(offer, Math.min(found.box.right - 60, innerWidth - 180), Math.min(found.box.bottom + 8, innerHeight - 48));
	}

	#take() {
		const letters = [...this.#offered];
		const hint = letters.length > LONGEST ? "cutSelection" : letters.length < SHORT && "shortSelection";
		this.#offered = "";
		this.#parts.offer.hidden = true;
		this.#choose(letters.slice(0, LONGEST).join(""), hint);
		this.open();
	}

	#choose(text, hint) {
		const { chosen, field } = this.#parts;
		const { say } = this;
		const remove = () => (this.#choose(""), field.focus());
		this.#selection = text;
		chosen.replaceChildren();
		if (!text) return;
		chosen.append(
			make("div.bar", {}, make("span.label", {}, say("selection")), icon("close", say("removeSelection"), remove)),
			make("blockquote.quote", { dir: "auto", tabindex: 0 }, text.slice(0, 600)),
		);
		if (hint) chosen.append(make("p.note", { role: "status" }, say(hint, LONGEST)));
	}

	#submit(event) {
		event.preventDefault();
		const { field } = this.#parts;
		const [question, selection] = [field.value.trim(), this.#selection];
		if (!question) return;
		field.value = "";
		this.#choose("");
		this.ask(question, selection);
	}

	#build() {
		const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
		const { say, lang, dir } = wordsOf(this.lang, () => this.#build());
		const before = this.#parts?.field;
		const focused = before && root.activeElement === before;
		const closed = this.#parts?.panel.hidden ?? true;
		const name = this.#title || say("title");
		this.say = say;
		const send = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && this.#submit(event);
		const question = say("question");
		const field = make("textarea", { rows: 1, maxlength: 32_000, dir: "auto", "aria-label": question, placeholder: question, part: "input", onkeydown: send });
		const stop = make("button.stop", { hidden: !this.#stop, onclick: () => this.#stop?.abort(STOPPED) }, say("stop"));
		const chosen = make("div");
		const list = make("div");
		const notices = make("div.note", { role: "status" });
		const log = make("div.log", { tabindex: 0, role: "region", "aria-label": name, part: "log" }, make("p.note", { dir: "auto" }, this.getAttribute("greeting") ?? say("greeting")), list, notices);
		const submit = make("button.send", { part: "send", onclick: (event) => this.#submit(event) }, say("send"));
		const card = make("div.card", { role: "tooltip", id: "card", part: "card", hidden: true, dir: "auto", onmousedown: (event) => event.preventDefault() });
		const panel = make(
			"section.panel",
			{ role: "dialog", "aria-label": name, part: "panel", hidden: closed },
			make("header", { part: "header" }, make("h2", { dir: "auto" }, name), icon("fresh", say("fresh"), () => this.#fresh()), icon("delete", say("delete"), () => this.#delete()), icon("close", say("close"), () => this.close())),
			log,
			make("footer", {}, chosen, make("div.compose", {}, field, stop, submit)),
			card,
		);
		const launcher = make("button.launcher", { part: "launcher", hidden: !closed, onclick: () => this.open() }, name);
		const offer = make("button.offer", { part: "offer", hidden: true, onclick: () => this.#take(), onpointerdown: (event) => event.preventDefault() }, say("askSelection"));
		const live = make("div.sight", { "aria-live": "polite" });
		log.onscroll = () => (this.#follows = log.scrollTop + log.clientHeight > log.scrollHeight - 40);
		new ResizeObserver(() => this.#follows && this.#toEnd()).observe(list);
		const side = this.getAttribute("position") === "left" ? "div.root.left" : "div.root";
		const quiet = (event) => event.stopPropagation(); // a page's shortcuts are none of the chat's letters
		root.replaceChildren(make(side, { lang, dir, onkeydown: (event) => this.#key(event), onkeyup: quiet, onkeypress: quiet }, offer, launcher, panel, live));
		dress(root);
		if (this.hasAttribute("accent")) this.style.setProperty("--accent", this.getAttribute("accent"));
		this.#parts = { field, stop, chosen, list, notices, log, panel, launcher, offer, card, live };
		this.#choose(this.#selection);
		for (const turn of this.#turns) {
			turn.node = null;
			this.#draw(turn);
		}
		field.value = before?.value ?? "";
		if (focused) field.focus();
	}

	#draw(turn, before = null) {
		if (!this.#turns.includes(turn)) return;
		turn.node ??= this.#parts.list.insertBefore(make("div.message", { part: "message" }), before);
		this.#change(() => {
			turn.node.replaceChildren(...exchange(turn, this));
			this.#parts.stop.hidden = !this.#stop;
		});
	}

	/** Change what is shown; the keyboard stays in the panel where what it was on has gone. */
	#change(act) {
		const { activeElement } = this.shadowRoot;
		act();
		if (activeElement && !activeElement.getClientRects().length) this.#parts.log.focus();
	}

	#notice(key) {
		const text = this.say(key);
		const { notices } = this.#parts;
		if (![...notices.children].some((node) => node.textContent === text)) notices.append(make("p", {}, text));
		this.#toEnd();
	}

	/** Show the end of the log, and go on showing it until the reader scrolls elsewhere. */
	#toEnd() {
		const { log } = this.#parts;
		log.scrollTop = log.scrollHeight;
		this.#follows = true;
	}

	#key(event) {
		const { panel, card } = this.#parts;
		event.stopPropagation();
		if (panel.hidden) return;
		if (event.key === "Escape") {
			if (card.hidden) this.close();
			card.hidden = true;
		} else if (event.key === "Tab") {
			const stops = [...panel.querySelectorAll("a[href], button:enabled, textarea, summary, [tabindex]")].filter((node) => node.getClientRects().length);
			const here = this.shadowRoot.activeElement;
			const [from, to] = event.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
			if (here !== from) return;
			event.preventDefault();
			to.focus();
		}
	}
}

/** What the server says about an answer, each citation with the source that it quotes. */
function told(sources, about) {
	return { about, sources: about.citations.map((cited, at) => ({ ...sources[at], url: sources[at]?.source_url, quote: cited.quote })) };
}

if (!customElements.get("glossator-chat")) customElements.define("glossator-chat", GlossatorChat);
