import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeJsonText, type JsonPlace, jsonStart, readJsonText } from "../../src/lib/json-text.ts";

const value = { 'a"\\b': "tab\there \u00e9 \u{1f600} / end\\", list: [1, -2.5e3, true, null, ""] };
const written = JSON.stringify(value).replace(
  /[^ -~]/g,
  (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
);

test("JSON text that is cut anywhere reads the same, and its characters are written as they came", () => {
  const whole = decodeJsonText(written, jsonStart).text;
  assert.match(whole, /tab\there \u00e9 \u{1f600} \/ end/u);
  for (let first = 0; first <= written.length; first++) {
    for (const second of [first, first + 1, first + 3, first + 7]) {
      const pieces = [written.slice(0, first), written.slice(first, second), written.slice(second)];
      let place: JsonPlace = jsonStart;
      let text = "";
      let again = "";
      for (const piece of pieces) {
        const read = readJsonText(piece, place);
        const decoded = decodeJsonText(piece, place);
        assert.deepEqual(decoded.place, read.place);
        ({ place } = read);
        text += decoded.text;
        again += read.characters.map((one) => one.written).join("");
      }
      assert.equal(again, written);
      assert.equal(text, whole);
      assert.equal(place.isInside, false);
    }
  }
});
