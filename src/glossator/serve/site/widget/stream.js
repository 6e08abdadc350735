/** Calls to the server, and what can go wrong with them, under names that a reader can be told. */
const SILENCE = 30_000;
const RESUMES = 2;
const KINDS = { 401: "unauthorized", 403: "unauthorized", 413: "large", 429: "busy", 503: "unavailable", 504: "slow" };

/** A failure: `kind` names the words for it, `seconds` when to try again, `detail` is what the server said. */
export class Trouble extends Error {
	constructor(kind, seconds = 0, detail = "") {
		super(kind);
		Object.assign(this, { kind, seconds, detail });
	}
}

/** One call; anything but success is a Trouble. */
export async function call(chat, path, { method = "GET", body, headers = {}, signal } = {}) {
	const token = chat.getAttribute("token");
	if (body) headers["Content-Type"] = "application/json";
	if (token) headers.Authorization = `Bearer ${token}`;
	const given = { method, headers, body: body && JSON.stringify(body), signal, credentials: "omit" };
	const response = await fetch(new URL(path, chat.endpoint), given).catch(() => {
		throw signal?.aborted ? signal.reason : new Trouble(navigator.onLine ? "unreachable" : "offline");
	});
	if (response.ok) return response;
	const said = await response.json().catch(() => null);
	const long = /TOO_LONG$/.test(said?.error_code) && "large";
	const kind = KINDS[response.status] ?? (long || (response.status < 500 ? "refused" : "failed"));
	const seconds = Math.min(3600, +response.headers.get("Retry-After") || 0);
	throw new Trouble(kind, seconds, kind === "refused" ? String(said?.message ?? "").slice(0, 500) : "");
}

/** Ask, and hand over each event; a broken stream is taken up where it stopped. */
export async function ask(chat, body, stop, on) {
	let last = "";
	for (let attempt = 0; ; attempt++) {
		const quiet = new AbortController();
		stop.onabort = () => quiet.abort(stop.reason);
		try {
			const headers = last ? { "Last-Event-ID": last } : {};
			const response = await patient(quiet, call(chat, "chat/stream", { method: "POST", body, headers, signal: quiet.signal }));
			for await (const event of events(response.body.getReader(), quiet)) {
				last = event.id ?? last;
				if (event.event === "error") throw new Trouble("failed");
				on(event.event, event.data);
				if (event.event === "done") return;
			}
			throw new Trouble("interrupted");
		} catch (error) {
			if (stop.aborted) throw stop.reason;
			const broken = !error.kind || error.kind === "interrupted" || (last && error.kind === "unreachable");
			if (!broken) throw error;
			if (!last || attempt === RESUMES) throw new Trouble("interrupted");
			await new Promise((resolve) => setTimeout(resolve, 300 * 2 ** attempt));
		}
	}
}

/** Wait, but not for ever: the server sends a sign of life every few seconds. */
async function patient(quiet, promise) {
	const timer = setTimeout(() => quiet.abort(new Trouble("slow")), SILENCE);
	try {
		return await promise;
	} catch (error) {
		throw quiet.signal.reason ?? error;
	} finally {
		clearTimeout(timer);
	}
}

async function* events(reader, quiet) {
	const decoder = new TextDecoder();
	for (let held = ""; ; ) {
		const { done, value } = await patient(quiet, reader.read());
		if (done) return;
		const parts = (held + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
		held = parts.pop();
		for (const part of parts) {
			const event = Object.fromEntries(part.split(/\r?\n/).map((line) => line.split(/: ?(.*)/s)));
			if (event.data) yield { ...event, data: JSON.parse(event.data) };
		}
	}
}
