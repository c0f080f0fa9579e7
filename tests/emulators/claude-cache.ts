// The prompt cache of Claude: https://platform.claude.com/docs/en/build-with-claude/prompt-caching, as read in November 2026.

import { createHash } from "node:crypto";
import { isObject } from "../../src/lib/json.ts";
import { type EmulatedRequest, type Members, type Memory, objectsOf } from "./emulator.ts";

/** Fewest tokens of a prefix that is cached, by model; below it marks have no effect. */
const leastTokens: readonly (readonly [RegExp, number])[] = [
  [/claude-(?:opus-5|fable|mythos-5)/, 512],
  [/claude-(?:opus-4-[56]|haiku-4-5)/, 4_096],
  [/claude-(?:opus-4-7|3-5-haiku|haiku-3)/, 2_048],
];
const usualLeast = 1_024;
/** Blocks before a mark, itself included, in which an earlier prefix is found. */
const lookBack = 20;

/** One block of a prompt, and whether a prefix ends with it. */
interface Block {
  text: string;
  isMarked: boolean;
}

const isMarked = ({ cache_control: control }: Members): boolean => isObject(control);

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([name]) => name !== "cache_control");
  return Object.fromEntries(entries.map(([name, one]) => [name, withoutMarks(one)]));
}

const toBlock = (value: Members, place: string): Block => ({
  text: place + JSON.stringify(withoutMarks(value)),
  isMarked: isMarked(value),
});

/** Blocks of a content; a string is one. */
const blocksOf = (content: unknown): Members[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);

/** The prompt in the order in which it is cached: tools, system, messages. */
function promptOf({ body, model }: EmulatedRequest): Block[] {
  const tools = objectsOf(body.tools).filter((tool) => tool.defer_loading !== true);
  // these change what was cached of messages alone
  const settings = JSON.stringify([body.tool_choice ?? null, body.thinking ?? null]);
  const blocks = [
    ...tools.map((tool) => toBlock(tool, `${model} tool `)),
    ...blocksOf(body.system).map((block) => toBlock(block, `${model} system `)),
    ...objectsOf(body.messages).flatMap(({ role, content }) =>
      blocksOf(content).map((block) => toBlock(block, `${model} ${settings} ${role} `)),
    ),
  ];
  const last = blocks.at(-1);
  // a mark of the request is one of its last block
  if (isMarked(body) && last) last.isMarked = true;
  return blocks;
}

const tokensOf = ({ text }: Block): number => Math.ceil(text.length / 4);

/** Counts of a request, by what the cache holds of its prompt. Its marked prefixes are in the cache afterwards. */
export function countInput(request: EmulatedRequest, { prefixes }: Memory): Members {
  const least = leastTokens.find(([models]) => models.test(request.model))?.[1] ?? usualLeast;
  const hash = createHash("sha256");
  let tokens = 0;
  const ends = promptOf(request).map((block) => {
    hash.update(`${block.text}\n`);
    tokens += tokensOf(block);
    return { isMarked: block.isMarked, tokens, digest: hash.copy().digest("base64") };
  });
  let [read, written] = [0, 0];
  for (const [index, end] of ends.entries()) {
    if (!end.isMarked) continue;
    const before = ends.slice(Math.max(0, index + 1 - lookBack), index + 1);
    const found = before.findLast(({ digest }) => prefixes.has(digest));
    read = Math.max(read, found?.tokens ?? 0);
    if (end.tokens >= least) written = end.tokens;
  }
  for (const end of ends) if (end.isMarked && end.tokens >= least) prefixes.add(end.digest);
  const cached = Math.max(read, written);
  return {
    input_tokens: tokens - cached,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: cached - read,
    output_tokens: 12,
  };
}
