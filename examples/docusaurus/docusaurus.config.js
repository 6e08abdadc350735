// @ts-check

// Where `glossator serve` answers. Nothing else in this site knows the address: the chat asks the server it was loaded from.
const glossator = process.env.GLOSSATOR_URL ?? 'http://127.0.0.1:8000';

/** @type {import('@docusaurus/types').Config} */
const config = {
  title: 'Physical AI, in short',
  url: 'https://physical-ai.example.org',
  baseUrl: '/',
  onBrokenLinks: 'throw',
  onBrokenAnchors: 'throw',

  // Loads the chat ...
  scripts: [{src: `${glossator}/widget.js`, type: 'module'}],
  // ... and puts it on every page.
  clientModules: ['./src/chat.js'],

  presets: [
    [
      'classic',
      /** @type {import('@docusaurus/preset-classic').Options} */
      ({
        docs: {routeBasePath: '/'},
        blog: false,
        theme: {customCss: './src/css/custom.css'},
      }),
    ],
  ],

  themeConfig:
    /** @type {import('@docusaurus/preset-classic').ThemeConfig} */
    ({
      colorMode: {respectPrefersColorScheme: true},
      navbar: {title: 'Physical AI, in short'},
    }),
};

export default config;
