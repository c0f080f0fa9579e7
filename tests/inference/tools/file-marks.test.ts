import assert from "node:assert/strict";
import { test } from "node:test";
import { MarkCutter, withoutMarks } from "../../../src/inference/tools/file-marks.ts";
import { AnnotatedItems } from "../../../src/inference/tools/responses-annotations.ts";
import { createRandom } from "../../support/gateway.ts";

type Item = Readonly<Record<string, unknown>>;

const files = new Map([
  [1, { file_id: "a", filename: "a.md" }],
  [12, { file_id: "b", filename: "b.md" }],
]);

/** A text in pieces, and what it becomes. */
function cut(pieces: readonly string[]) {
  const cutter = new MarkCutter(files);
  const shown = pieces.map((piece) => cutter.push(piece));
  return {
    text: shown.join("") + cutter.end(),
    citations: cutter.citations.map(({ index, file_id }) => [index, file_id]),
  };
}

for (const [text, shown, citations] of [
  [
    "One 【1†source】 and two【12†L3-L9】【1†source】.",
    "One and two.",
    [
      [3, "a"],
      [11, "b"],
      [11, "a"],
    ],
  ],
  ["【1†source】", "", [[0, "a"]]],
  [
    "Others stay: 【2†source】 【1】 【†】 【12†a\nb】 【1†【1†x】】",
    "Others stay: 【2†source】 【1】 【†】 【12†a\nb】 【1†】",
    [[44, "a"]],
  ],
  ["It ends open 【1†sour", "It ends open 【1†sour", []],
  [`Long 【1†${"x".repeat(101)}】 space `, `Long 【1†${"x".repeat(101)}】 space `, []],
  ["日本語【1†出典】です【注】", "日本語です【注】", [[3, "a"]]],
] as const) {
  test(`marks of files leave a text, whatever its pieces: ${text.slice(0, 40)}`, () => {
    const wanted = { text: shown, citations };
    assert.deepEqual(cut([text]), wanted);
    assert.deepEqual(cut([...text]), wanted);
    for (let place = 0; place <= text.length; place++) {
      assert.deepEqual(cut([text.slice(0, place), text.slice(place)]), wanted, `cut at ${place}`);
    }
  });
}

test("random pieces of random signs become the same text as the whole", () => {
  const random = createRandom(7);
  const signs = ["【", "】", "†", "1", "2", " ", "a", "\n", "【1†source】", "【12†", "é"];
  for (let round = 0; round < 500; round++) {
    const parts = Array.from({ length: 30 }, () => signs[Math.floor(random() * signs.length)] ?? "");
    assert.deepEqual(cut(parts), cut([parts.join("")]), JSON.stringify(parts));
  }
});

test("no text of a file has a mark once it is shown to a model", () => {
  for (const text of ["【1†source】", "【 12 †x】", "【\n3†source】", "【【1†source】】"]) {
    assert.deepEqual(cut([withoutMarks(text)]).citations, []);
  }
  assert.equal(withoutMarks("【注】と【1】"), "【注】と【1】");
});

const rules = { annotate: () => [{ type: "url_citation" }], cutter: () => new MarkCutter(files) };
const link = { type: "url_citation", start_index: 16, end_index: 20, url: "https://a.example" };

test("annotations of the provider move to where their places are without marks", () => {
  const part = { type: "output_text", text: "A 【1†source】 fact (a).", annotations: [link] };
  const item = new AnnotatedItems(rules).ofItem({ type: "message", content: [part] });
  assert.deepEqual(item.content, [
    {
      type: "output_text",
      text: "A fact (a).",
      annotations: [
        { ...link, start_index: 5, end_index: 9 },
        { type: "file_citation", file_id: "a", filename: "a.md", index: 1 },
      ],
    },
  ]);
});

test("events of a text move too, and further annotations follow those of the provider", () => {
  const annotated = new AnnotatedItems(rules);
  const place = { output_index: 0, content_index: 0, item_id: "m" };
  const text = "A 【1†source】 fact (a).";
  const events: Item[] = [
    { type: "response.output_text.delta", ...place, delta: text.slice(0, 6) },
    { type: "response.output_text.delta", ...place, delta: text.slice(6) },
    { type: "response.output_text.annotation.added", ...place, annotation_index: 0, annotation: link },
    { type: "response.output_text.done", ...place, text },
  ];
  const shown = events.flatMap((event) => annotated.ofEvent(event));
  const deltas = shown.flatMap(({ type, delta }) => (type === "response.output_text.delta" ? [delta] : []));
  assert.equal(deltas.join(""), "A fact (a).");
  const added = shown.filter(({ type }) => type === "response.output_text.annotation.added");
  assert.deepEqual(
    added.map(({ annotation_index, annotation }) => [annotation_index, annotation]),
    [
      [0, { ...link, start_index: 5, end_index: 9 }],
      [1, { type: "file_citation", file_id: "a", filename: "a.md", index: 1 }],
    ],
  );
  assert.equal(shown.at(-1)?.text, "A fact (a).");
});
