/** What the chat says by itself. Another language: `customElements.get("glossator-chat").strings.fr = {…}`. */
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
		thinking: "Looking in the book",
		waiting: "Waiting for its turn",
		cancel: "Cancel",
		copy: "Copy",
		copied: "Copied",
		sources: "Sources",
		source: "Source {n}",
		score: "match {n} %",
		supported: "checked: the source says so",
		flagged: "not confirmed by the source",
		withheld: "{n} left out",
		withheldWhy: "What the sources do not support is not shown.",
		near: "Nearest sections",
		lowConfidence: "Not certain: the book says little about this.",
		degraded: "No language model right now: these are the book’s own words.",
		notStored: "This answer could not be kept.",
		askSelection: "Ask about this",
		selection: "Your selection",
		removeSelection: "Remove selection",
		shortSelection: "Short selections say little; select a sentence or more.",
		cutSelection: "Long selection: only its first {n} characters are used.",
		fromSelection: "From your selection",
		notInSelection: "Not found in your selection",
		wholeBook: "Search the whole book",
		up: "Helpful",
		down: "Not helpful",
		thanks: "Thank you.",
		noStorage: "Nothing is kept in this browser: leaving the page ends the conversation.",
		stopped: "Stopped.",
		retry: "Try again",
		retryIn: "Try again in {n} s",
		offline: "You are offline.",
		unreachable: "The server cannot be reached from this page.",
		unauthorized: "This page may not ask now. Reload it, or sign in again.",
		large: "Too long: shorten the question or the selection.",
		busy: "Many are asking now.",
		unavailable: "The book cannot be searched now.",
		slow: "This took too long.",
		failed: "Something went wrong on the server.",
		refused: "This cannot be asked.",
		interrupted: "The connection broke off; the end is missing.",
	},
};

/** The words of a language, English where it lacks some; `later` is called when they come from a file of their own. */
export function wordsOf(language, later) {
	const name = (language || "en").toLowerCase();
	const short = name.split("-")[0];
	if (short === "ur" && !strings.ur) import("./widget/ur.js").then((file) => later((strings.ur = file.default)));
	const words = { ...strings.en, ...strings[short], ...strings[name] };
	const say = (key, n) => words[key].replace("{n}", n);
	return { say, lang: name, dir: /^(ar|fa|he|ps|sd|ur)\b/.test(name) ? "rtl" : "ltr" };
}
