import assert from "node:assert/strict";
import { test } from "node:test";
import * as rules from "./support/architecture.ts";
import { consoleLayers } from "./support/console-rules.ts";
import { foreignInput } from "./support/foreign-input.ts";
import * as providerRules from "./support/provider-words.ts";
import * as repositoryRules from "./support/repository-rules.ts";
import { readSourceFiles, type SourceFile, tokenize, toSourceFile } from "./support/source-files.ts";

/** Whether a file is a source of a package: its tests and its benchmark may use a runtime. */
const isOfPackage = ({ path }: SourceFile) => /^packages\/[^/]+\/src\//.test(path);

const sources = [...readSourceFiles("src"), ...readSourceFiles("packages").filter(isOfPackage)];
const consoleSources = readSourceFiles("console/src").filter(({ path }) => path !== "mod.ts");
const repository = readSourceFiles("packages", "src", "tests", "scripts", "bench", "examples", "site");

test("the sources are found", () => {
  assert.ok(sources.some(({ path }) => path.startsWith("src/lib/")));
});

for (const [name, rule] of Object.entries({ ...rules, ...providerRules, foreignInput })) {
  test(`the sources keep the rule ${name}`, () => {
    assert.deepEqual(rule(sources), []);
  });
}

for (const [name, rule] of Object.entries(repositoryRules)) {
  test(`the repository keeps the rule ${name}`, () => {
    assert.deepEqual(rule(repository), []);
  });
}

for (const [name, rule] of Object.entries({ consoleLayers, cycles: rules.cycles })) {
  test(`the console keeps the rule ${name}`, () => {
    assert.deepEqual(rule(consoleSources.filter(({ path }) => !path.endsWith(".gen.ts"))), []);
  });
}

/** Breaches a rule finds in files given as path and text. */
function breaches(rule: rules.Rule, files: Readonly<Record<string, string>>): string[] {
  return rule(Object.entries(files).map(([path, text]) => toSourceFile(path, text)));
}

for (const [path, text, wanted] of [
  [
    "src/lib/a.ts",
    'import { x } from "../errors.ts";',
    ["src/lib/a.ts:1: lib imports errors (../errors.ts), a higher layer"],
  ],
  [
    "src/cache/a.ts",
    'import type { X } from "../logs/b.ts";',
    ["src/cache/a.ts:1: cache imports logs (../logs/b.ts), its sibling"],
  ],
  [
    "src/errors.ts",
    'import "./schemas/chat.ts";',
    ["src/errors.ts:1: errors imports schemas (./schemas/chat.ts), its sibling"],
  ],
  [
    "src/providers/openai/mod.ts",
    '\nexport { x } from "../../routing/plan.ts";',
    ["src/providers/openai/mod.ts:2: providers imports routing (../../routing/plan.ts), its sibling"],
  ],
  [
    "src/gateway.ts",
    'const s = await import("./serve/bun.ts");',
    ["src/gateway.ts:1: gateway imports serve (./serve/bun.ts), a higher layer"],
  ],
  ["src/gateway.ts", 'import x from "../mod.ts";', ["src/gateway.ts:1: gateway imports from outside src (../mod.ts)"]],
  ["src/gateway.ts", 'import x from "gateway";', ["src/gateway.ts:1: gateway imports from outside src (gateway)"]],
  ["src/misc/a.ts", "", ['src/misc/a.ts: "misc" has no layer']],
  [
    "packages/a/src/a.ts",
    'import { x } from "../../../src/lib/a.ts";',
    ["packages/a/src/a.ts:1: packages imports lib (../../../src/lib/a.ts), a higher layer"],
  ],
  ["src/lib/a.ts", 'import { x } from "../../packages/a/src/a.ts";', []],
  [
    "src/providers/openai/mod.ts",
    'import { x } from "../call.ts"; import { y } from "../../lib/json.ts"; import * as v from "valibot";',
    [],
  ],
  ["src/serve/bun.ts", 'import { x } from "../settings.ts"; import { y } from "../gateway.ts";', []],
  ["mod.ts", 'import { x } from "./src/serve/bun.ts"; export { y } from "./src/gateway.ts";', []],
] as const) {
  test(`layering finds ${wanted.length} in ${path}: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(breaches(rules.layering, { [path]: text }), wanted);
  });
}

for (const [path, text, wanted] of [
  [
    "src/inference/target/a.ts",
    'import { x } from "../call/b.ts";',
    ["src/inference/target/a.ts:1: imports ../call/b.ts, a higher folder of inference"],
  ],
  ["src/inference/call/a.ts", 'import { x } from "../target/b.ts"; import { y } from "./c.ts";', []],
  ["src/inference/other/a.ts", "", ["src/inference/other/a.ts: its folder has no place in inference"]],
  ["src/admin/endpoints.ts", 'import { x } from "./scim/endpoints.ts";', []],
  [
    "src/admin/core/a.ts",
    'import { x } from "../endpoints.ts";',
    ["src/admin/core/a.ts:1: imports ../endpoints.ts, a higher folder of admin"],
  ],
  ["src/providers/bedrock/mod.ts", 'import { x } from "../anthropic/chat.ts";', []],
  [
    "src/providers/shared/a.ts",
    'import { x } from "../anthropic/chat.ts";',
    ["src/providers/shared/a.ts:1: imports ../anthropic/chat.ts, a higher folder of providers"],
  ],
] as const) {
  test(`folderOrder finds ${wanted.length} in ${path}: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(breaches(rules.folderOrder, { [path]: text }), wanted);
  });
}

for (const [path, text, wanted] of [
  [
    "console/src/resources/a.ts",
    'import type { B } from "@/pages/pages.ts";',
    ["console/src/resources/a.ts:1: imports @/pages/pages.ts, a higher folder of the console"],
  ],
  [
    "console/src/pages/prompts/a.ts",
    'const a = () => import("../logs/b.tsx");',
    ["console/src/pages/prompts/a.ts:1: imports ../logs/b.tsx, a higher folder of the console"],
  ],
  ["console/src/other/a.ts", "", ["console/src/other/a.ts: its folder has no place in the console"]],
  ["console/src/pages/pages.ts", 'const a = () => import("./logs/b.tsx");', []],
  [
    "console/src/records/a.ts",
    'import { b } from "@/resources/types.ts"; import { useQuery } from "@tanstack/react-query";',
    [],
  ],
] as const) {
  test(`consoleLayers finds ${wanted.length} in ${path}: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(breaches(consoleLayers, { [path]: text }), wanted);
  });
}

for (const [text, wanted] of [
  ["observer.observe = (block) => note(observe(block));", "observe"],
  ["x.y.map = async (event: Event): Promise<void> => {};", "map"],
  ["x.end = function () {};", "end"],
  ["x.end ??= async () => {};", "end"],
  ["x.read = read => read;", "read"],
  ["x.read = reader.read.bind(reader);", "read"],
  ["list[0].read = () => 1;", "read"],
] as const) {
  test(`replacedMethods finds: ${text}`, () => {
    assert.deepEqual(breaches(rules.replacedMethods, { "src/lib/a.ts": text }), [
      `src/lib/a.ts:1: assigns a function to ${wanted}`,
    ]);
  });
}

for (const text of [
  "this.#wake = () => {};",
  "x.count = (a + b) * 2; x.end = done(); x.last = found ? (a) : b;",
  "const x = { end: () => 1 }; x.end === (() => 1);",
  "x.text = reader.read(bytes); x.list = list.map((one) => one);",
]) {
  test(`replacedMethods passes: ${text}`, () => {
    assert.deepEqual(breaches(rules.replacedMethods, { "src/lib/a.ts": text }), []);
  });
}

test("credentialLists finds a second list of headers with credentials, and passes one header", () => {
  const list = 'const names = ["x-api-key", "x-goog-api-key"];';
  const found = ["src/logs/a.ts: lists x-api-key, x-goog-api-key instead of using lib/secret-names.ts"];
  assert.deepEqual(breaches(rules.credentialLists, { "src/logs/a.ts": list }), found);
  assert.deepEqual(breaches(rules.credentialLists, { "src/logs/a.ts": 'const name = "x-api-key";' }), []);
});

test("cycles finds a cycle of the console, components and its own paths included", () => {
  const files = {
    "console/src/resources/a.tsx": 'import { b } from "@/pages/b.ts";',
    "console/src/pages/b.ts": 'import type { A } from "../resources/a.tsx";',
  };
  assert.deepEqual(breaches(rules.cycles, files), [
    "console/src/resources/a.tsx -> console/src/pages/b.ts -> console/src/resources/a.tsx",
  ]);
});

test("cycles finds a cycle of imports, type imports included", () => {
  const files = {
    "src/lib/a.ts": 'import type { B } from "./b.ts";',
    "src/lib/b.ts": 'export { c } from "./c.ts";',
    "src/lib/c.ts": 'const a = () => import("./a.ts");',
    "src/lib/d.ts": 'import "./a.ts";',
  };
  assert.deepEqual(breaches(rules.cycles, files), ["src/lib/a.ts -> src/lib/b.ts -> src/lib/c.ts -> src/lib/a.ts"]);
  assert.deepEqual(breaches(rules.cycles, { "src/lib/d.ts": files["src/lib/d.ts"], "src/lib/a.ts": "" }), []);
});

for (const [text, wanted] of [
  ["Bun.serve({});", "names Bun"],
  ["const home = Deno.env.get('HOME');", "names Deno"],
  ["if (typeof process !== 'undefined') run();", "names process"],
  ["const env = globalThis.process?.env;", "names process"],
  ["const x = a ? process.env : {};", "names process"],
  ["const { env } = process;", "names process"],
  ["const b = Buffer.from(text);", "names Buffer"],
  ["const here = __dirname;", "names __dirname"],
  ["const fs = require('x');", "names require"],
  ["const t = `${`${process.pid}`}`;", "names process"],
  ['import { readFileSync } from "node:fs";', 'imports "node:fs"'],
  ['import { readFileSync } from "fs";', 'imports "fs"'],
  ['type X = import("bun").Server;', 'imports "bun"'],
] as const) {
  test(`runtimeUse finds: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(breaches(rules.runtimeUse, { "src/lib/a.ts": text }), [`src/lib/a.ts:1: ${wanted}`]);
    assert.deepEqual(breaches(rules.runtimeUse, { "src/serve/a.ts": text }), []);
  });
}

for (const text of [
  "// Bun.serve, process.env, require('x')",
  "/* Deno.env\n */ const x = 1;",
  'const x = "process.env" + \'Buffer.from\' + `require("y") ${x} Bun.serve`;',
  "const x = /process.env['\"`]/.test(y);",
  "const x = { process: 1, Buffer: 2 }; x.process.y();",
  "interface X { process(text: string): string; readonly Buffer: 1 }",
  "const half = total / 2; // process / 2",
]) {
  test(`runtimeUse passes: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(breaches(rules.runtimeUse, { "src/lib/a.ts": text }), []);
  });
}

for (const [text, wanted] of [
  ["const r = await fetch(url);", "uses fetch"],
  ["const r = ok ? fetch(url) : none;", "uses fetch"],
  ["run(globalThis.fetch);", "uses fetch"],
  ["const send = options.fetch ?? fetch;", "uses fetch"],
  ["function f(send = fetch) {}", "uses fetch"],
  ["const s = new WebSocket(url);", "uses WebSocket"],
  ['import { request } from "node:https";', 'imports "node:https"'],
  ['import net from "net";', 'imports "net"'],
  ['const u = await import("undici");', 'imports "undici"'],
  ['const r = await import("ioredis");', 'imports "ioredis"'],
] as const) {
  test(`outboundCalls finds: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(breaches(rules.outboundCalls, { "src/providers/a.ts": text }), [
      `src/providers/a.ts:1: ${wanted}`,
    ]);
    assert.deepEqual(breaches(rules.outboundCalls, { "src/lib/outbound.ts": text, "src/serve/a.ts": text }), []);
  });
}

for (const text of [
  "export interface Gateway { fetch(request: Request): Promise<Response>; }",
  "return { fetch: handle, async fetch(request) { return handle(request); } };",
  "const r = await gateway.fetch(request);",
  "type Send = typeof fetch;",
  '// fetch(url)\nconst x = "fetch(url)";',
]) {
  test(`outboundCalls passes: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(breaches(rules.outboundCalls, { "src/gateway.ts": text }), []);
  });
}

for (const [text, wanted] of [
  ['import { configs } from "../db/tables/configs.ts";', ['src/admin/a.ts:1: imports "../db/tables/configs.ts"']],
  ['import { eq } from "drizzle-orm";', ['src/admin/a.ts:1: imports "drizzle-orm"']],
  ['import type { ConfigRow } from "../db/tables/configs.ts";', []],
] as const) {
  test(`tablesInStores finds ${wanted.length} in: ${text}`, () => {
    assert.deepEqual(breaches(rules.tablesInStores, { "src/admin/a.ts": text }), wanted);
    assert.deepEqual(breaches(rules.tablesInStores, { "src/db/stores/a.ts": text }), []);
  });
}

test("longFiles finds a file of 501 lines, not one of 500 or a schema", () => {
  const text = (lines: number): string => "x;\n".repeat(lines);
  const files = {
    "src/lib/long.ts": text(501),
    "src/lib/right.ts": text(500),
    "src/schemas/chat.ts": text(501),
    "src/db/tables/logs.ts": text(501),
    "src/providers/registry.ts": text(501),
  };
  assert.deepEqual(breaches(rules.longFiles, files), ["src/lib/long.ts: 501 lines"]);
});

for (const text of [
  'export * from "./a.ts";',
  'export { a } from "./a.ts";\nexport type { B } from "./b.ts";',
  'import { a } from "./a.ts";\nexport { a };',
]) {
  test(`barrels finds: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(breaches(rules.barrels, { "src/lib/index.ts": text }), ["src/lib/index.ts: only re-exports"]);
    assert.deepEqual(breaches(rules.barrels, { "mod.ts": text }), []);
  });
}

test("barrels passes a file with a declaration", () => {
  const text = 'import { a } from "./a.ts";\nexport { b } from "./b.ts";\nexport const c = a;\n';
  assert.deepEqual(breaches(rules.barrels, { "src/lib/c.ts": text }), []);
});

for (const text of ["export default 1;", "const x = 1;\nexport { x as default };"]) {
  test(`defaultExports finds: ${JSON.stringify(text)}`, () => {
    const line = text.split("\n").length;
    assert.deepEqual(breaches(rules.defaultExports, { "src/lib/a.ts": text }), [
      `src/lib/a.ts:${line}: default export`,
    ]);
    assert.deepEqual(breaches(rules.defaultExports, { "mod.ts": text }), []);
  });
}

test("defaultExports passes a default import and a default case", () => {
  const text = 'import { default as x } from "y";\nswitch (x) { default: run(); }\n';
  assert.deepEqual(breaches(rules.defaultExports, { "src/lib/a.ts": text }), []);
});

for (const [text, wanted] of [
  ["const a = { ...{ b, c }, d };", 1],
  ["const a = [1, ...[2, 3]];", 1],
  ["run(...[a, b]);", 1],
  ["const a = { ...(b ? { c } : {}), ...d };", 0],
  ["const a = [...[b, c].map(f), ...d];", 0],
  ["const a = [...[b, c] as const];", 0],
] as const) {
  test(`literalSpreads finds ${wanted} in: ${text}`, () => {
    assert.equal(breaches(repositoryRules.literalSpreads, { "tests/a.test.ts": text }).length, wanted);
  });
}

test("unusedExports finds what no file imports, types included", () => {
  const files = {
    "src/lib/a.ts": "export const a = 1;\nexport async function b() {}\nexport interface C {}\nexport type D = C;",
    "src/lib/b.ts": 'import { type C, a as x } from "./a.ts";',
    "src/lib/c.ts": "export class E {}\nexport function* f() {}",
    "src/db/tables/g.ts": "export const g = 1;",
    "tests/lib/c.test.ts": 'const { E } = await import("../../src/lib/c.ts");',
  };
  assert.deepEqual(breaches(repositoryRules.unusedExports, files), [
    "src/lib/a.ts:2: nothing imports b",
    "src/lib/a.ts:4: nothing imports D",
  ]);
});

for (const [text, wanted] of [
  ["function f(a: A, b: B, c: C, d: D, e: E): void {}", 1],
  ["const f = (a, b, c, d, e) => a;", 1],
  ["class A { f({ a, b, c }: X, d: Map<K, V>, e = [1, 2, 3], ...g: G[]) {} }", 0],
  ["if (f(a, b, c, d, e)) { g(a, b, c, d, e); }", 0],
] as const) {
  test(`longParameterLists finds ${wanted} in: ${text}`, () => {
    assert.equal(breaches(rules.longParameterLists, { "src/lib/a.ts": text }).length, wanted);
  });
}

for (const [path, text, wanted] of [
  ["src/inference/a.ts", "function f(context: CallerContext, services: Services) {}", 1],
  ["src/admin/a.ts", "const f = async ({ clock }: Services): Promise<void> => {};", 1],
  ["src/inference/a.ts", 'function f({ clock }: Pick<Services, "clock">) {}', 0],
  ["src/gateway/a.ts", "function f(services: Services) {}", 0],
] as const) {
  test(`servicesBelowRows finds ${wanted} in ${path}: ${text}`, () => {
    assert.equal(breaches(rules.servicesBelowRows, { [path]: text }).length, wanted);
  });
}

for (const [path, text, wanted] of [
  ["src/gateway/a.ts", 'const keyless = new Set(["ollama"]);', ["src/gateway/a.ts:1: names the provider ollama"]],
  [
    "src/admin/a.ts",
    'const of = { bedrock: 1, "vertex-ai": 2 };',
    ["src/admin/a.ts:1: names the provider bedrock", "src/admin/a.ts:1: names the provider vertex-ai"],
  ],
  ["src/providers/a.ts", 'const slug = "openai";', []],
  ["src/routing/a.ts", 'const a = { passthrough: "openai" };', ["src/routing/a.ts:1: names the provider openai"]],
  ["src/inference/a.ts", 'const a = openai ? "an openai" : x.openai; // "openai"', []],
] as const) {
  test(`providerSlugs finds ${wanted.length} in ${path}: ${text}`, () => {
    assert.deepEqual(breaches(providerRules.providerSlugs, { [path]: text }), wanted);
  });
}

for (const [text, wanted] of [
  ['const a = "aws_region";', ["aws_region"]],
  ['const a = ["aws-region", "x-gateway-azure-resource-name"];', ["aws-region", "x-gateway-azure-resource-name"]],
  ["const a = { modal_key: 1 };", ["modal_key"]],
  ['const a = "azure_region";', ["azure_region"]],
  ["const a = b.aws_region; // aws_region", []],
] as const) {
  test(`providerSettings finds ${wanted.length} in: ${text}`, () => {
    const found = wanted.map((name) => `src/logs/a.ts:1: names the setting ${name}`);
    assert.deepEqual(breaches(providerRules.providerSettings, { "src/logs/a.ts": text }), found);
  });
}

test("tokenize() counts lines and distinguishes division from regular expressions", () => {
  const text = 'a / b / c;\n// "\nx = /["/]\\//g;\n`a${b + `c${{ d: 1 }}`}e`;\nlast';
  assert.deepEqual(
    tokenize(text).map(({ kind, text: content, line }) => `${line} ${kind} ${content}`),
    [
      "1 word a",
      "1 sign /",
      "1 word b",
      "1 sign /",
      "1 word c",
      "1 sign ;",
      "3 word x",
      "3 sign =",
      '3 regex ["/]\\/',
      "3 word g",
      "3 sign ;",
      "4 string a",
      "4 word b",
      "4 sign +",
      "4 string c",
      "4 sign {",
      "4 word d",
      "4 sign :",
      "4 word 1",
      "4 sign }",
      "4 string ",
      "4 string e",
      "4 sign ;",
      "5 word last",
    ],
  );
});

for (const [text, isFound] of [
  ["const value = JSON.parse(text);", true],
  ["const { parse } = JSON;", true],
  ['const value = JSON["parse"](text);', true],
  ["const text = JSON.stringify(value);", false],
  ["const text = await response.text();", true],
  ["const value = await (await send()).json();", true],
  ["const view = new DataView(bytes.buffer);", true],
  ["const reader = body.getReader();", true],
  ["for (let at = 0; at < text.length; at++) sum += text.charCodeAt(at);", true],
  ["const value = budget.json(bytes);", false],
  ["const value = parseJson(text);", false],
] as const) {
  test(`foreignInput ${isFound ? "finds" : "allows"} ${text}`, () => {
    const found = breaches(foreignInput, { "src/mcp/new.ts": `import "x";\n${text}` });
    assert.equal(found.length, isFound ? 1 : 0, found.join());
  });
}

test("foreignInput finds lines of its list that are not true", () => {
  const path = "src/mcp/event-relay.ts";
  assert.deepEqual(breaches(foreignInput, { [path]: "const a = 1;" }), [
    `${path}: is listed, but reads nothing by hand`,
  ]);
  assert.deepEqual(breaches(foreignInput, { [path]: "const reader = body.getReader(); EventBlocks;" }), [
    `${path}: its bound "createMessageBudget" does not occur in it`,
  ]);
});
