import assert from "node:assert/strict";
import { test } from "node:test";
import { readDataUrl } from "../../src/lib/data-url.ts";

for (const [url, wanted] of [
  ["data:image/png;base64,AA==", { type: "image/png", isBase64: true, data: "AA==" }],
  ["DATA:Image/PNG;name=a;BASE64,AA", { type: "image/png", isBase64: true, data: "AA" }],
  ["data:;base64,AA", { type: "", isBase64: true, data: "AA" }],
  ["data:text/plain,a,b", { type: "text/plain", isBase64: false, data: "a,b" }],
  ["data:image/png;base64", undefined],
  ["https://example.com/data:,", undefined],
  ["", undefined],
] as const) {
  test(`readDataUrl() reads ${JSON.stringify(url)}`, () => assert.deepEqual(readDataUrl(url), wanted));
}
