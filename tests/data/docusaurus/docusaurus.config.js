export default {
  title: 'Tricky', url: 'https://tricky.example.org', baseUrl: '/',
  onBrokenLinks: 'warn', onBrokenAnchors: 'warn',
  markdown: {format: 'detect'},
  presets: [['classic', {docs: {path: 'docs', routeBasePath: '/', sidebarPath: './sidebars.js'}, blog: false}]],
};
