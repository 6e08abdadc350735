/** The texts of the chat. Add a language with `customElements.get("glossator-chat").strings.fr = {…}`. */
export const strings = {
	en: {
		title: "Ask the book",
		greeting: "Ask about this book. Every sentence of an answer is checked against the page it cites.",
		close: "Close",
		fresh: "New conversation",
		delete: "Delete conversation",
		deleteSure: "Delete this conversation?",
		keep: "Keep it",
		deleted: "Conversation deleted.",
		question: "Your question",
		send: "Send",
		stop: "Stop",
		you: "You",
		book: "Book",
		thinking: "Searching the book…",
		waiting: "Waiting for the previous answer",
		cancel: "Cancel",
		copy: "Copy",
		copied: "Copied",
		copyAnswer: "Copy answer with sources",
		examples: "For example:",
		sources: "Sources",
		source: "Source {n}",
		score: "{n}% match",
		supported: "verified against the source",
		flagged: "not confirmed by the source",
		withheld: "Sentences left out: {n}",
		withheldWhy: "Sentences that the sources do not support are not shown.",
		near: "Sections that may help",
		lowConfidence: "Low confidence: the book says little about this.",
		degraded: "No language model is available. These are quotes from the book.",
		keywordsOnly: "Semantic search is unavailable. Only keywords were searched.",
		notStored: "This answer could not be saved.",
		askSelection: "Ask about this",
		selection: "Your selection",
		removeSelection: "Remove selection",
		shortSelection: "This selection is very short. Select a sentence or more for a better answer.",
		cutSelection: "This selection is too long. Only the first {n} characters are used.",
		fromSelection: "From your selection",
		notInSelection: "Not found in your selection",
		wholeBook: "Search the whole book",
		up: "Helpful",
		down: "Not helpful",
		thanks: "Thank you.",
		noStorage: "This browser does not allow storage. The conversation ends when you leave the page.",
		stopped: "Stopped.",
		retry: "Try again",
		retryIn: "Try again in {n} s",
		offline: "You are offline.",
		unreachable: "This page cannot reach the server.",
		unauthorized: "This page is not authorized. Reload it or sign in again.",
		large: "Your question or selection is too long.",
		busy: "Too many requests right now.",
		unavailable: "The book cannot be searched right now.",
		slow: "The server took too long to answer.",
		failed: "Something went wrong on the server.",
		refused: "The server rejected this question.",
		interrupted: "The connection was lost. The end of the answer is missing.",
	},
};

/** The texts of a language, English where one is missing; `onLoad` is called when its file has been loaded. */
export function translations(language, onLoad) {
	const name = (language || "en").toLowerCase();
	const short = name.split("-")[0];
	if (short === "ur" && !strings.ur) import("./widget/ur.js").then((file) => onLoad((strings.ur = file.default)));
	const texts = { ...strings.en, ...strings[short], ...strings[name] };
	const t = (key, n) => texts[key].replace("{n}", n);
	return { t, lang: name, dir: /^(ar|fa|he|ps|sd|ur)\b/.test(name) ? "rtl" : "ltr" };
}
