import assert from "node:assert/strict";
import { test } from "node:test";
import { joinVersioned } from "../../src/providers/version-path.ts";

for (const [base, path, wanted] of [
  ["https://api.example.com/v1", "/files", "https://api.example.com/v1/files"],
  ["https://api.example.com/v1", "/v2/videos", "https://api.example.com/v2/videos"],
  ["https://api.example.com/v1/", "/v2/videos/a?b=c", "https://api.example.com/v2/videos/a?b=c"],
  ["https://api.example.com", "/v2/videos", "https://api.example.com/v2/videos"],
  ["https://api.example.com/api/v3", "/v2/videos", "https://api.example.com/api/v2/videos"],
  ["https://api.example.com/v1", "/v1/files", "https://api.example.com/v1/v1/files"],
  ["https://api.example.com/v1", "/v2", "https://api.example.com/v1/v2"],
  ["https://api.example.com/v1", "/v20/videos", "https://api.example.com/v1/v20/videos"],
] as const) {
  test(`joinVersioned() joins ${base} and ${path}`, () => {
    assert.equal(joinVersioned(base, path), wanted);
  });
}
