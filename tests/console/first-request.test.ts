import assert from "node:assert/strict";
import { test } from "node:test";
import { type FirstRequestKind, writeFirstRequest } from "../../console/src/lib/first-request.ts";

const model = `@a/x'; touch "$HOME" \`id\`\n`;
const request = { origin: "https://gateway.example", model, key: undefined };

test("writeFirstRequest() quotes the name of a model for the shell, for programs and for TOML", () => {
  const quoted: Readonly<Record<FirstRequestKind, string>> = {
    curl: JSON.stringify({ model }).slice(1, -1).replaceAll("'", "'\\''"),
    python: `model=${JSON.stringify(model)},`,
    typescript: `model: ${JSON.stringify(model)},`,
    anthropic: `model=${JSON.stringify(model)},`,
    claude: `ANTHROPIC_MODEL='${model.replaceAll("'", "'\\''")}'\n`,
    codex: `model = ${JSON.stringify(model)}\n`,
  };
  for (const [kind, part] of Object.entries(quoted) as [FirstRequestKind, string][]) {
    const written = writeFirstRequest(kind, request);
    assert.ok(written.includes(part), written);
    assert.match(written, /GATEWAY_KEY/);
    assert.match(writeFirstRequest(kind, { ...request, key: "gw-not-a-real-key" }), /gw-not-a-real-key/);
  }
});
