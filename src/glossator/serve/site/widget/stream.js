/** Requests to the server. Errors carry the key of a text that explains them to the user. */
const SILENCE_TIMEOUT_MS = 30_000;
const MAX_RESUMES = 2;
const RESUME_DELAY_MS = 300;
const ERROR_KINDS = { 401: "unauthorized", 403: "unauthorized", 413: "large", 429: "busy", 503: "unavailable", 504: "slow" };

/** Statuses of requests that fail again when they are repeated. */
const FINAL_STATUSES = [400, 404, 405, 413, 415, 421, 422, 431];

/** A failed request: `kind` is the key of its text, `seconds` the delay before a retry, `detail` the server's message. */
export class RequestError extends Error {
	constructor(kind, seconds = 0, detail = "", final = false) {
		super(kind);
		Object.assign(this, { kind, seconds, detail, final });
	}
}

let readerToken = "";

/** A token for a page of the server itself, where reading is public; empty if the server grants none. */
async function requestToken(chat, signal) {
	const options = { method: "POST", headers: { "Content-Type": "application/json" }, signal, credentials: "omit" };
	const response = await fetch(new URL("widget/token", chat.endpoint), { ...options, body: JSON.stringify({ origin: location.origin }) });
	return response.ok ? (await response.json()).token : "";
}

/** Send a request; anything but success throws a RequestError. */
export async function call(chat, path, options = {}) {
	try {
		return await send(chat, path, options);
	} catch (error) {
		const mayRequest = error.kind === "unauthorized" && chat.hasAttribute("local") && !chat.getAttribute("token");
		readerToken = mayRequest ? await requestToken(chat, options.signal).catch(() => "") : readerToken;
		if (!mayRequest || !readerToken) throw error;
		return await send(chat, path, options);
	}
}

async function send(chat, path, { method = "GET", body, headers = {}, signal } = {}) {
	const token = chat.getAttribute("token") || (chat.hasAttribute("local") ? readerToken : "");
	if (body) headers["Content-Type"] = "application/json";
	if (token) headers.Authorization = `Bearer ${token}`;
	const options = { method, headers, body: body && JSON.stringify(body), signal, credentials: "omit" };
	const response = await fetch(new URL(path, chat.endpoint), options).catch(() => {
		throw signal?.aborted ? signal.reason : new RequestError(navigator.onLine ? "unreachable" : "offline");
	});
	if (response.ok) return response;
	const problem = await response.json().catch(() => null);
	const tooLong = /TOO_LONG$/.test(problem?.error_code) && "large";
	const kind = ERROR_KINDS[response.status] ?? (tooLong || (response.status < 500 ? "refused" : "failed"));
	const seconds = Math.min(3600, +response.headers.get("Retry-After") || 0);
	const detail = kind === "refused" ? String(problem?.message ?? "").slice(0, 500) : "";
	throw new RequestError(kind, seconds, detail, FINAL_STATUSES.includes(response.status));
}

/** Ask a question and pass on each event; an interrupted stream is resumed. */
export async function ask(chat, body, signal, onEvent) {
	let lastId = "";
	for (let attempt = 0; ; attempt++) {
		const controller = new AbortController();
		signal.onabort = () => controller.abort(signal.reason);
		try {
			const headers = lastId ? { "Last-Event-ID": lastId } : {};
			const response = await withTimeout(controller, call(chat, "chat/stream", { method: "POST", body, headers, signal: controller.signal }));
			for await (const event of events(response.body.getReader(), controller)) {
				lastId = event.id ?? lastId;
				if (event.event === "error") throw new RequestError("failed");
				onEvent(event.event, event.data);
				if (event.event === "done") return;
			}
			throw new RequestError("interrupted");
		} catch (error) {
			if (signal.aborted) throw signal.reason;
			const interrupted = !error.kind || error.kind === "interrupted" || (lastId && error.kind === "unreachable");
			if (!interrupted) throw error;
			if (!lastId || attempt === MAX_RESUMES) throw new RequestError("interrupted");
			await new Promise((resolve) => setTimeout(resolve, RESUME_DELAY_MS * 2 ** attempt));
		}
	}
}

/** Wait with a timeout: the server sends a heartbeat every few seconds. */
async function withTimeout(controller, promise) {
	const timer = setTimeout(() => controller.abort(new RequestError("slow")), SILENCE_TIMEOUT_MS);
	try {
		return await promise;
	} catch (error) {
		throw controller.signal.reason ?? error;
	} finally {
		clearTimeout(timer);
	}
}

async function* events(reader, controller) {
	const decoder = new TextDecoder();
	for (let buffer = ""; ; ) {
		const { done, value } = await withTimeout(controller, reader.read());
		if (done) return;
		const parts = (buffer + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
		buffer = parts.pop();
		for (const part of parts) {
			const event = Object.fromEntries(part.split(/\r?\n/).map((line) => line.split(/: ?(.*)/s)));
			if (event.data) yield { ...event, data: JSON.parse(event.data) };
		}
	}
}
