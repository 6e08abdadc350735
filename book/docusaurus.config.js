// @ts-check
import remarkMath from 'remark-math';
import rehypeKatex from 'rehype-katex';

/** @type {import('@docusaurus/types').Config} */
const config = {
  title: 'Physical AI: Bodies, Balance and Behaviour',
  tagline: 'How robots with bodies sense, move, plan and learn',
  url: 'https://physical-ai.example.org',
  baseUrl: '/',
  onBrokenLinks: 'throw',
  onBrokenAnchors: 'throw',
  i18n: {defaultLocale: 'en-GB', locales: ['en-GB']},
  // .mdx files are read as MDX, plain .md files as CommonMark.
  markdown: {format: 'detect'},
  // The style sheet and fonts that KaTeX output needs, bundled with the site.
  clientModules: [require.resolve('katex/dist/katex.min.css')],

  presets: [
    [
      'classic',
      /** @type {import('@docusaurus/preset-classic').Options} */
      ({
        docs: {
          path: 'docs',
          routeBasePath: '/',
          sidebarPath: './sidebars.js',
          remarkPlugins: [remarkMath],
          rehypePlugins: [rehypeKatex],
        },
        blog: false,
      }),
    ],
  ],

  themeConfig:
    /** @type {import('@docusaurus/preset-classic').ThemeConfig} */
    ({
      navbar: {
        title: 'Physical AI',
        items: [
          {type: 'docSidebar', sidebarId: 'book', position: 'left', label: 'Book'},
        ],
      },
      footer: {
        style: 'dark',
        copyright:
          'Text and figures: <a href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a>',
      },
      prism: {additionalLanguages: ['bash', 'lisp']},
    }),
};

export default config;
