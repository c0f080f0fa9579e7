import assert from "node:assert/strict";
import { test } from "node:test";
import { boundaryOf } from "../../src/lib/multipart.ts";
import { MultipartError, readMultipart } from "../../src/lib/multipart-stream.ts";

interface ReadPart {
  name: string;
  filename: string | undefined;
  type: string | undefined;
  text: string;
}

/** A body that comes in pieces of a length. */
function inPieces(text: string, length: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let position = 0;
  return new ReadableStream({
    pull(controller) {
      if (position >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(position, position + length));
      position += length;
    },
  });
}

async function readAll(body: ReadableStream<Uint8Array>, boundary = "b"): Promise<ReadPart[]> {
  const parts: ReadPart[] = [];
  for await (const { name, filename, type, body: content } of readMultipart(body, boundary)) {
    const decoder = new TextDecoder();
    let text = "";
    for await (const piece of content) text += decoder.decode(piece, { stream: true });
    parts.push({ name, filename, type, text });
  }
  return parts;
}

const form = [
  'preamble\r\n--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n',
  '--b\r\ncontent-type: text/plain\r\ncontent-disposition: form-data; name="file"; filename="ä \\"1%22.jsonl"\r\n\r\n',
  "first\r\n-\r\n--\r\n--a\r\nlast\r\n\r\n--b  \r\nContent-Disposition: form-data; name=empty\r\n\r\n\r\n--b--\r\nepilogue",
].join("");

const wanted: ReadPart[] = [
  { name: "purpose", filename: undefined, type: undefined, text: "batch" },
  { name: "file", filename: 'ä "1".jsonl', type: "text/plain", text: "first\r\n-\r\n--\r\n--a\r\nlast\r\n" },
  { name: "empty", filename: undefined, type: undefined, text: "" },
];

for (const length of [1, 2, 3, 5, 7, 16, 64, 10_000]) {
  test(`readMultipart() reads a form that comes ${length} bytes at a time`, async () => {
    assert.deepEqual(await readAll(inPieces(form, length)), wanted);
  });
}

test("readMultipart() skips what is not read of a part", async () => {
  const names: string[] = [];
  for await (const { name } of readMultipart(inPieces(form, 4), "b")) names.push(name);
  assert.deepEqual(names, ["purpose", "file", "empty"]);
});

test("readMultipart() reads what FormData writes", async () => {
  const data = new FormData();
  data.set("purpose", "batch");
  data.set("file", new Blob(["x".repeat(100_000)]), "a.jsonl");
  const response = new Response(data);
  const boundary = boundaryOf(response.headers.get("content-type") ?? "");
  assert.ok(response.body && boundary !== undefined);
  const parts = await readAll(response.body, boundary);
  assert.deepEqual(
    parts.map(({ name, filename, text }) => [name, filename, text.length]),
    [
      ["purpose", undefined, 5],
      ["file", "a.jsonl", 100_000],
    ],
  );
});

for (const [what, text] of [
  ["nothing", ""],
  ["no boundary", "just a text"],
  ["a part that is cut off", form.slice(0, 200)],
  ["no last boundary", form.slice(0, form.indexOf("--b--"))],
  ["a part without a name", "--b\r\ncontent-type: text/plain\r\n\r\nx\r\n--b--"],
  ["a boundary that goes on", `--bc\r\n${form.slice(form.indexOf("--b") + 5)}`],
  ["two names", '--b\r\ncontent-disposition: form-data; name="file"; filename="a"; name="purpose"\r\n\r\nx\r\n--b--'],
  ["a header twice", `--b\r\n${'content-disposition: form-data; name="x"\r\n'.repeat(2)}\r\nx\r\n--b--`],
  ["headers without end", `--b\r\n${"x".repeat(20_000)}`],
  ["too many parts", `${'--b\r\ncontent-disposition: form-data; name="x"\r\n\r\ny\r\n'.repeat(65)}--b--`],
] as const) {
  test(`readMultipart() refuses ${what}`, async () => {
    await assert.rejects(readAll(inPieces(text, 50)), MultipartError);
  });
}

for (const [written, name] of [
  ['filename="a; name=\\"purpose\\".txt"', 'a; name="purpose".txt'],
  ['filename="a%22b.txt"', 'a"b.txt'],
  ["filename*=utf-8''%C3%A4%20b.txt; filename=\"a b.txt\"", "ä b.txt"],
  ["filename=plain.txt", "plain.txt"],
] as const) {
  test(`readMultipart() reads the name in ${written}`, async () => {
    const text = `--b\r\ncontent-disposition: form-data; name="file"; ${written}\r\n\r\nx\r\n--b--`;
    const [part] = await readAll(inPieces(text, 7));
    assert.deepEqual([part?.name, part?.filename], ["file", name]);
  });
}
