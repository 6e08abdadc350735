// Runs once, when the first page has loaded. The chat stands in <body>, beside the part that React draws,
// so going from page to page does not touch it.
if (typeof document !== 'undefined' && !document.querySelector('glossator-chat')) {
  const page = document.documentElement;
  const chat = document.createElement('glossator-chat');
  const follow = () => chat.setAttribute('theme', page.dataset.theme === 'dark' ? 'dark' : 'light');
  follow();
  new MutationObserver(follow).observe(page, {attributeFilter: ['data-theme']});
  document.body.append(chat);
}
