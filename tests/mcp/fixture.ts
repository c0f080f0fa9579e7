// An MCP server that offers what the official conformance suite asks for, in both eras.

import { randomUUID } from "node:crypto";
import {
  createMcpHandler,
  createRequestStateCodec,
  type EventStore,
  fromJsonSchema,
  type InputRequests,
  inputRequired,
  isLegacyRequest,
  type JsonSchemaType,
  McpServer,
  ResourceTemplate,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { toolSchemas } from "./fixture-schemas.ts";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const silence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

const states = createRequestStateCodec<{ step: number }>({ key: new Uint8Array(32).fill(7) });

/** The same for all: nobody reads it. */
const description = "For tests";
const said = (text: string) => ({ content: [{ type: "text" as const, text }] });
const schema = (value: object) => fromJsonSchema(value as JsonSchemaType);
const noArguments = schema({ type: "object", properties: {} });
const oneText = (name: string) =>
  schema({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });

/** A form for the user, as an embedded request. */
function form(message: string, name: string, type = "string") {
  return inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [name]: { type } }, required: [name] } as never,
  });
}

const sample = (text: string) =>
  inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 100 });

/** Whether all of these inputs came. */
function holds({ mcpReq }: ServerContext, ...names: string[]): boolean {
  return names.every((name) => mcpReq.inputResponses?.[name] !== undefined);
}

function answerOf({ mcpReq }: ServerContext, name: string): string {
  return JSON.stringify(mcpReq.inputResponses?.[name]);
}

/** Tools whose answer is content. */
function addContentTools(server: McpServer): void {
  const image = { type: "image" as const, data: pixel, mimeType: "image/png" };
  const embedded = (uri: string, mimeType: string, text: string) => ({
    type: "resource" as const,
    resource: { uri, mimeType, text },
  });
  const plain = { description, inputSchema: noArguments };
  server.registerTool("test_simple_text", plain, async () => said("This is a simple text response for testing."));
  server.registerTool("test_image_content", plain, async () => ({ content: [image] }));
  server.registerTool("test_audio_content", plain, async () => ({
    content: [{ type: "audio" as const, data: silence, mimeType: "audio/wav" }],
  }));
  server.registerTool("test_embedded_resource", plain, async () => ({
    content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  }));
  server.registerTool("test_multiple_content_types", plain, async () => ({
    content: [
      { type: "text" as const, text: "Multiple content types test:" },
      image,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  }));
  server.registerTool("test_error_handling", plain, async () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  const strict = { description, inputSchema: schema(toolSchemas.draft2020) };
  server.registerTool("json_schema_2020_12_tool", strict, async (given) => said(JSON.stringify(given)));
  const mirrored = { description, inputSchema: schema(toolSchemas.mirrored) };
  server.registerTool("test_custom_headers", mirrored, async (given) => said(JSON.stringify(given)));
}

/** Tools that send notifications. */
function addNotifyingTools(server: McpServer): void {
  const plain = { description, inputSchema: noArguments };
  server.registerTool("test_tool_with_logging", plain, async (_given, context) => {
    for (const step of ["started", "running", "completed"]) await context.mcpReq.log("info", `Tool execution ${step}`);
    return said("Tool with logging executed successfully");
  });
  server.registerTool("test_logging_tool", plain, async (_given, context) => {
    await context.mcpReq.log("info", "a line");
    return said("logged");
  });
  server.registerTool("test_tool_with_progress", plain, async (_given, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? 0;
    for (const progress of [0, 50, 100]) {
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
    }
    return said(String(progressToken));
  });
  server.registerTool("test_reconnection", plain, async (_given, { http }) => {
    http?.closeSSE?.();
    await new Promise((resolve) => setTimeout(resolve, 100));
    return said("Reconnection test completed successfully.");
  });
}

/** Tools that ask a legacy client during the call. */
function addAskingTools(server: McpServer): void {
  server.registerTool("test_sampling", { description, inputSchema: oneText("prompt") }, async (given, { mcpReq }) => {
    const text = String((given as { prompt: string }).prompt);
    const messages = [{ role: "user", content: { type: "text", text } }];
    // `send` puts it on the stream of the call, `requestSampling` on one that only GET opens
    const { content } = await mcpReq.send({ method: "sampling/createMessage", params: { messages, maxTokens: 100 } });
    return said(`LLM response: ${JSON.stringify(content)}`);
  });
  const elicit = async ({ mcpReq }: ServerContext, message: string, requestedSchema: object) => {
    const params = { mode: "form", message, requestedSchema };
    const { action, content } = await mcpReq.send({ method: "elicitation/create", params });
    return said(`User response: action=${action}, content=${JSON.stringify(content ?? {})}`);
  };
  server.registerTool("test_elicitation", { description, inputSchema: oneText("message") }, (given, context) =>
    elicit(context, String((given as { message: string }).message), toolSchemas.response),
  );
  const plain = { description, inputSchema: noArguments };
  server.registerTool("test_elicitation_sep1034_defaults", plain, (_given, context) =>
    elicit(context, "Please review", toolSchemas.defaults),
  );
  server.registerTool("test_elicitation_sep1330_enums", plain, (_given, context) =>
    elicit(context, "Please select", toolSchemas.enums),
  );
}

/** Tools that need input, of modern clients. */
function addInputTools(server: McpServer): void {
  const plain = { description, inputSchema: noArguments };
  const add = (name: string, run: (context: ServerContext) => Promise<object>) =>
    server.registerTool(`test_input_required_result_${name}`, plain, (async (_given: unknown, context: ServerContext) =>
      run(context)) as never);
  const ask = (inputRequests: InputRequests, requestState?: string) =>
    inputRequired({ inputRequests, ...(requestState !== undefined && { requestState }) });
  const question = () => ({ user_name: form("What is your name?", "name") });
  add("elicitation", async (context) =>
    holds(context, "user_name") ? said(`Hello, ${answerOf(context, "user_name")}!`) : ask(question()),
  );
  add("sampling", async (context) =>
    holds(context, "capital_question")
      ? said(answerOf(context, "capital_question"))
      : ask({ capital_question: sample("What is the capital of France?") }),
  );
  add("list_roots", async (context) =>
    holds(context, "client_roots")
      ? said(answerOf(context, "client_roots"))
      : ask({ client_roots: inputRequired.listRoots() }),
  );
  add("request_state", async (context) =>
    holds(context, "confirm") && context.mcpReq.requestState() !== undefined
      ? said("state-ok")
      : ask({ confirm: form("Please confirm", "ok", "boolean") }, await states.mint({ step: 1 }, context)),
  );
  add("multiple_inputs", async (context) =>
    holds(context, "user_name", "greeting", "client_roots")
      ? said(answerOf(context, "user_name"))
      : ask(
          { ...question(), greeting: sample("Generate a greeting"), client_roots: inputRequired.listRoots() },
          await states.mint({ step: 1 }, context),
        ),
  );
  add("multi_round", async (context) => {
    const step = context.mcpReq.requestState<{ step: number }>()?.step ?? 0;
    if (step === 2 && holds(context, "step2")) return said("done");
    if (step === 1 && holds(context, "step1")) {
      return ask(
        { step2: form("Step 2: What is your favorite color?", "color") },
        await states.mint({ step: 2 }, context),
      );
    }
    return ask({ step1: form("Step 1: What is your name?", "name") }, await states.mint({ step: 1 }, context));
  });
  add("tampered_state", async (context) =>
    context.mcpReq.requestState() === undefined
      ? ask({ confirm: form("Please confirm", "ok", "boolean") }, await states.mint({ step: 1 }, context))
      : said("state accepted"),
  );
  add("capabilities", async ({ mcpReq }) => {
    const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope };
    const declared = Object(envelope["io.modelcontextprotocol/clientCapabilities"]);
    return ask({
      ...("sampling" in declared && { greeting: sample("Generate a greeting") }),
      ...("elicitation" in declared && question()),
    });
  });
  server.registerTool("test_streaming_elicitation", plain, (async (_given: unknown, context: ServerContext) =>
    holds(context, "user_name") ? said("done") : ask(question())) as never);
  server.registerTool("test_missing_capability", plain, (async () =>
    ask({ greeting: sample("Generate a greeting") })) as never);
}

function addPrompts(server: McpServer): void {
  const user = (content: object) => ({ messages: [{ role: "user", content }] }) as never;
  const text = (value: string) => ({ type: "text", text: value });
  server.registerPrompt("test_simple_prompt", { description }, () =>
    user(text("This is a simple prompt for testing.")),
  );
  const two = schema({
    type: "object",
    properties: { arg1: { type: "string" }, arg2: { type: "string" } },
    required: ["arg1", "arg2"],
  });
  server.registerPrompt("test_prompt_with_arguments", { description, argsSchema: two }, (given) => {
    const { arg1, arg2 } = given as { arg1: string; arg2: string };
    return user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`));
  });
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description, argsSchema: oneText("resourceUri") },
    (given) => {
      const { resourceUri } = given as { resourceUri: string };
      return user({
        type: "resource",
        resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." },
      });
    },
  );
  server.registerPrompt("test_prompt_with_image", { description }, () =>
    user({ type: "image", data: pixel, mimeType: "image/png" }),
  );
  server.registerPrompt("test_input_required_result_prompt", { description }, ((context: ServerContext) =>
    holds(context, "user_context")
      ? user(text(answerOf(context, "user_context")))
      : inputRequired({
          inputRequests: { user_context: form("What context should the prompt use?", "context") },
        })) as never);
}

function addResources(server: McpServer): void {
  const add = (name: string, content: object) => {
    const uri = `test://${name}`;
    server.registerResource(name, uri, { title: name }, async () => ({ contents: [{ uri, ...content }] }) as never);
  };
  add("static-text", { mimeType: "text/plain", text: "This is the content of the static text resource." });
  add("static-binary", { mimeType: "image/png", blob: pixel });
  add("watched-resource", { mimeType: "text/plain", text: "Watched resource content" });
  add("example-resource", { mimeType: "text/plain", text: "Example" });
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("template", template, { mimeType: "application/json" }, async (uri, { id }) => {
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri: uri.href, mimeType: "application/json", text }] };
  });
}

/** What changes lists for those who listen. */
type Notify = (kind: "tools" | "prompts") => void;

function createServer(notify: Notify): McpServer {
  const server = new McpServer(
    { name: "everything", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
      },
      requestState: { verify: states.verify },
    },
  );
  addContentTools(server);
  addNotifyingTools(server);
  addAskingTools(server);
  addInputTools(server);
  addPrompts(server);
  addResources(server);
  for (const kind of ["tools", "prompts"] as const) {
    const name = kind === "tools" ? "test_trigger_tool_change" : "test_trigger_prompt_change";
    server.registerTool(name, { description, inputSchema: noArguments }, async () => {
      notify(kind);
      return said("changed");
    });
  }
  const { server: inner } = server;
  inner.setRequestHandler("resources/subscribe", async () => ({}));
  inner.setRequestHandler("resources/unsubscribe", async () => ({}));
  inner.setRequestHandler("completion/complete", async () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
  return server;
}

/** Events of streams, so that they can be taken up again. */
function createEventStore(): EventStore {
  const events: { id: string; stream: string; message: unknown }[] = [];
  return {
    async storeEvent(stream, message) {
      const id = `${stream}::${String(events.length).padStart(8, "0")}`;
      events.push({ id, stream, message });
      return id;
    },
    async replayEventsAfter(lastId, { send }) {
      const stream = lastId.split("::")[0] ?? "";
      for (const event of events) {
        const isLater = event.stream === stream && event.id > lastId;
        if (isLater && Object.keys(event.message as object).length > 0) await send(event.id, event.message as never);
      }
      return stream;
    },
  };
}

/** A request of the platform's own class, which can be cloned: a host's need not be. */
export async function toPlainRequest(request: Request, headers = new Headers(request.headers)): Promise<Request> {
  const { method, url, signal } = request;
  const body = method === "POST" ? { body: await request.text() } : {};
  return new Request(url, { method, headers, signal, ...body });
}

/** The eras that the fixture speaks. */
export type FixtureEras = "both" | "legacy" | "modern";

/** Answers the requests of the fixture. */
export function createFixture(eras: FixtureEras = "both"): (request: Request) => Promise<Response> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const modern = createMcpHandler(
    () => createServer((kind) => (kind === "tools" ? modern.notify.toolsChanged() : modern.notify.promptsChanged())),
    {
      legacy: "reject",
    },
  );
  const serveLegacy = async (request: Request): Promise<Response> => {
    const known = sessions.get(request.headers.get("mcp-session-id") ?? "");
    if (known) return known.handleRequest(request);
    if (request.headers.has("mcp-session-id")) {
      return Response.json(
        { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } },
        { status: 404 },
      );
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: createEventStore(),
      retryInterval: 50,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await createServer(() => {}).connect(transport);
    return transport.handleRequest(request);
  };
  return async (received) => {
    const request = await toPlainRequest(received);
    if (eras === "legacy") return serveLegacy(request);
    if (eras === "modern") return modern.fetch(request);
    const isLegacy = request.method !== "POST" || (await isLegacyRequest(request.clone()));
    return isLegacy ? serveLegacy(request) : modern.fetch(request);
  };
}
