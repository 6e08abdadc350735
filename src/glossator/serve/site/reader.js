/** The pages of the book: the menu shows the current entry, and copied formulas are TeX. */
const menu = document.getElementById("contents");
const showCurrent = () => {
	const current = menu.querySelector("[aria-current]");
	if (current) menu.scrollTop += current.getBoundingClientRect().top - menu.getBoundingClientRect().top - menu.clientHeight / 2;
};
if (menu) {
	showCurrent();
	menu.addEventListener("toggle", showCurrent);
}

document.addEventListener("copy", (event) => {
	const selection = document.getSelection();
	const copied = document.createElement("div");
	for (let at = 0; at < selection.rangeCount; at++) copied.append(selection.getRangeAt(at).cloneContents());
	const formulas = copied.querySelectorAll("math");
	if (!formulas.length) return;
	for (const formula of formulas) {
		const tex = formula.querySelector("annotation")?.textContent ?? formula.textContent;
		formula.replaceWith(formula.getAttribute("display") ? `$$ ${tex} $$` : `$${tex}$`);
	}
	for (const block of copied.querySelectorAll("p, li, tr, h1, h2, h3, h4, h5, h6, pre, div")) block.append("\n");
	event.clipboardData.setData("text/plain", copied.textContent.trim());
	event.preventDefault();
});
