import { BoundedMap } from "../lib/bounded-map.ts";
import { fnv1a } from "../lib/fnv.ts";
import { isObject } from "../lib/json.ts";
import type { RequestFacts } from "./conditions.ts";
import type { ConfigNode } from "./config.ts";

/** Remembers the target chosen for a group of requests. */
export interface StickyStore {
  /** Index of the target; undefined when unknown or expired. */
  get(key: string): number | undefined;
  set(key: string, index: number, ttlSeconds: number): void;
}

/** A store that also remembers what other processes chose. */
interface FollowingStickyStore extends StickyStore {
  follow(choice: StickyChoice): void;
}

/** A choice, for the other processes of a gateway. */
export interface StickyChoice {
  readonly key: string;
  readonly index: number;
  readonly ttlSeconds: number;
}

/** Most remembered choices. */
const maxChoices = 50_000;

/**
 * Creates an in-memory store; use does not extend an entry's life.
 *
 * @param publish Receives choices for the other processes of the gateway. Absent: no others run.
 */
export function createStickyStore(now: () => number, publish?: (choice: StickyChoice) => void): FollowingStickyStore {
  const choices = new BoundedMap<string, { index: number; until: number }>(maxChoices);
  const follow = ({ key, index, ttlSeconds }: StickyChoice) =>
    choices.set(key, { index, until: now() + ttlSeconds * 1_000 });
  return {
    get(key) {
      const choice = choices.get(key);
      if (choice && choice.until > now()) return choice.index;
      if (choice) choices.delete(key);
      return undefined;
    },
    set(key, index, ttlSeconds) {
      const choice = { key, index, ttlSeconds };
      follow(choice);
      publish?.(choice);
    },
    follow,
  };
}

/** Request properties that group requests. */
interface RequestTraits {
  facts: RequestFacts;
  /** By lower-case name. */
  headers: { get(name: string): string | undefined };
}

function readPathOf(value: unknown, names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (holder, name) => (isObject(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined),
    value,
  );
}

function fieldOf(field: string, { facts, headers }: RequestTraits): unknown {
  const [root = "", ...names] = field.split(".");
  if (root === "headers") return headers.get(names.join(".").toLowerCase());
  if (root === "metadata") return readPathOf(facts.metadata, names) ?? readPathOf(facts.metadata, [names.join(".")]);
  return readPathOf(facts.params, names);
}

/** Longest field that a key contains unchanged. */
const maxFieldLength = 256;

/** A short form of a text for keys in memory: a long text becomes its length and hashes. */
function shorten(text: string): string {
  if (text.length <= maxFieldLength) return text;
  const hashes = [0x811c9dc5, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35].map((seed) => hashText(text, seed).toString(36));
  return [text.length, ...hashes].join("-");
}

/** The part of a sticky key that comes from the request; missing fields are left out. */
export function stickyFields(fields: readonly string[], traits: RequestTraits): string[] {
  return fields.flatMap((field) => {
    const value = fieldOf(field, traits);
    return value === undefined || value === null ? [] : [`${field}:${shorten(JSON.stringify(value))}`];
  });
}

/** Headers that name a session; the first one present is used. */
const sessionHeaders = ["x-gateway-session-id", "x-session-id", "session-id", "session_id"];
/** Characters of each part of a prompt that identify a conversation. */
const prefixLength = 4_096;

/** The messages up to the first user message, which stay the same while a conversation grows. */
function promptPrefix(params: Readonly<Record<string, unknown>>): string {
  const { messages, contents, prompt, input, system, instructions, systemInstruction } = params;
  const list = [messages, contents, input].find((one) => Array.isArray(one));
  const end = list?.findIndex((message) => isObject(message) && message.role === "user") ?? 0;
  const first = list?.slice(0, Math.max(end, 0) + 1) ?? [prompt ?? input];
  const parts = [system, instructions, systemInstruction, ...first].map((part) =>
    JSON.stringify(part ?? null).slice(0, prefixLength),
  );
  return parts.join("\n");
}

/** Identifies the conversation of a request: by session header, cache key, or the beginning of its prompt. */
export function conversationOf({ facts, headers }: RequestTraits): string {
  const session = sessionHeaders.map((name) => headers.get(name)).find((value) => value !== undefined);
  if (session !== undefined) return `session:${session}`;
  const { prompt_cache_key: key } = facts.params;
  return typeof key === "string" ? `key:${key}` : `prompt:${promptPrefix(facts.params)}`;
}

/** A 32-bit hash (FNV-1a with MurmurHash3's final mixing). */
function hashText(text: string, seed?: number): number {
  let hash = fnv1a(text, seed);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number in (0, 1) derived from a text. */
function toUnit(text: string): number {
  return (hashText(text) + 1) / (2 ** 32 + 2);
}

/**
 * The target of a conversation, proportional to the weights (weighted rendezvous hashing): when a target is removed, only
 * its conversations move.
 */
export function pickByAffinity(targets: readonly ConfigNode[], conversation: string): ConfigNode | undefined {
  let best: { target: ConfigNode; score: number } | undefined;
  for (const target of targets) {
    if (target.weight === 0) continue;
    const score = -target.weight / Math.log(toUnit(`${target.path} ${conversation}`));
    if (!best || score > best.score) best = { target, score };
  }
  return best?.target;
}
