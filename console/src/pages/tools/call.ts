import { send } from "@/api/client.ts";
import { readEventData } from "@/lib/event-stream.ts";
import { asObject, isJsonObject, type JsonObject, objectsOf, textOf } from "@/lib/json.ts";

/** What a call of a tool brought. */
export interface ToolAnswer {
  /** The tool says that it failed. */
  readonly isError: boolean;
  readonly content: readonly ToolContent[];
  /** JSON beside the content. */
  readonly structured: unknown;
  /** Milliseconds of the call. */
  readonly durationMs: number;
  /** Id of its log row. */
  readonly requestId: string;
}

/** A piece of a result: text, an image that can be shown, or anything else as JSON. */
export type ToolContent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly url: string }
  | { readonly kind: "other"; readonly value: JsonObject };

const protocol = "2026-07-28";
const metadata = {
  "io.modelcontextprotocol/protocolVersion": protocol,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "console", version: "1" },
};

/** A name as a header repeats it: others than plain ASCII are encoded (Model Context Protocol 2026-07-28). */
export function toHeaderText(name: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(name) && !name.startsWith("=?base64?")) return name;
  const bytes = [...new TextEncoder().encode(name)].map((byte) => String.fromCharCode(byte)).join("");
  return `=?base64?${btoa(bytes)}?=`;
}

/** Media types of images that are shown; SVG is not, because it is a document. */
const shownImages = /^image\/(?:png|jpeg|gif|webp|avif)$/;

function toContent(piece: JsonObject): ToolContent {
  if (piece.type === "text" && typeof piece.text === "string") return { kind: "text", text: piece.text };
  const { text } = asObject(piece.resource);
  if (piece.type === "resource" && typeof text === "string") return { kind: "text", text };
  const isImage = piece.type === "image" && shownImages.test(textOf(piece.mimeType));
  const isData = typeof piece.data === "string" && /^[A-Za-z0-9+/=\s]*$/.test(piece.data);
  if (isImage && isData) return { kind: "image", url: `data:${textOf(piece.mimeType)};base64,${textOf(piece.data)}` };
  return { kind: "other", value: piece };
}

/** The JSON-RPC answer in a response: of a stream the message that has a result or an error. */
async function readAnswer(response: Response): Promise<JsonObject> {
  const isStream = (response.headers.get("content-type") ?? "").includes("text/event-stream");
  if (!isStream) return asObject(await response.json());
  let last: JsonObject = {};
  for await (const data of readEventData(response)) {
    const message: unknown = JSON.parse(data);
    if (isJsonObject(message) && (message.result !== undefined || message.error !== undefined)) last = message;
  }
  return last;
}

/** An answer that is no result of the tool. */
class ToolFailure extends Error {
  override readonly name = "ToolFailure";
}

interface ToolCall {
  readonly slug: string;
  readonly tool: string;
  readonly given: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Calls a tool of an MCP server of the gateway as its clients do, with the rights of the session.
 *
 * @throws {ApiError} The gateway refuses the call.
 * @throws {ToolFailure} The call ended without a result.
 */
export async function callTool({ slug, tool, given, headers }: ToolCall): Promise<ToolAnswer> {
  const startedAt = performance.now();
  const method = "tools/call";
  const response = await send("POST", "/m/{slug}/mcp", {
    path: { slug },
    headers: {
      ...headers,
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": protocol,
      "mcp-method": method,
      "mcp-name": toHeaderText(tool),
    },
    body: { jsonrpc: "2.0", id: 1, method, params: { name: tool, arguments: given, _meta: metadata } },
  });
  const { result, error } = await readAnswer(response);
  if (!isJsonObject(result)) throw new ToolFailure(textOf(asObject(error).message) || "The server gave no answer");
  return {
    isError: result.isError === true,
    content: objectsOf(result.content).map(toContent),
    structured: result.structuredContent,
    durationMs: performance.now() - startedAt,
    requestId: response.headers.get("x-gateway-request-id") ?? "",
  };
}
