/** The pages of the book: the menu shows the current entry. */
const menu = document.getElementById("contents");
const current = menu?.querySelector("[aria-current]");
const showCurrent = () => {
	menu.scrollTop += current.getBoundingClientRect().top - menu.getBoundingClientRect().top - menu.clientHeight / 2;
};
if (current) {
	showCurrent();
	menu.addEventListener("toggle", showCurrent);
}
