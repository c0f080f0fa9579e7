import assert from "node:assert/strict";
import { test } from "node:test";
import { toAnchor } from "../../site/anchors.ts";
import { findProblems } from "../../site/checks.ts";
import { navigation } from "../../site/navigation.ts";
import { readPages } from "./pages.ts";

const paths = navigation.flatMap(({ pages }) => pages.map(({ path }) => path));

test("the navigation of the site has every page once", () => {
  const pages = readPages().map(({ path }) => path);
  assert.deepEqual(paths.toSorted(), [...pages, "CHANGELOG.md", "CONTRIBUTING.md"].sort());
});

test("two headings with the same words have different anchors", () => {
  const taken = new Map<string, number>();
  assert.deepEqual(
    ["Set up `x`", "Limits", "Limits"].map((heading) => toAnchor(heading, taken)),
    ["set-up-x", "limits", "limits-1"],
  );
});

/** A site with one page whose main part is given. */
const siteOf = (html: string) => new Map([["index.html", `<main id="content">${html}</main>`]]);

test("the build refuses links that lead to no page or no heading", () => {
  const links =
    '<a href="gone.html">1</a><a href="#gone">2</a><a href="index.html#content">3</a><a href="https://example.com">4</a>';
  assert.deepEqual(findProblems(siteOf(links), 0), [
    "index.html: the link gone.html leads nowhere",
    "index.html: the link #gone leads nowhere",
  ]);
});

test("the build refuses tables that are shown as characters", () => {
  assert.deepEqual(findProblems(siteOf("<p>| a | b |</p>"), 0), ["index.html: no table: <p>| a | b |</p></main>"]);
  assert.deepEqual(findProblems(siteOf("<pre><code>\n| a | b |\n</code></pre>"), 0), []);
});

test("the build refuses a first page of more than 200 KB with what it loads", () => {
  assert.deepEqual(findProblems(siteOf("a".repeat(100_000)), 99_000), []);
  assert.match(findProblems(siteOf("a".repeat(100_000)), 101_000)[0] ?? "", /more than 200000$/);
});
