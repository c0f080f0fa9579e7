import { type Body, jsonBodies } from "./bodies.ts";
import type { Case } from "./cases.ts";

/** Requests at once, and what they may add to the memory of the process. */
export interface MemoryCase {
  name: string;
  bodies(): Body[];
  /** A small request of the same kind; the others differ from it in their bodies. */
  warm: Case;
  /** What the upstream answers, where it is not the usual. */
  answer?(): string;
  mostBytes: number;
}

const megabyte = 2 ** 20;
const hello = JSON.stringify({
  model: "m",
  max_tokens: 9,
  input: "Hello",
  messages: [{ role: "user", content: "Hello" }],
});
const encoder = new TextEncoder();
const chat = (path: string, provider: string): Case => ({
  name: path,
  method: "POST",
  path,
  key: "workspace",
  headers: { "x-gateway-provider": provider },
  body: () => ({ json: hello, bytes: encoder.encode(hello), headers: { "content-type": "application/json" } }),
});
const make = (kind: string, bytes: number): Body => jsonBodies[kind]?.(bytes) ?? { bytes: new Uint8Array() };
/** The bound of one request: so much beyond four times its decoded size. */
const boundOf = (bytes: number) => 64 * megabyte + 4 * bytes;

const one = (name: string, kind: string, [path, provider]: readonly [string, string]): MemoryCase => ({
  name,
  bodies: () => [make(kind, 20 * megabyte)],
  warm: chat(path, provider),
  mostBytes: boundOf(20 * megabyte),
});

/** Memory of one request, and of many at once. */
export const memoryCases: readonly MemoryCase[] = [
  one("one chat of 20 MiB", "one long text", ["/v1/chat/completions", "openai"]),
  one("one chat of 20 MiB to another dialect", "one long text", ["/v1/chat/completions", "anthropic"]),
  one("one message of 20 MiB over chat", "one long text", ["/v1/messages", "openai"]),
  {
    name: "one answer of 40 MiB",
    bodies: () => [make("one long text", 1_000)],
    warm: chat("/v1/chat/completions", "openai"),
    answer: () =>
      JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content: "x".repeat(40 * megabyte) } }] }),
    // the answer itself, of which the upstream of the test makes a text and bytes
    mostBytes: boundOf(40 * megabyte) + 2 * 40 * megabyte,
  },
  {
    name: "24 compressed chats of 24 MiB at once",
    bodies: () => Array.from({ length: 24 }, () => make("compressed at a high ratio", 24 * megabyte)),
    warm: chat("/v1/chat/completions", "openai"),
    mostBytes: 256 * megabyte,
  },
  {
    name: "16 chats of 20 MiB at once",
    bodies: () => Array.from({ length: 16 }, () => make("one long text", 20 * megabyte)),
    warm: chat("/v1/chat/completions", "openai"),
    // what one key may hold, four times, and the requests themselves: their bodies wait in copies the runtime makes of them
    mostBytes: boundOf(128 * megabyte) + 3 * 16 * 20 * megabyte,
  },
];
