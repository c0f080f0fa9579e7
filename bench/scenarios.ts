/** One kind of request the benchmark sends, and how many connections send it. */
export interface Scenario {
  /** What `--only` selects it by; also `stream` for every name that starts with `stream-`. */
  name: string;
  title: string;
  connections: number;
  /** Path below the upstream's base address. */
  path: string;
  /** Base address of the upstream, without the origin; the path of a static answer. */
  base: string;
  body: string;
  /** Headers besides those every request has. */
  headers?: Readonly<Record<string, string>>;
  /** The gateway takes address and credential from a stored provider, which the request names. */
  isStored?: boolean;
  /** A config that is saved; the request names it. */
  savedConfig?: unknown;
  /** Text that every complete answer holds. */
  expect: string;
  /** Whether the upstream is the one that writes its events one by one, whatever the path. */
  eventWise?: boolean;
  /** What the same request costs without what this scenario adds is measured in turn with it. */
  plain?: Pick<Scenario, "name" | "path" | "base" | "body" | "connections" | "expect" | "title">;
}

/** A static answer of the upstream. */
export interface StaticAnswer {
  path: string;
  contentType: string;
  body: string;
}

const model = "gpt-4o-mini-2024-07-18";
const completionId = "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012";
const messageId = "msg_01AbCdEfGhIjKlMnOpQrStUv";
const moderationId = "modr-0123456789";
const created = 1_760_000_000;
const fingerprint = "fp_0f0f0f0f0f";

/** Number of content events in the streamed answer. */
export const streamEvents = 100;

const claudeModel = "claude-sonnet-4-5-20250929";
/** Content events among them. */
const claudeWords = streamEvents - 5;

function chatRequest(content: string, more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    model: "gpt-4o-mini",
    messages: [
      { role: "system", content: "You are a helpful assistant. Answer in one short paragraph." },
      { role: "user", content },
    ],
    temperature: 0.7,
    max_tokens: 256,
    ...more,
  });
}

const question = "Which three things should a team agree on before it lets an application call a language model?";

const task = "Summarise this log:";

/** One of these is in every request. */
export const requestMarks: readonly string[] = [question, task];
/** One of these is in every answer. */
export const answerMarks: readonly string[] = [completionId, messageId, moderationId];

/** A prompt of about `bytes` bytes with the quotes, line ends and letters real ones have. */
function longPrompt(bytes: number): string {
  const encoder = new TextEncoder();
  const lines: string[] = [];
  for (let size = 0, number = 1; size < bytes; number++) {
    const [status, id, delayMs] = [200 + (number % 5), number * 7, number % 90];
    const line = `${number}. The "order service" answered ${status} to café #${id} in ${delayMs} ms; retried: no.`;
    lines.push(line);
    size += encoder.encode(JSON.stringify(line)).length;
  }
  return `${task}\n${lines.join("\n")}`;
}

const advice = "Agree on who may call it, what it may cost, and what is kept of each call.";

const chatAnswer = JSON.stringify({
  id: completionId,
  object: "chat.completion",
  created,
  model,
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: advice,
        refusal: null,
        annotations: [],
      },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: {
    prompt_tokens: 42,
    completion_tokens: 19,
    total_tokens: 61,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  },
  service_tier: "default",
  system_fingerprint: fingerprint,
});

function streamAnswer(): string {
  const head = { id: completionId, object: "chat.completion.chunk", created, model, system_fingerprint: fingerprint };
  const chunk = (delta: Record<string, unknown>, finish_reason: string | null) => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    usage: null,
  });
  const words = Array.from({ length: streamEvents - 2 }, (_, index) => chunk({ content: ` word${index}` }, null));
  const usage = { prompt_tokens: 42, completion_tokens: streamEvents - 2, total_tokens: 40 + streamEvents };
  const events = [
    chunk({ role: "assistant", content: "" }, null),
    ...words,
    chunk({}, "stop"),
    { ...head, choices: [], usage },
  ];
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
}

const claudeAnswer = JSON.stringify({
  id: messageId,
  type: "message",
  role: "assistant",
  model: claudeModel,
  content: [{ type: "text", text: advice }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 42, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 19 },
});

/** Events of Claude's streamed answer: as many as `streamEvents`, with `message_stop`. */
export function claudeEvents(): string[] {
  const usage = { input_tokens: 42, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 };
  const message = { id: messageId, type: "message", role: "assistant", model: claudeModel, content: [] };
  const words = Array.from({ length: claudeWords }, (_, index) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: ` word${index}` },
  }));
  const events = [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...words,
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: claudeWords },
    },
    { type: "message_stop" },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

const moderationAnswer = JSON.stringify({
  id: moderationId,
  model: "omni-moderation-latest",
  results: [
    {
      flagged: false,
      categories: {
        harassment: false,
        hate: false,
        illicit: false,
        "self-harm": false,
        sexual: false,
        violence: false,
      },
      category_scores: { harassment: 0.0001, hate: 0.00002, illicit: 0.00003, "self-harm": 0.00001, sexual: 0.00004 },
    },
  ],
});

/** Base address of the upstream whose chat endpoint streams. */
const streamBase = "/stream/v1";

/** What the upstream answers, by path. */
export const staticAnswers: readonly StaticAnswer[] = [
  { path: "/v1/chat/completions", contentType: "application/json", body: chatAnswer },
  { path: "/v1/messages", contentType: "application/json", body: claudeAnswer },
  { path: "/v1/evaluations", contentType: "application/json", body: moderationAnswer },
  { path: `${streamBase}/chat/completions`, contentType: "text/event-stream", body: streamAnswer() },
];

const chat = { path: "/chat/completions", base: "/v1", expect: completionId };
const small = chatRequest(question);

/** Targets of the config. */
const configTargets = 100;

/** A config whose first target responds; every target has a different credential, as with different accounts. */
const config = {
  strategy: { mode: "fallback" },
  targets: Array.from({ length: configTargets }, (_, index) => ({ provider: "openai", api_key: `sk-bench-${index}` })),
};

const smallChat = { ...chat, name: "small-32", title: "small chat", connections: 32, body: small };

/** What the benchmark measures, in order. */
export const scenarios: readonly Scenario[] = [
  { ...chat, name: "small-1", title: "small chat", connections: 1, body: small },
  smallChat,
  {
    ...smallChat,
    name: "config-32",
    title: `config of ${configTargets} targets`,
    plain: smallChat,
    headers: { "x-gateway-config": JSON.stringify(config) },
  },
  {
    ...smallChat,
    name: "saved-32",
    title: `saved config of ${configTargets} targets`,
    plain: smallChat,
    savedConfig: config,
  },
  { ...smallChat, name: "stored-32", title: "stored provider", plain: smallChat, isStored: true },
  { ...chat, name: "small-128", title: "small chat", connections: 128, body: small },
  { ...chat, name: "prompt-10k", title: "10 KB prompt", connections: 32, body: chatRequest(longPrompt(10_000)) },
  { ...chat, name: "prompt-100k", title: "100 KB prompt", connections: 32, body: chatRequest(longPrompt(100_000)) },
  {
    name: "stream-32",
    title: `${streamEvents}-event stream`,
    connections: 32,
    path: "/chat/completions",
    base: streamBase,
    expect: "[DONE]",
    body: chatRequest(question, { stream: true, stream_options: { include_usage: true } }),
  },
  {
    name: "anthropic-32",
    title: "small chat of Claude",
    connections: 32,
    path: "/chat/completions",
    base: "/v1",
    expect: advice,
    headers: { "x-gateway-provider": "anthropic" },
    body: chatRequest(question, { model: claudeModel }),
  },
  {
    name: "anthropic-stream-32",
    title: `${streamEvents}-event stream of Claude`,
    connections: 32,
    path: "/chat/completions",
    base: "/v1",
    expect: ` word${claudeWords - 1}"`,
    eventWise: true,
    headers: { "x-gateway-provider": "anthropic" },
    body: chatRequest(question, { model: claudeModel, stream: true, stream_options: { include_usage: true } }),
  },
  {
    name: "passthrough-32",
    title: "passthrough",
    connections: 32,
    path: "/evaluations",
    base: "/v1",
    expect: moderationId,
    body: JSON.stringify({ model: "omni-moderation-latest", input: question }),
  },
];

/**
 * The scenarios a comma list names, in the table's order; all when it is undefined.
 *
 * @throws {TypeError} If a name selects nothing.
 */
export function selectScenarios(only: string | undefined): Scenario[] {
  if (only === undefined) return [...scenarios];
  const wanted = only.split(",").map((name) => name.trim());
  const isWanted = (scenario: Scenario, name: string) => scenario.name === name || scenario.name.startsWith(`${name}-`);
  for (const name of wanted) {
    if (!scenarios.some((scenario) => isWanted(scenario, name))) {
      throw new TypeError(`Cannot run "${name}": known are ${scenarios.map((scenario) => scenario.name).join(", ")}`);
    }
  }
  return scenarios.filter((scenario) => wanted.some((name) => isWanted(scenario, name)));
}
