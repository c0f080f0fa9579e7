import { escapeHtml } from "./anchors.ts";
import { navigation, type Section } from "./navigation.ts";
import { type RenderedPage, siteFileOf } from "./render.ts";

/** An entry of the navigation as a file of the site. */
interface Link {
  readonly file: string;
  readonly title: string;
}

function toLinks({ pages }: Section): Link[] {
  return pages.map(({ path, title }) => ({ file: siteFileOf(path), title }));
}

function listOf(links: readonly Link[], current: string): string {
  const items = links.map(({ file, title }) => {
    const mark = file === current ? ' aria-current="page"' : "";
    return `<li><a href="${file}"${mark}>${escapeHtml(title)}</a></li>`;
  });
  return `<ul>${items.join("")}</ul>`;
}

function navigationOf(current: string, reference: readonly Link[]): string {
  const sections = [
    ...navigation.map((section) => ({ title: section.title, links: toLinks(section) })),
    { title: "API reference", links: reference },
  ];
  return sections
    .map(({ title, links }) => {
      const isOpen = title === "Start" || title === "How to" || links.some(({ file }) => file === current);
      return `<details${isOpen ? " open" : ""}><summary>${escapeHtml(title)}</summary>${listOf(links, current)}</details>`;
    })
    .join("\n");
}

function outlineOf({ outline }: RenderedPage): string {
  if (outline.length < 2) return "";
  const items = outline.map(({ anchor, heading }) => `<li><a href="#${anchor}">${escapeHtml(heading)}</a></li>`);
  return `<nav class="outline" aria-label="On this page"><p>On this page</p><ul>${items.join("")}</ul></nav>`;
}

/** The HTML of a file of the site. */
export function layOut(file: string, page: RenderedPage, reference: readonly Link[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(file === "index.html" ? page.title : `${page.title} · AI gateway`)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
<script src="site.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="index.html">AI gateway</a>
<div class="search" role="search"><input id="search" type="search" placeholder="Search" aria-label="Search" autocomplete="off" aria-controls="found">
<ul id="found" hidden></ul></div>
</header>
<div class="columns">
<nav class="pages" aria-label="Pages">
${navigationOf(file, reference)}
</nav>
<main id="content">
${page.html}
</main>
${outlineOf(page)}
</div>
</body>
</html>
`;
}
