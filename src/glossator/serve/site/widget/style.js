/** The styles of the chat. A page sets the variables of the first rule on `glossator-chat`, or styles its `::part(…)`s. */
import { create } from "./nodes.js";

const DARK = `--accent: #2f6fd0; --ground: #1b1f24; --ink: #e6e9ed; --soft: #a5adb8; --line: #3b424b; --shade: #2a3038;
--link: #8db9ff; --bad: #ff8b8b; color-scheme: dark;`;
const STYLES = `
:host { --accent: #1a56b0; --on-accent: #fff; --ground: #fff; --ink: #1c2127; --soft: #586069; --line: #d5dae1;
--shade: #f2f5f9; --link: #1a56b0; --bad: #a4262c; --font: 15px/1.5 system-ui, sans-serif; --layer: 2147483000;
color-scheme: light; display: block !important; position: fixed; z-index: var(--layer); }
.root { all: initial; font: var(--font); color: var(--ink); color-scheme: inherit; }
@media (prefers-color-scheme: dark) { :host(:not([theme=light])) { ${DARK} } }
:host([theme=dark]) { ${DARK} }
:host([hidden]), [hidden] { display: none !important; }
* { box-sizing: border-box; }
button, textarea { font: inherit; color: inherit; background-color: var(--ground); border: 1px solid var(--line); border-radius: 8px; }
button { cursor: pointer; padding: 4px 10px; }
button:disabled { color: var(--soft); }
button:hover:enabled { filter: brightness(.93); }
:focus-visible { outline: 2px solid var(--link); }
a, .mark { color: var(--link); }
.icon { border: 0; padding: 7px; line-height: 0; }
svg { width: 16px; fill: none; stroke: currentColor; stroke-width: 1.5; }
.down svg { rotate: 180deg; }
.launcher, .offer, .send { background-color: var(--accent); color: var(--on-accent); border: 0; padding: 9px 16px; }
.launcher, .offer, .panel, .card { position: fixed; box-shadow: 0 4px 20px #0005; }
.launcher, .offer { border-radius: 24px; }
.launcher, .panel { bottom: 20px; inset-inline: auto 20px; }
.left > .launcher, .left > .panel { inset-inline: 20px auto; }
.panel, .card { background-color: var(--ground); border: 1px solid var(--line); border-radius: 12px; }
.panel { width: min(420px, 100vw - 40px); height: min(640px, 100vh - 40px); display: flex; flex-direction: column; overflow: hidden; }
header, .bar, .compose { display: flex; align-items: center; gap: 6px; }
header { padding: 8px 14px; border-bottom: 1px solid var(--line); }
h2 { flex: 1; margin: 0; font-size: 1em; }
.log { flex: 1; padding: 12px 14px; overscroll-behavior: contain; }
.message { content-visibility: auto; contain-intrinsic-size: auto 90px; margin-bottom: 14px; overflow-wrap: anywhere; }
p, ul, ol, blockquote, pre, table { margin: 0 0 8px; }
ul, ol { padding-inline: 22px; }
.question { background-color: var(--shade); border-radius: 12px; padding: 8px 12px; margin-bottom: 8px; margin-inline-start: 32px; }
.note, .label, .quote { color: var(--soft); }
.note, .label, .quote, .sources, .card, pre, table { font-size: 13px; }
.label { font-weight: 600; }
.quote, .trouble { border-inline-start: 3px solid var(--accent); padding-inline-start: 10px; }
.quote { max-height: 4.5em; }
.quote, .question { white-space: pre-wrap; }
.log, .quote, .table, pre, q { overflow: auto; }
.trouble { border-color: var(--bad); }
.mark { font-size: 12px; font-weight: 600; padding: 0 4px; border: 0; border-radius: 4px; background-color: var(--shade); }
.copy:not(.icon) { float: right; font-size: 12px; }
.verbatim { white-space: pre-wrap; }
.sources p { margin: 2px 0 6px; color: var(--soft); }
.sources ul { padding-inline: 18px 0; }
.done { color: var(--link); }
.example { text-align: start; margin-bottom: 6px; color: var(--link); }
li:has(.example) { list-style: none; margin-inline-start: -22px; }
math[display=block] { overflow: auto hidden; }
mtd[columnalign=left] { text-align: left; } mtd[columnalign=right] { text-align: right; }
[mathvariant|=bold] { font-weight: 700; }
pre { clear: both; background-color: var(--shade); padding: 10px; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: 3px 8px; text-align: start; overflow-wrap: break-word; }
.card, .offer { z-index: 1; }
.card { max-width: min(340px, 100vw - 24px); padding: 10px 12px; }
q { display: block; max-height: 9em; }
footer { border-top: 1px solid var(--line); padding: 10px 14px; }
textarea { flex: 1; resize: none; padding: 8px 10px; border-color: var(--soft); field-sizing: content; max-height: 9em; }
.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media (max-width: 767px) {
.root.root > .panel { inset: 0; width: auto; height: auto; border: 0; border-radius: 0; }
textarea { font-size: 16px; } .icon { padding: 12px; } }`;
const HIGHLIGHT = "::highlight(glossator) { background-color: #ffe066; color: #111; }";
let styles, highlight;

/** Apply the styles to a shadow root, as sheets that a policy against inline styles allows. */
export function applyStyles(root) {
	if (!root.adoptedStyleSheets) return root.append(create("style", {}, STYLES));
	const sheetOf = (rules) => {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync(rules);
		return sheet;
	};
	styles ??= sheetOf(STYLES);
	root.adoptedStyleSheets = [styles];
	if (!highlight) document.adoptedStyleSheets = [...document.adoptedStyleSheets, (highlight = sheetOf(HIGHLIGHT))];
}
