import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import * as v from "valibot";
import { basesOf, expandRepeats, LogRepeats } from "../../src/db/stores/log-repeats.ts";
import { readDeclared } from "../../src/declared/document.ts";
import { fillVariables } from "../../src/declared/environment-values.ts";
import { readYaml, writeYaml } from "../../src/declared/yaml.ts";
import { GatewayError } from "../../src/errors.ts";
import { describePages, pagesInText, toPages } from "../../src/inference/tools/found-pages.ts";
import { textOfResult } from "../../src/inference/tools/mcp-tools.ts";
import { Budget, ExcessError } from "../../src/lib/budget.ts";
import { encodeFrame } from "../../src/lib/frames.ts";
import { isObject, parseJson } from "../../src/lib/json.ts";
import { spanEnds } from "../../src/lib/json-spans.ts";
import { Link } from "../../src/lib/link.ts";
import type { Moved } from "../../src/moving/draft.ts";
import { moveLitellm } from "../../src/moving/litellm.ts";
import { moveEnvironment } from "../../src/moving/openrouter.ts";
import { readTable } from "../../src/moving/table.ts";
import { Ledger } from "../../src/policies/ledger.ts";
import { LimitHost } from "../../src/policies/owned/limit-host.ts";
import { brave } from "../../src/providers/brave/mod.ts";
import { createOperatorFactReader, readOperatorFacts } from "../../src/providers/core/operator-facts.ts";
import { exa } from "../../src/providers/exa/mod.ts";
import { searxng } from "../../src/providers/searxng/mod.ts";
import { tavily } from "../../src/providers/tavily/mod.ts";
import { configurations } from "../moving/configurations.ts";
import type { ParserCase } from "./parsers.ts";

// What the operator gives the program, what its processes send each other, and what searches answer.

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const all = (...inputs: readonly string[]) => inputs.map((text) => encoder.encode(text));
const megabyte = 2 ** 20;
const yamlBytes = 4 * megabyte;
/** Memory of the tree that is made of YAML: a hundred bytes for each token. */
const treeBytes = 96 * megabyte;
const jsonTokens = ["{", "}", "[", "]", '"', ",", ":", "[]", "{}", "null", "0", '""'];
const yamlTokens = all(
  ...jsonTokens,
  "\n",
  "\n  ",
  "- ",
  ": ",
  "? ",
  "a: ",
  "&a ",
  "*a ",
  "*a, ",
  "!!str ",
  "!x ",
  "|\n",
  ">-\n",
  "# c\n",
  "---\n",
  "...\n",
  "%YAML 1.2\n",
  "'",
  "\\u0000",
  "<<: *a\n",
  "$env: A\n",
  "\t",
  "0x1f",
  ".inf",
);

const environment: Record<string, string> = { A: "value-of-a", OPENAI_API_KEY: "fake-key-of-openai-0123" };

/** What `apply` and a start do with a file before they call the control plane. */
function declare(value: unknown): void {
  const { value: filled } = fillVariables(value, environment);
  readDeclared(filled, "the file");
}

const declared = `# a file of declared state
version: 1
organisation:
  integrations:
    openai: &one { ai_provider_id: openai, key: { $env: A }, models: { gpt-4o: { enabled: true } } }
    other: *one
  guardrails:
    no-secrets: { checks: [{ id: default.secrets }], actions: { deny: true } }
workspaces:
  default:
    usage_limits: { type: cost, credit_limit: 10, periodic_reset: monthly }
    configs:
      pc-main: { config: { strategy: { mode: fallback }, targets: [{ provider: "@openai" }, { provider: "@other" }] } }
    prompts:
      pp-hello:
        model: gpt-4o
        string: |
          Hello {{name}}
          and more
    keys:
      app: { scopes: [completions.write], rate_limits: [{ type: requests, unit: rpm, value: 60 }] }
`;

/** The configurations of a gateway as seeds, and one that moves whatever is given. */
function configurationCase(name: string, isOf: (one: string) => boolean, isJson?: true): ParserCase {
  const own = configurations.filter((one) => isOf(one.name));
  const moves: ((value: unknown) => Moved)[] = [...new Set(own.map(({ move }) => move))];
  return {
    name,
    ...(isJson && { isJson }),
    isAlone: true,
    madeBytes: treeBytes,
    seeds: all(...own.map(({ text }) => text)),
    tokens: yamlTokens,
    maxBytes: yamlBytes,
    async parse(input) {
      const value = await readYaml(input, "the file");
      for (const move of moves) {
        const { document } = move(value);
        await writeYaml(document);
      }
      return undefined;
    },
    refusals: [GatewayError],
  };
}

const search = { model: "basic", query: "q", max_results: 10, search_domain_filter: ["a.example", "-b.example/x"] };
const options = { strict: false, drop: () => undefined };
const pages = [{ title: "A", url: "https://a.example/1", snippet: "s", content: "c", text: "t", description: "d" }];
const searches = [exa, tavily, brave, searxng].map((provider) => provider.bind(() => null).operations.search);

const body = JSON.stringify({
  messages: Array.from({ length: 40 }, (_, index) => ({ role: "user", content: `${index} `.repeat(60) })),
});
const digest = (key: Uint8Array, text: string | Uint8Array) =>
  createHmac("sha256", key).update(text).digest("base64url");
/** A ULID, whose time later batches are compared by. */
const id = "01JDQ0000000000000000000AA";

/** A body in a batch of the log: shortened and expanded it is the same, also where its parts repeat. */
function storeTwice(text: string): void {
  const repeats = new LogRepeats(digest);
  const content = `[[${text.length}]]\n\n${text}`;
  const batch = {
    organisationId: "o",
    workspaceId: null,
    firstId: id,
    lastId: id,
    details: "",
    counted: "",
    charged: "",
    content,
  };
  const first = repeats.shorten(batch);
  if (first === undefined) return;
  repeats.remember(first, 1, id);
  const second = repeats.shorten(batch);
  const stored = new Map([[1, first.text]]);
  if (expandRepeats(first.text, new Map()) !== content) throw new Error("the contents differ");
  if (expandRepeats(second?.text, stored) !== content) throw new Error("the contents with references differ");
}

const limit = { id: "l", type: "requests", value: 5, window: { kind: "rolling", ms: 60_000 } };
const frames = [
  encodeFrame(["hello", 1, "1.0.0"]),
  encodeFrame(["limits.limit", 0, [1, limit]]),
  encodeFrame(["limits.reserve", 2, [1, [[1, "b", 1, 0]]]]),
  encodeFrame(["limits.settle", 0, [1, [[0, 0, 1]]]]),
  encodeFrame(["rows", 3, [{ organisationId: "o" }, false, "p"]], encoder.encode("rows of the log")),
  encodeFrame(["=", 1, null]),
];
const joined = Uint8Array.from(frames.flatMap((frame) => [...frame]));

const facts = JSON.stringify({
  openai: {
    read: "2026-01-01",
    sources: ["https://models.example.com"],
    rows: [{ match: ["a*b*c*d*", "gpt-9*"], facts: {} }],
  },
});
const slugs = new Set(["openai", "anthropic"]);
/** A name that patterns with many asterisks nearly fit. */
const longName = "ab".repeat(128);

/** Parsers of what an operator, a process of the gateway or a search gives. */
export const operatorCases: readonly ParserCase[] = [
  {
    name: "declared state",
    isAlone: true,
    madeBytes: treeBytes,
    seeds: all(declared, declared.replaceAll("{{name}}", "{{#a}}{{name}}{{/a}}")),
    tokens: yamlTokens,
    maxBytes: yamlBytes,
    async parse(input) {
      declare(await readYaml(input, "the file"));
      return undefined;
    },
    refusals: [GatewayError],
  },
  configurationCase("configurations of LiteLLM", (name) => name.startsWith("LiteLLM")),
  configurationCase("configurations of other gateways", (name) => !name.startsWith("LiteLLM")),
  {
    name: "tables of keys",
    isAlone: true,
    madeBytes: treeBytes,
    seeds: all(
      'token,key_alias,max_budget,models,expires\na1,team,10,"{a,b}",2099-01-01 00:00:00+00\nb2,"team, ""b""",1,,\n',
      JSON.stringify({
        keys: [{ key_alias: "team", max_budget: 10, spend: 1, budget_duration: "30d", models: ["a"] }],
      }),
    ),
    tokens: all(",", '"', '""', "\n", "\r\n", "x,y", "{", "}", "[]", "1e400"),
    maxBytes: 4 * megabyte,
    async parse(input) {
      const rows = readTable(decoder.decode(input), parseJson);
      moveLitellm({}, "default", { keys: rows, teams: rows });
      return undefined;
    },
    refusals: [Error],
  },
  {
    name: "environments",
    isAlone: true,
    madeBytes: treeBytes,
    seeds: all("OPENAI_API_KEY=fake\nOPENAI_BASE_URL=https://models.example.com/v1\nGROQ_API_KEY=fake\n"),
    tokens: all("=", "\n", "ANTHROPIC_API_KEY=", "GEMINI_API_KEY=x\n", "{", "$", "\\"),
    maxBytes: megabyte,
    async parse(input) {
      const lines = decoder.decode(input).split("\n").slice(0, 1_000);
      const { document } = moveEnvironment(Object.fromEntries(lines.map((line) => line.split("=", 2))), "default");
      declare(document);
      await writeYaml(document);
      return undefined;
    },
    refusals: [GatewayError],
  },
  {
    name: "tables of facts",
    isJson: true,
    seeds: all(facts),
    tokens: all(...jsonTokens, '"match":["*a*b*a*b"],', "*a", "*", '"anthropic":', '"rows":['),
    maxBytes: megabyte,
    async parse(input) {
      const budget = new Budget({ source: "caller", what: "the table", bytes: 4 * megabyte, values: 200_000 });
      const read = createOperatorFactReader(readOperatorFacts(budget.json(input)), slugs);
      read?.("openai", longName);
      return budget;
    },
    refusals: [ExcessError, SyntaxError, TypeError],
  },
  {
    name: "messages between processes",
    madeBytes: 8 * megabyte,
    seeds: [...frames, joined],
    tokens: [...frames, Uint8Array.from([0, 0, 0, 16, 0, 0, 0, 4]), Uint8Array.from([255, 255, 255, 255])],
    maxBytes: 8 * megabyte,
    async parse(input) {
      const ledger = new Ledger({ now: () => 0, onUsed: () => undefined });
      const { answers, end } = new LimitHost(ledger, () => undefined).serve();
      const link = new Link({ write: () => undefined, end }, { ...answers, hello: ({ value }) => value });
      for (let at = 0; at < input.length; at += 64 * 1024) {
        link.receive(input.slice(at, at + 64 * 1024));
        await new Promise<void>((resolve) => setTimeout(resolve, 0));
      }
      link.close();
      return undefined;
    },
    refusals: [],
  },
  {
    name: "repeated parts of the log",
    madeBytes: 4 * megabyte,
    seeds: all(body, body + body),
    tokens: all(...jsonTokens, "\ud83d\ude00", body.slice(0, 3_000), '{"bases":[1],"pieces":[[0,0,9]]}\n'),
    maxBytes: 8 * megabyte,
    async parse(input) {
      storeTwice(decoder.decode(input));
      return undefined;
    },
    refusals: [],
  },
  {
    name: "spans of long bodies",
    isJson: true,
    seeds: all(body, JSON.stringify({ contents: [{ parts: [{ text: body }] }], tools: [] })),
    tokens: all(...jsonTokens, '"}],"', '},{"', '"\\\\"', body.slice(0, 3_000)),
    maxBytes: 8 * megabyte,
    async parse(input) {
      const ends = spanEnds(input);
      assert.ok(ends?.every((end, index) => end > (ends[index - 1] ?? 0)) ?? true);
      assert.equal(ends?.at(-1) ?? input.length, input.length);
      return undefined;
    },
    refusals: [],
  },
  {
    name: "references of the log",
    isJson: true,
    seeds: all(`{"bases":[1,2],"pieces":[12,[0,0,90],[-1,3,6],[1,5,700],4]}`),
    tokens: all(...jsonTokens, ",[0,0,90]", ",[1,0,100000]", ",9", "-1", "1e9"),
    maxBytes: megabyte,
    madeBytes: 64 * megabyte,
    async parse(input) {
      const stored = `${decoder.decode(input)}\nthe text of this batch`;
      const others = new Map(basesOf(stored).map((seq) => [seq, body]));
      expandRepeats(stored, others)?.indexOf("\u0000");
      return undefined;
    },
    refusals: [],
  },
  {
    name: "answers of searches",
    isJson: true,
    seeds: all(
      JSON.stringify({ results: pages, costDollars: { total: 0.01 } }),
      JSON.stringify({ web: { results: [{ ...pages[0], extra_snippets: ["a", "b"], page_age: "2026-01-01" }] } }),
    ),
    tokens: all(
      ...jsonTokens,
      '{"title":"A","url":"https://a.example/","content":"c","text":"t"},',
      "https://a.example/",
    ),
    maxBytes: 4 * megabyte,
    async parse(input) {
      const budget = new Budget({ source: "upstream", what: "the answer" });
      const value = budget.json(input);
      for (const adapter of searches) {
        try {
          const { results } = adapter?.fromUpstream?.(value, search, options) ?? {};
          describePages("q", toPages(results));
        } catch (error) {
          if (!(error instanceof v.ValiError)) throw error;
        }
      }
      return budget;
    },
    refusals: [ExcessError, SyntaxError, TypeError],
  },
  {
    name: "results of search tools",
    seeds: all(
      JSON.stringify({ organic: [{ title: "A", link: "https://a.example/1", snippet: "s" }] }),
      "Title: A\nURL: https://a.example/1\nText\n\n**Title:** B\n- Link: https://b.example/2\n",
    ),
    tokens: all(...jsonTokens, "\n", "Title: ", "URL: https://a.example/1\n", "   ", "* ", "_", "[[", "https://"),
    maxBytes: 4 * megabyte,
    async parse(input) {
      const text = decoder.decode(input);
      describePages("q", pagesInText(text));
      const result = parseJson(text.slice(0, 64 * 1024));
      if (isObject(result)) textOfResult({ content: [result, { type: "text", text }] });
      return undefined;
    },
    refusals: [],
  },
];
