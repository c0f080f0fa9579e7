// Responses with all members that the clients' types know, whole and as streams.
// https://platform.openai.com/docs/api-reference, https://docs.claude.com/en/api, https://ai.google.dev/api

/** A response of one API. */
export interface AnswerShape {
  name: string;
  path: string;
  provider: string;
  request: object;
  whole: object;
  /** Events of its stream; absent where it has none. */
  events?: readonly object[];
  /** Path, and members of the request, that ask for a stream. */
  streamPath?: string;
  streamRequest?: object;
}

const tokens = (word: string) => ({
  content: [
    { token: word, logprob: -0.1, bytes: [97], top_logprobs: [{ token: `${word}s`, logprob: -2, bytes: [97] }] },
  ],
  refusal: null,
});
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const cited = {
  type: "url_citation",
  url_citation: { url: "https://x.test/a", title: "A page", start_index: 0, end_index: 1 },
};
const chatHead = { id: "c-1", created: 1, model: "m", system_fingerprint: "fp_1", service_tier: "default" };
const toolCalls = [
  { id: "t-1", type: "function", function: { name: "look_up", arguments: '{"place":"harbour"}' } },
  { id: "t-2", type: "custom", custom: { name: "free_form", input: "some input" } },
];

const chat: AnswerShape = {
  name: "chat",
  path: "/v1/chat/completions",
  provider: "openai",
  request: { model: "m", messages: [{ role: "user", content: "Hello" }], logprobs: true, top_logprobs: 1 },
  streamRequest: { stream: true },
  whole: {
    ...chatHead,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "It opens at six.",
          refusal: "Not this.",
          reasoning_content: "Think first.",
          reasoning_details: [{ type: "reasoning.text", text: "Details first.", index: 0 }],
          annotations: [cited],
          audio: { id: "a-1", data: "AAAA", expires_at: 1, transcript: "It is said." },
          function_call: { name: "older", arguments: '{"a":"older one"}' },
          tool_calls: toolCalls,
          images: [{ type: "image_url", image_url: { url: "https://x.test/image.png" } }],
          unknown_member: { deep: ["Nobody knows it"] },
        },
        logprobs: tokens("opens"),
        finish_reason: "stop",
      },
      { index: 1, message: { role: "assistant", content: "Second." }, logprobs: null, finish_reason: "stop" },
    ],
    citations: ["https://x.test/source"],
    search_results: [{ title: "A result", url: "https://x.test/b", snippet: "A snippet" }],
    usage,
  },
  events: [
    ...[
      { role: "assistant", content: "" },
      { content: "It opens." },
      { refusal: "Not this." },
      { reasoning_content: "Think first." },
      { reasoning_details: [{ type: "reasoning.text", text: "Details first.", index: 0 }] },
      { annotations: [cited] },
      { audio: { id: "a-1", transcript: "It is said." } },
      {
        tool_calls: [
          { index: 0, id: "t-1", type: "function", function: { name: "look_up", arguments: '{"a":"b c"}' } },
        ],
      },
      { images: [{ type: "image_url", image_url: { url: "https://x.test/image.png" } }] },
      { unknown_member: { deep: ["Nobody knows it"] } },
    ].map((delta) => ({
      ...chatHead,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
    })),
    {
      ...chatHead,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: { content: " opens" }, logprobs: tokens("opens"), finish_reason: null }],
    },
    {
      ...chatHead,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta: {}, finish_reason: "stop", unknown_member: "Nobody knows it" }],
      citations: ["https://x.test/source"],
      search_results: [{ title: "A result", url: "https://x.test/b" }],
    },
  ],
};

const complete: AnswerShape = {
  name: "complete",
  path: "/v1/completions",
  provider: "openai",
  request: { model: "m", prompt: "Hello", logprobs: 1 },
  streamRequest: { stream: true },
  whole: {
    ...chatHead,
    object: "text_completion",
    choices: [
      {
        index: 0,
        text: "It opens.",
        logprobs: { text_offset: [0], token_logprobs: [-1], tokens: ["It", " opens"], top_logprobs: [{ It: -1 }] },
        finish_reason: "stop",
        unknown_member: ["Nobody knows it"],
      },
    ],
    usage,
  },
  events: [
    {
      ...chatHead,
      object: "text_completion",
      choices: [{ index: 0, text: "It ", logprobs: null, finish_reason: null }],
    },
    {
      ...chatHead,
      object: "text_completion",
      choices: [
        {
          index: 0,
          text: "opens.",
          logprobs: { text_offset: [0], token_logprobs: [-1], tokens: ["opens"], top_logprobs: [{ It: -1 }] },
          finish_reason: "stop",
          unknown_member: "Nobody knows it",
        },
      ],
    },
  ],
};

const citations = [
  {
    type: "char_location",
    cited_text: "Quoted text",
    document_index: 0,
    document_title: "A document",
    start_char_index: 0,
    end_char_index: 1,
  },
  {
    type: "web_search_result_location",
    cited_text: "From the web",
    title: "A page",
    url: "https://x.test/a",
    encrypted_index: "s",
  },
];
const messageHead = { id: "m-1", type: "message", role: "assistant", model: "m" };
const counts = { input_tokens: 1, output_tokens: 1 };
const blocks = [
  { type: "thinking", thinking: "Think first.", signature: "" },
  { type: "text", text: "It opens.", citations },
  { type: "tool_use", id: "t-1", name: "look_up", input: { place: "harbour", deep: [{ er: "deeper text" }] } },
  { type: "server_tool_use", id: "t-2", name: "web_search", input: { query: "opening hours" } },
  {
    type: "web_search_tool_result",
    tool_use_id: "t-2",
    content: [
      {
        type: "web_search_result",
        title: "A page",
        url: "https://x.test/a",
        encrypted_content: "",
        page_age: "April 30",
      },
    ],
  },
  {
    type: "code_execution_tool_result",
    tool_use_id: "t-3",
    content: { type: "code_execution_result", stdout: "printed out", stderr: "an error", return_code: 0, content: [] },
  },
  { type: "mcp_tool_use", id: "t-4", name: "remote_tool", server_name: "remote", input: { a: "text of it" } },
  { type: "mcp_tool_result", tool_use_id: "t-4", is_error: false, content: [{ type: "text", text: "its result" }] },
  { type: "unknown_block", unknown_member: { deep: ["Nobody knows it"] } },
];

/** How a block of a message is streamed: its beginning, and what is added to it. */
function blockEvents(block: { type: string; [name: string]: unknown }, index: number): object[] {
  const start = (content_block: object) => ({ type: "content_block_start", index, content_block });
  const delta = (one: object) => ({ type: "content_block_delta", index, delta: one });
  const stop = { type: "content_block_stop", index };
  if (block.type === "thinking")
    return [start({ ...block, thinking: "" }), delta({ type: "thinking_delta", thinking: "Think first." }), stop];
  if (block.type === "text")
    return [
      start({ type: "text", text: "" }),
      delta({ type: "text_delta", text: "It opens." }),
      ...citations.map((citation) => delta({ type: "citations_delta", citation })),
      delta({ type: "unknown_delta", unknown_member: "Nobody knows it" }),
      stop,
    ];
  if (block.type === "tool_use")
    return [
      start({ ...block, input: {} }),
      delta({ type: "input_json_delta", partial_json: '{"place":"harbour"}' }),
      stop,
    ];
  return [start(block), stop];
}

const messages: AnswerShape = {
  name: "messages",
  path: "/v1/messages",
  provider: "anthropic",
  request: { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] },
  streamRequest: { stream: true },
  whole: {
    ...messageHead,
    content: blocks,
    stop_reason: "stop_sequence",
    stop_sequence: "the end",
    container: { id: "c-1", expires_at: "2026-01-01T00:00:00Z" },
    unknown_member: { deep: ["Nobody knows it"] },
    usage: counts,
  },
  events: [
    {
      type: "message_start",
      message: {
        ...messageHead,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        unknown_member: "Nobody knows it",
        usage: counts,
      },
    },
    ...blocks.flatMap(blockEvents),
    { type: "unknown_event", unknown_member: "Nobody knows it" },
    { type: "message_delta", delta: { stop_reason: "stop_sequence", stop_sequence: "the end" }, usage: counts },
    { type: "message_stop" },
  ],
};

const outputLogprobs = [
  { token: "opens", logprob: -0.1, bytes: [97], top_logprobs: [{ token: "closes", logprob: -2, bytes: [97] }] },
];
const items = [
  {
    type: "reasoning",
    id: "r-1",
    summary: [{ type: "summary_text", text: "Think first." }],
    content: [{ type: "reasoning_text", text: "All of it." }],
  },
  {
    type: "message",
    id: "i-1",
    role: "assistant",
    status: "completed",
    content: [
      {
        type: "output_text",
        text: "It opens.",
        logprobs: outputLogprobs,
        annotations: [
          { type: "url_citation", url: "https://x.test/a", title: "A page", start_index: 0, end_index: 1 },
          { type: "file_citation", file_id: "f-1", filename: "a file.txt", index: 0 },
          {
            type: "container_file_citation",
            container_id: "c-1",
            file_id: "f-1",
            filename: "a file.txt",
            start_index: 0,
            end_index: 1,
          },
        ],
      },
      { type: "refusal", refusal: "Not this." },
    ],
  },
  {
    type: "function_call",
    id: "i-2",
    call_id: "c-2",
    name: "look_up",
    arguments: '{"place":"harbour"}',
    status: "completed",
  },
  { type: "custom_tool_call", id: "i-3", call_id: "c-3", name: "free_form", input: "some input", status: "completed" },
  {
    type: "web_search_call",
    id: "i-4",
    status: "completed",
    action: { type: "search", query: "opening hours", sources: [{ type: "url", url: "https://x.test/a" }] },
  },
  {
    type: "file_search_call",
    id: "i-5",
    status: "completed",
    queries: ["what opens"],
    results: [{ file_id: "f-1", filename: "a file.txt", text: "found text", score: 1 }],
  },
  {
    type: "code_interpreter_call",
    id: "i-6",
    container_id: "c-1",
    status: "completed",
    code: "print(1)",
    outputs: [{ type: "logs", logs: "printed out" }],
  },
  { type: "image_generation_call", id: "i-7", status: "completed", result: "AAAA", revised_prompt: "A harbour" },
  {
    type: "mcp_call",
    id: "i-8",
    name: "remote_tool",
    server_label: "remote",
    arguments: "{}",
    output: "its result",
    error: "its error",
  },
  {
    type: "mcp_list_tools",
    id: "i-9",
    server_label: "remote",
    tools: [{ name: "remote_tool", description: "What it does", input_schema: { type: "object" } }],
  },
  {
    type: "local_shell_call",
    id: "i-10",
    call_id: "c-10",
    status: "completed",
    action: { type: "exec", command: ["ls", "a folder"], env: { A: "a value" } },
  },
  { type: "unknown_item", unknown_member: { deep: ["Nobody knows it"] } },
];
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "m",
  instructions: null,
  metadata: {},
  tools: [],
  error: null,
  incomplete_details: null,
  parallel_tool_calls: true,
  tool_choice: "auto",
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};
const at = { item_id: "i-1", output_index: 1, content_index: 0 };

const responses: AnswerShape = {
  name: "responses",
  path: "/v1/responses",
  provider: "openai",
  request: { model: "m", input: "Hello", store: false },
  streamRequest: { stream: true },
  whole: { ...response, output: items, output_text: "It opens.", unknown_member: { deep: ["Nobody knows it"] } },
  events: [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    {
      type: "response.output_item.added",
      output_index: 1,
      item: { type: "message", id: "i-1", role: "assistant", status: "in_progress", content: [] },
    },
    { type: "response.content_part.added", ...at, part: { type: "output_text", text: "", annotations: [] } },
    { type: "response.output_text.delta", ...at, delta: "It opens.", logprobs: [] },
    { type: "response.output_text.delta", ...at, delta: " opens", logprobs: outputLogprobs, obfuscation: "aB3" },
    {
      type: "response.output_text.annotation.added",
      ...at,
      annotation_index: 0,
      annotation: { type: "url_citation", url: "https://x.test/a", title: "A page" },
    },
    { type: "response.output_text.done", ...at, text: "It opens.", logprobs: outputLogprobs },
    { type: "response.refusal.delta", ...at, delta: "Not this." },
    {
      type: "response.reasoning_summary_text.delta",
      item_id: "r-1",
      output_index: 0,
      summary_index: 0,
      delta: "Think first.",
    },
    { type: "response.reasoning_text.delta", item_id: "r-1", output_index: 0, content_index: 0, delta: "All of it." },
    { type: "response.function_call_arguments.delta", item_id: "i-2", output_index: 2, delta: '{"place":"harbour"}' },
    { type: "response.custom_tool_call_input.delta", item_id: "i-3", output_index: 3, delta: "some input" },
    { type: "response.code_interpreter_call_code.delta", item_id: "i-6", output_index: 6, delta: "print(1)" },
    { type: "response.mcp_call_arguments.delta", item_id: "i-8", output_index: 8, delta: '{"a":"b c"}' },
    {
      type: "response.image_generation_call.partial_image",
      item_id: "i-7",
      output_index: 7,
      partial_image_index: 0,
      partial_image_b64: "AAAA",
    },
    ...items.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
    { type: "response.unknown_event", unknown_member: "Nobody knows it" },
    { type: "response.completed", response: { ...response, output: items, output_text: "It opens." } },
  ].map((event, sequence_number) => ({ ...event, sequence_number })),
};

const grounding = {
  webSearchQueries: ["opening hours"],
  searchEntryPoint: { renderedContent: "<div>A chip</div>", sdkBlob: "AAAA" },
  groundingChunks: [
    { web: { uri: "https://x.test/a", title: "A page", domain: "x.test" } },
    { retrievedContext: { uri: "gs://a/b", title: "A file", text: "Retrieved text" } },
  ],
  groundingSupports: [
    { segment: { startIndex: 0, endIndex: 1, text: "It opens." }, groundingChunkIndices: [0], confidenceScores: [1] },
  ],
};
const parts = [
  { text: "Think first.", thought: true },
  { text: "It opens." },
  { functionCall: { id: "f-1", name: "look_up", args: { place: "harbour" } } },
  { executableCode: { id: "e-1", language: "PYTHON", code: "print(1)" } },
  { codeExecutionResult: { id: "e-1", outcome: "OUTCOME_OK", output: "printed out" } },
  { inlineData: { mimeType: "image/png", data: "AAAA", displayName: "A chart" } },
  { fileData: { mimeType: "image/png", fileUri: "https://x.test/image.png", displayName: "A chart" } },
  { toolCall: { toolName: "remote_tool", args: { a: "some text" } } },
  { unknownMember: { deep: ["Nobody knows it"] } },
];
const facts = {
  citationMetadata: {
    citations: [{ startIndex: 0, endIndex: 1, uri: "https://x.test/a", title: "A page", license: "a license" }],
  },
  groundingMetadata: grounding,
  urlContextMetadata: {
    urlMetadata: [{ retrievedUrl: "https://x.test/a", urlRetrievalStatus: "URL_RETRIEVAL_STATUS_SUCCESS" }],
  },
  logprobsResult: {
    topCandidates: [{ candidates: [{ token: "closes", tokenId: 1, logProbability: -1 }] }],
    chosenCandidates: [{ token: "opens", tokenId: 1, logProbability: -0.1 }],
  },
  finishMessage: "It is done",
};
const geminiHead = {
  modelVersion: "m",
  responseId: "r-1",
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
};

const generateContent: AnswerShape = {
  name: "generateContent",
  path: "/v1beta/models/m:generateContent",
  streamPath: "/v1beta/models/m:streamGenerateContent?alt=sse",
  provider: "google",
  request: { contents: [{ parts: [{ text: "Hello" }] }] },
  whole: {
    ...geminiHead,
    promptFeedback: { blockReasonMessage: "Nothing to say" },
    candidates: [{ content: { role: "model", parts }, index: 0, ...facts, finishReason: "STOP" }],
  },
  events: [
    ...parts.map((part) => ({ ...geminiHead, candidates: [{ content: { role: "model", parts: [part] }, index: 0 }] })),
    {
      ...geminiHead,
      candidates: [{ content: { role: "model", parts: [{ text: "" }] }, index: 0, ...facts, finishReason: "STOP" }],
    },
  ],
};

const images: AnswerShape = {
  name: "images",
  path: "/v1/images/generations",
  provider: "openai",
  request: { model: "m", prompt: "A harbour" },
  whole: {
    created: 1,
    output_format: "png",
    data: [
      { b64_json: "AAAA", revised_prompt: "A harbour at dawn" },
      { url: "https://x.test/image.png", unknown_member: "Nobody knows it" },
    ],
  },
};

const transcription: AnswerShape = {
  name: "transcription",
  path: "/v1/audio/transcriptions",
  provider: "openai",
  request: {},
  whole: {
    task: "transcribe",
    language: "english",
    duration: 1,
    text: "It opens.",
    segments: [{ id: 0, text: "It opens.", tokens: [1], speaker: "A speaker" }],
    words: [{ word: "opens", start: 0, end: 1 }],
    logprobs: [{ token: "opens", logprob: -0.1, bytes: [97] }],
  },
};

export const answerShapes: readonly AnswerShape[] = [
  chat,
  complete,
  messages,
  responses,
  generateContent,
  images,
  transcription,
];
