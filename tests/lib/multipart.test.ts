import assert from "node:assert/strict";
import { test } from "node:test";
import { readFields, toParts } from "../../src/lib/form.ts";
import { FieldWatcher } from "../../src/lib/form-watcher.ts";
import { BytePattern, boundaryOf, FormError, FormFile, readForm, writeForm } from "../../src/lib/multipart.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const part = (head: string, content: string) => `--b\r\n${head}\r\n\r\n${content}\r\n`;
const field = (name: string, content: string) => part(`Content-Disposition: form-data; name="${name}"`, content);
const read = (text: string) => readForm(encode(text), "b");

test("readForm() reads fields and files in any order", () => {
  const file = 'content-disposition: form-data; name="file"; filename="a b;c.mp3"\r\nContent-Type: audio/mpeg';
  const parts = read(`${part(file, "\r\n--\r\n-b\0\xff")}${field("model", "whisper ✓")}${field("empty", "")}--b--\r\n`);
  assert.deepEqual(
    parts.map(({ name }) => name),
    ["file", "model", "empty"],
  );
  const [first, second, third] = parts.map(({ value }) => value);
  assert.ok(first instanceof FormFile);
  assert.deepEqual([first.name, first.type], ["a b;c.mp3", "audio/mpeg"]);
  assert.deepEqual(first.bytes, encode("\r\n--\r\n-b\0\xff"));
  assert.deepEqual([second, third], ["whisper ✓", ""]);
});

for (const [disposition, name] of [
  ['form-data; name="file"; filename="a%22b.wav"', "a%22b.wav"],
  ['form-data; name="file"; filename="a\\"b.wav"', 'a\\"b.wav'],
  ['form-data; filename="x; name=model"; name="file"', "x; name=model"],
  ["form-data; name=file; filename=plain.wav", "plain.wav"],
  ["form-data; name=\"file\"; filename*=UTF-8''na%C3%AFve.wav", "naïve.wav"],
  ['FORM-DATA;name="file";filename="";', ""],
] as const) {
  test(`readForm() knows the file of ${disposition}`, () => {
    const [only] = read(`${part(`Content-Disposition: ${disposition}`, "x")}--b--`);
    assert.equal(only?.name, "file");
    assert.ok(only.value instanceof FormFile);
    assert.equal(only.value.name, name);
  });
}

for (const [what, text, problem] of [
  ["nothing", "", /begin with its boundary/],
  ["a preamble", `hello\r\n${field("a", "1")}--b--`, /begin with its boundary/],
  ["another boundary", field("a", "1").replaceAll("--b", "--c"), /begin with its boundary/],
  ["no end", field("a", "1"), /boundary is malformed|cut off/],
  ["a cut part", `--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nhalf`, /cut off/],
  ["no end of a head", `--b\r\nContent-Disposition: form-data; name="a"\r\n--b--`, /headers of a part do not end/],
  ["no name", `${part("Content-Disposition: form-data", "1")}--b--`, /no name/],
  ["no disposition", `${part("Content-Type: text/plain", "1")}--b--`, /not form-data/],
  ["an attachment", `${part('Content-Disposition: attachment; name="a"', "1")}--b--`, /not form-data/],
  [
    "two names",
    `${part('Content-Disposition: form-data; name="a"; name="b"', "1")}--b--`,
    /malformed content-disposition/,
  ],
  ["an open quote", `${part('Content-Disposition: form-data; name="a', "1")}--b--`, /malformed content-disposition/],
  [
    "two dispositions",
    `${part('Content-Disposition: form-data; name="a"\r\nContent-Disposition: x', "1")}--b--`,
    /malformed headers/,
  ],
  ["a bare line feed", `${part('Content-Disposition: form-data; name="a"\nX: y', "1")}--b--`, /malformed headers/],
  ["something behind a boundary", `--b x\r\n${field("a", "1").slice(5)}--b--`, /boundary is malformed/],
  ["many parts", `${field("a", "1").repeat(1_001)}--b--`, /more than 1000 parts/],
  [
    "a long head",
    `${part(`Content-Disposition: form-data; name="a"\r\nX: ${"x".repeat(20_000)}`, "1")}--b--`,
    /too long/,
  ],
  ["a long text", `${field("a", "x".repeat(5_000_000))}--b--`, /too long/],
] as const) {
  test(`readForm() refuses ${what}`, () => {
    assert.throws(
      () => read(text),
      (error) => error instanceof FormError && problem.test(error.message),
    );
  });
}

test("BytePattern finds what stands there, wherever it stands", () => {
  for (const wanted of ["\r\n--b", "\r\n\r\n", "x", "aab", "abab"]) {
    const pattern = new BytePattern(encode(wanted));
    for (const text of ["", "\r\n--b", "\r\r\n--b\r\n--b", "a\r\n\r\r\n\r\nx", "aaab", "ababab", "abaabab", "\r\n--"]) {
      for (let from = 0; from <= text.length; from++) {
        assert.equal(
          pattern.indexIn(encode(text), from),
          text.indexOf(wanted, from),
          JSON.stringify([wanted, text, from]),
        );
      }
    }
  }
});

test("readForm() refuses a text that is not UTF-8", () => {
  const bytes = encode(`${field("a", "?")}--b--`);
  bytes[bytes.indexOf(0x3f)] = 0xff;
  assert.throws(() => readForm(bytes, "b"), /not UTF-8/);
});

test("readForm() is done soon with bytes that nearly hold the boundary", () => {
  const head = 'Content-Disposition: form-data; name="f"; filename="f"';
  const parts = readForm(encode(`${part(head, "\r\n--".repeat(500_000))}--b--`), "b");
  assert.ok(parts[0]?.value instanceof FormFile);
  assert.equal(parts[0].value.bytes.length, 2_000_000);
});

for (const [type, wanted] of [
  ["multipart/form-data; boundary=abc", "abc"],
  ['Multipart/Form-Data; charset=utf-8; boundary="a b:c"', "a b:c"],
  ["multipart/form-data", undefined],
  ["multipart/mixed; boundary=abc", undefined],
  ["multipart/form-datax; boundary=abc", undefined],
  [`multipart/form-data; boundary=${"x".repeat(71)}`, undefined],
  ["multipart/form-data; boundary=", undefined],
  ["application/json", undefined],
  [undefined, undefined],
] as const) {
  test(`boundaryOf(${JSON.stringify(type)?.slice(0, 60)})`, () => assert.equal(boundaryOf(type), wanted));
}

test("writeForm() writes what readForm() reads", () => {
  const parts = [
    { name: 'qu"ote', value: "line\r\nline ✓" },
    { name: "image[]", value: new FormFile("one.png", "image/png", Uint8Array.of(0, 13, 10, 45, 45, 98)) },
    { name: "image[]", value: new FormFile("two", undefined, new Uint8Array(0)) },
  ];
  const read = readForm(writeForm(parts, "form-1"), "form-1");
  const [first, second, third] = read.map(({ value }) => value);
  assert.deepEqual(
    read.map(({ name }) => name),
    ["qu%22ote", "image[]", "image[]"],
  );
  assert.equal(first, "line\r\nline ✓");
  assert.ok(second instanceof FormFile && third instanceof FormFile);
  assert.deepEqual([second.name, second.type, [...second.bytes]], ["one.png", "image/png", [0, 13, 10, 45, 45, 98]]);
  assert.deepEqual([third.name, third.type, third.bytes.length], ["two", "application/octet-stream", 0]);
});

test("forms written by the platform are read correctly", async () => {
  const form = new FormData();
  form.append("file", new File([Uint8Array.of(1, 2, 3)], 'näme "x".wav', { type: "audio/wav" }));
  form.append("model", "m");
  const request = new Request("http://gateway.test/", { method: "POST", body: form });
  const boundary = boundaryOf(request.headers.get("content-type") ?? undefined);
  const parts = readForm(new Uint8Array(await request.arrayBuffer()), boundary ?? "");
  assert.ok(parts[0]?.value instanceof FormFile);
  assert.deepEqual([...parts[0].value.bytes], [1, 2, 3]);
  assert.equal(parts[1]?.value, "m");
});

test("readFields() knows numbers, flags and lists", () => {
  const parts = [
    ...[
      ["n", "2"],
      ["temperature", "warm"],
      ["stream", "true"],
      ["other", "7"],
      ["granularities[]", "word"],
      ["include", "logprobs"],
      ["tag", "a"],
      ["tag", "b"],
      ["__proto__", "x"],
    ].map(([name = "", value = ""]) => ({ name, value })),
  ];
  const { fields, listNames } = readFields(parts, {
    numbers: ["n", "temperature"],
    flags: ["stream"],
    lists: ["include"],
  });
  const wanted = {
    n: 2,
    temperature: "warm",
    stream: true,
    other: "7",
    granularities: ["word"],
    include: ["logprobs"],
  };
  assert.equal(
    JSON.stringify(fields),
    `${JSON.stringify({ ...wanted, tag: ["a", "b"] }).slice(0, -1)},"__proto__":"x"}`,
  );
  assert.deepEqual(
    [...listNames],
    [
      ["granularities", "granularities[]"],
      ["include", "include"],
      ["tag", "tag"],
    ],
  );
  assert.deepEqual(toParts({ ...wanted, added: ["x"], none: null, deep: { a: 1 } }, listNames), [
    { name: "n", value: "2" },
    { name: "temperature", value: "warm" },
    { name: "stream", value: "true" },
    { name: "other", value: "7" },
    { name: "granularities[]", value: "word" },
    { name: "include", value: "logprobs" },
    { name: "added[]", value: "x" },
    { name: "deep", value: '{"a":1}' },
  ]);
});

const longFile = part('Content-Disposition: form-data; name="file"; filename="f"', "\r\n-".repeat(5_000));
const watched = [
  field("model", "m ✓"),
  part('Content-Disposition: form-data; name="small"; filename="model"', "file"),
  longFile,
  field("prompt", "x".repeat(9_000)),
  part("Content-Disposition: nonsense", "1"),
  field("stream", "true"),
].join("");

for (const size of [1, 7, 4_096, 1 << 20]) {
  test(`FieldWatcher reports the short text fields of a form that arrives ${size} bytes at a time`, () => {
    const bytes = encode(`${watched}--b--\r\n`);
    const told: string[] = [];
    const watcher = new FieldWatcher("b", (name, text) => told.push(`${name}=${text}`));
    for (let at = 0; at < bytes.length; at += size) watcher.push(bytes.subarray(at, at + size));
    assert.deepEqual(told, ["model=m ✓", "stream=true"]);
  });
}

test("FieldWatcher reads the first 1,000 parts of a form", () => {
  const parts = Array.from({ length: 1_500 }, (_, index) => field(`a${index}`, "1")).join("");
  const names: string[] = [];
  const watcher = new FieldWatcher("b", (name) => names.push(name));
  for (const at of [0, 30_000]) watcher.push(encode(`${parts}--b--\r\n`).subarray(at, at === 0 ? 30_000 : undefined));
  assert.equal(names.length, 1_000);
  assert.equal(names.at(-1), "a999");
});
