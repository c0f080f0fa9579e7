import type { Rule } from "./architecture.ts";
import type { SourceFile, Token } from "./source-files.ts";

/** How the input of a file is bounded. */
type Bound =
  /** Names that occur in the file: its budget, or the reader whose limits it uses. */
  | { readonly within: readonly string[] }
  /** The case of `tests/adversarial/parsers.ts` that reads with it: all its work is linear in input of bounded size. */
  | { readonly tried: string }
  /** It reads what the gateway wrote. */
  | { readonly own: string }
  /** It reads short text, or only converts what others have bounded. */
  | { readonly short: string };

const within = (...names: readonly string[]): Bound => ({ within: names });
const tried = (name: string): Bound => ({ tried: name });
const own = (what: string): Bound => ({ own: what });
const short = (what: string): Bound => ({ short: what });

const steps = within("Steps");

/** Files that read bytes or characters by hand, parse JSON or read streams, each with what bounds its input. */
const readers: Readonly<Record<string, Bound>> = {
  "src/admin/api-keys/api-key-record.ts": own("scopes of a row"),
  "src/admin/core/json-column.ts": own("a copy of a value"),
  "src/admin/evals/answer-seal.ts": own("a sealed answer"),
  "src/admin/evals/example-files.ts": own("examples of a version"),
  "src/admin/scim/filter.ts": tried("SCIM filters"),
  "src/auth/authenticate.ts": own("scopes of a row"),
  "src/cache/memory-tier.ts": own("keys of entries"),
  "src/lib/header-text.ts": own("a header that it writes"),
  "src/mcp/registry/mcp-sync.ts": own("what JSON.stringify wrote"),
  "src/mcp/registry/merge-capabilities.ts": own("what JSON.stringify wrote"),
  "src/mcp/registry/oauth/external-tokens.ts": within("GuardedFetch"),
  "src/mcp/registry/oauth/signing-keys.ts": own("keys of the gateway"),
  "src/mcp/registry/oauth/upstream-client.ts": within("GuardedFetch"),
  "src/mcp/registry/oauth/upstream-discovery.ts": within("GuardedFetch"),
  "src/mcp/registry/upstream-client.ts": within("Budget", "maxAnswerBytes"),
  "src/control/stored-responses.ts": own("sealed responses"),
  "src/control/vector-stores/block-seal.ts": own("sealed blocks"),
  "src/inference/vectors/chunks.ts": within("Budget"),
  "src/inference/vectors/html-text.ts": within("Budget"),
  "src/db/remote-client.ts": own("answers of the database, which the driver reads"),
  "src/db/stores/log-batches.ts": own("rows of the log"),
  "src/db/stores/log-repeats.ts": tried("repeated parts of the log"),
  "src/db/stores/logs.ts": own("results of hooks"),
  "src/endpoint/body.ts": within("scanJson", "readBytes"),
  "src/moving/table.ts": tried("tables of keys"),
  "src/declared/yaml.ts": tried("declared state"),
  "src/declared/api.ts": own("answers of the control plane"),
  "src/gateway/crew.ts": own("rows of the log"),
  "src/gateway/snapshot/seal.ts": own("what a master key has sealed"),
  "src/guardrails/call.ts": short("whether a header is Latin-1"),
  "src/guardrails/checks/pii.ts": within("ValueFinder"),
  "src/guardrails/checks/regex-replace.ts": steps,
  "src/guardrails/checks/sentence-count.ts": within("work"),
  "src/guardrails/json-pieces.ts": steps,
  "src/guardrails/strings/coded-files.ts": short("whether a string of a body is base64"),
  "src/guardrails/partners/client.ts": own("what JSON.stringify wrote"),
  "src/guardrails/values/checksums.ts": short("a number that was found"),
  "src/guardrails/values/finder.ts": steps,
  "src/guardrails/values/national-ids.ts": short("a place that the finder found"),
  "src/guardrails/values/personal-values.ts": short("a place that the finder found"),
  "src/guardrails/values/restoring.ts": short("text that the window holds"),
  "src/guardrails/values/secret-kinds.ts": short("a place that the finder found"),
  "src/inference/batches/provider-batch.ts": within("maxStoredLength"),
  "src/inference/call/renewed-call.ts": within("maxReason"),
  "src/inference/call/upstream-body.ts": within("findJsonExcess", "readBytes"),
  "src/inference/ingest/otlp-protobuf.ts": tried("Protocol Buffers"),
  "src/inference/passthrough/passthrough.ts": within("smallBodyBytes"),
  "src/inference/passthrough/upload.ts": within("countBytes", "smallBodyBytes"),
  "src/inference/pipeline/answer-code.ts": within("maxBeginning", "maxParsed"),
  "src/inference/pipeline/media.ts": within("countBytes"),
  "src/inference/routes/replay.ts": own("a header that it writes"),
  "src/inference/tools/tool-stream.ts": within("createStreamBudget", "EventBlocks"),
  "src/inference/guard/restore-reply.ts": short("whole events that the relay cut"),
  "src/inference/stream/byte-relay.ts": short("bytes are forwarded unread"),
  "src/inference/stream/event-relay.ts": within("Pace", "EventCutter"),
  "src/inference/stream/stream-framing.ts": within("maxStart"),
  "src/lib/arguments-watch.ts": within("maxPlainLength", "parseJson"),
  "src/lib/audio-duration.ts": tried("audio files"),
  "src/lib/aws-events.ts": tried("messages of AWS"),
  "src/lib/base64.ts": short("linear in text that is bounded where it is read"),
  "src/lib/body.ts": tried("compressed bodies"),
  "src/lib/budget.ts": tried("key sets"),
  "src/lib/columns.ts": own("the index of the log"),
  "src/lib/dictionary.ts": own("the index of the log"),
  "src/lib/frames.ts": tried("messages between processes"),
  "src/lib/fnv.ts": short("linear in text that is bounded where it is read"),
  "src/lib/gzip.ts": own("a body that it compresses"),
  "src/lib/hash.ts": short("linear in text that is bounded where it is read"),
  "src/lib/ids.ts": own("ids"),
  "packages/json-schema/src/check.ts": tried("JSON schemas"),
  "src/lib/json.ts": tried("JSON"),
  "src/lib/multipart-stream.ts": tried("forms in pieces"),
  "src/lib/multipart.ts": tried("forms"),
  "packages/patterns/src/automaton.ts": tried("patterns"),
  "packages/patterns/src/prefix.ts": tried("patterns"),
  "packages/patterns/src/program.ts": tried("patterns"),
  "packages/patterns/src/search.ts": tried("patterns"),
  "packages/patterns/src/size.ts": tried("patterns"),
  "src/lib/protobuf.ts": tried("Protocol Buffers"),
  "src/lib/json-spans.ts": tried("spans of long bodies"),
  "src/lib/received-json.ts": short("linear in a body that was scanned and parsed"),
  "src/lib/sse.ts": tried("events of providers"),
  "src/lib/stream-end.ts": short("bytes are forwarded unread"),
  "src/lib/text-search.ts": steps,
  "packages/websocket-frames/src/frames.ts": tried("frames of WebSockets"),
  "src/lib/wildcards.ts": tried("tables of facts"),
  "src/logs/index/fields.ts": own("ids of rows"),
  "src/logs/follow/cursor.ts": short("a cursor of some bytes"),
  "src/logs/charged.ts": own("a column of the log"),
  "src/logs/ascii-shadow.ts": short("linear in a body, of which the log has the beginning"),
  "src/logs/seal.ts": own("a batch of rows"),
  "src/logs/secret-members.ts": steps,
  "src/logs/spill.ts": own("a batch of rows"),
  "src/mcp/bridge/listening.ts": short("bytes are forwarded unread"),
  "src/mcp/bridge/read-answer.ts": within("createMessageBudget", "EventBlocks"),
  "src/mcp/event-relay.ts": within("createMessageBudget", "EventBlocks"),
  "src/mcp/joined-listening.ts": within("createStreamBudget", "EventBlocks"),
  "src/mcp/oauth/identity.ts": own("a header that it writes"),
  "src/observability/otlp/protobuf.ts": own("it writes"),
  "src/observability/otlp/spans.ts": own("results of hooks"),
  "src/observability/rows.ts": own("a batch of rows"),
  "src/policies/owned/limit-host.ts": own("increments of the log"),
  "src/providers/auth/aws-machine.ts": own("what JSON.stringify wrote"),
  "src/providers/auth/aws-sts.ts": own("what JSON.stringify wrote"),
  "src/providers/auth/private-key.ts": short("a setting"),
  "src/providers/echo/mod.ts": short("linear in text that is bounded where it is read"),
  "src/providers/shared/embeddings.ts": own("it writes"),
  "src/providers/shared/speech.ts": own("it writes"),
  "src/serve/broken-body.ts": short("bytes are forwarded unread"),
  "src/serve/logs-command.ts": own("what the gateway of the operator answers"),
  "src/serve/node.ts": short("bytes are forwarded unread"),
  "src/serve/served-gateway.ts": own("what the gateway of the operator answers"),
  "src/serve/serving.ts": own("what the gateway answers itself"),
  "src/serve/transport-streams.ts": short("bytes are forwarded, and bounded where they are read"),
  "src/serve/websocket-node.ts": own("a response of the gateway"),
};

/** Methods of responses and requests that read any number of bytes. */
const wholeReaders = new Set(["text", "json", "arrayBuffer", "formData", "blob", "bytes"]);
/** Words by which code reads bytes, characters or streams by hand. */
const readingWords = new Set(["getReader", "DecompressionStream", "charCodeAt", "codePointAt", "lastIndex"]);

/** Whether a token begins to read foreign input by hand. */
function isReading(tokens: readonly Token[], index: number): boolean {
  const [before, token, next, after] = tokens.slice(index - 1, index + 3);
  if (token?.kind !== "word") return false;
  if (readingWords.has(token.text) || token.text === "Lexer") return true;
  if (token.text === "JSON") return next?.text === "." ? after?.text === "parse" : next?.text !== ":";
  if (token.text === "DataView") return before?.text === "new";
  return before?.text === "." && wholeReaders.has(token.text) && next?.text === "(" && after?.text === ")";
}

function readsByHand({ tokens }: SourceFile): number | undefined {
  const index = tokens.findIndex((_, place) => place > 0 && isReading(tokens, place));
  return index < 0 ? undefined : tokens[index]?.line;
}

/** Files that read input by hand and are not listed with their bound, and lines of the list that are not true. */
export const foreignInput: Rule = (files) => {
  const sources = files.filter(({ path }) => path !== "mod.ts");
  const missing = sources.flatMap((file) => {
    const line = readsByHand(file);
    const bound = readers[file.path];
    if (line === undefined || bound !== undefined) return [];
    return [`${file.path}:${line}: reads input by hand: use a reader with a budget, or list its bound`];
  });
  const untrue = sources.flatMap((file) => {
    const bound = readers[file.path];
    if (bound === undefined) return [];
    if (readsByHand(file) === undefined) return [`${file.path}: is listed, but reads nothing by hand`];
    const words = new Set(file.tokens.map(({ text }) => text));
    const names = "within" in bound ? bound.within.filter((name) => !words.has(name)) : [];
    return names.map((name) => `${file.path}: its bound "${name}" does not occur in it`);
  });
  return [...missing, ...untrue];
};

/** Cases of the adversarial program that the list names. */
export const triedCases: ReadonlySet<string> = new Set(
  Object.values(readers).flatMap((bound) => ("tried" in bound ? [bound.tried] : [])),
);
