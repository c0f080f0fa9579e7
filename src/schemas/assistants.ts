import * as v from "valibot";

/*
 * OpenAI's assistants, threads and runs (https://platform.openai.com/docs/api-reference/assistants). Requests are forwarded
 * to the provider unchanged: these schemas document them.
 */

const text = (length: number) => v.nullish(v.pipe(v.string(), v.maxLength(length)));
const between = (least: number, greatest: number) =>
  v.nullish(v.pipe(v.number(), v.minValue(least), v.maxValue(greatest)));
const atLeast = (least: number) => v.nullish(v.pipe(v.number(), v.integer(), v.minValue(least)));
const time = v.nullish(v.number());
const member = v.nullish(v.looseObject({}));
const metadata = v.nullish(v.record(v.string(), v.string()));
const responseFormat = v.nullish(v.union([v.string(), v.looseObject({ type: v.string() })]));
const toolChoice = v.nullish(v.union([v.string(), v.looseObject({ type: v.string() })]));
const temperature = between(0, 2);
const topP = between(0, 1);

const Tool = v.looseObject({ type: v.picklist(["code_interpreter", "file_search", "function"]) });
const tools = (most: number) => v.nullish(v.pipe(v.array(Tool), v.maxLength(most)));
const toolResources = v.nullish(
  v.looseObject({
    code_interpreter: v.nullish(v.looseObject({ file_ids: v.nullish(v.pipe(v.array(v.string()), v.maxLength(20))) })),
    file_search: v.nullish(
      v.looseObject({
        vector_store_ids: v.nullish(v.pipe(v.array(v.string()), v.maxLength(1))),
        vector_stores: v.nullish(v.array(v.looseObject({}))),
      }),
    ),
  }),
);

const assistantEntries = {
  name: text(256),
  description: text(512),
  instructions: text(256_000),
  tools: tools(128),
  tool_resources: toolResources,
  metadata,
  temperature,
  top_p: topP,
  response_format: responseFormat,
};

/** Body of `POST /assistants`. */
export const AssistantRequest = v.looseObject({ model: v.string(), ...assistantEntries });

/** Body of `POST /assistants/{id}`. */
export const AssistantChange = v.looseObject({ model: v.nullish(v.string()), ...assistantEntries });

/** Body of `POST` where only metadata can be changed. */
export const MetadataChange = v.looseObject({ metadata });

/** Body of `POST /threads/{id}/messages`. */
export const MessageRequest = v.looseObject({
  role: v.picklist(["user", "assistant"]),
  content: v.union([v.string(), v.array(v.looseObject({ type: v.picklist(["text", "image_url", "image_file"]) }))]),
  attachments: v.nullish(
    v.array(v.looseObject({ file_id: v.nullish(v.string()), tools: v.nullish(v.array(v.looseObject({}))) })),
  ),
  metadata,
});

/** Body of `POST /threads`. */
export const ThreadRequest = v.looseObject({
  messages: v.nullish(v.array(MessageRequest)),
  tool_resources: toolResources,
  metadata,
});

/** Body of `POST /threads/{id}`. */
export const ThreadChange = v.looseObject({ tool_resources: toolResources, metadata });

const runEntries = {
  assistant_id: v.string(),
  model: v.nullish(v.string()),
  instructions: v.nullish(v.string()),
  additional_instructions: v.nullish(v.string()),
  additional_messages: v.nullish(v.array(MessageRequest)),
  tools: tools(20),
  metadata,
  temperature,
  top_p: topP,
  stream: v.nullish(v.boolean()),
  max_prompt_tokens: atLeast(256),
  max_completion_tokens: atLeast(256),
  truncation_strategy: v.nullish(
    v.looseObject({ type: v.picklist(["auto", "last_messages"]), last_messages: atLeast(1) }),
  ),
  tool_choice: toolChoice,
  parallel_tool_calls: v.nullish(v.boolean()),
  response_format: responseFormat,
};

/** Body of `POST /threads/{id}/runs`. */
export const RunRequest = v.looseObject(runEntries);

/** Body of `POST /threads/runs`. */
export const ThreadRunRequest = v.looseObject({ ...runEntries, thread: v.nullish(ThreadRequest) });

/** Body of `POST /threads/{id}/runs/{id}/submit_tool_outputs`. */
export const ToolOutputs = v.looseObject({
  tool_outputs: v.array(v.looseObject({ tool_call_id: v.nullish(v.string()), output: v.nullish(v.string()) })),
  stream: v.nullish(v.boolean()),
});

const recordEntries = { id: v.string(), object: v.string(), created_at: v.number(), metadata };

/** An assistant. */
export const Assistant = v.looseObject({ ...recordEntries, ...assistantEntries, model: v.string() });

/** A thread. */
export const Thread = v.looseObject({ ...recordEntries, tool_resources: toolResources });

/** A message of a thread. */
export const ThreadMessage = v.looseObject({
  ...recordEntries,
  thread_id: v.string(),
  status: v.nullish(v.picklist(["in_progress", "incomplete", "completed"])),
  incomplete_details: v.nullish(v.looseObject({ reason: v.string() })),
  completed_at: time,
  incomplete_at: time,
  role: v.picklist(["user", "assistant"]),
  content: v.array(v.looseObject({})),
  assistant_id: v.nullish(v.string()),
  run_id: v.nullish(v.string()),
  attachments: v.nullish(v.array(v.looseObject({}))),
});

const failure = v.nullish(v.looseObject({ code: v.string(), message: v.string() }));

/** A run of a thread. */
export const Run = v.looseObject({
  ...recordEntries,
  thread_id: v.string(),
  assistant_id: v.string(),
  status: v.picklist([
    "queued",
    "in_progress",
    "requires_action",
    "cancelling",
    "cancelled",
    "failed",
    "completed",
    "incomplete",
    "expired",
  ]),
  required_action: v.nullish(v.looseObject({ type: v.string(), submit_tool_outputs: member })),
  last_error: failure,
  expires_at: time,
  started_at: time,
  cancelled_at: time,
  failed_at: time,
  completed_at: time,
  incomplete_details: v.nullish(v.looseObject({ reason: v.nullish(v.string()) })),
  model: v.string(),
  instructions: v.nullish(v.string()),
  tools: v.nullish(v.array(v.looseObject({}))),
  usage: member,
  temperature: v.nullish(v.number()),
  top_p: v.nullish(v.number()),
  max_prompt_tokens: v.nullish(v.number()),
  max_completion_tokens: v.nullish(v.number()),
  truncation_strategy: member,
  tool_choice: toolChoice,
  parallel_tool_calls: v.nullish(v.boolean()),
  response_format: responseFormat,
});

/** A step of a run. */
export const RunStep = v.looseObject({
  ...recordEntries,
  assistant_id: v.string(),
  thread_id: v.string(),
  run_id: v.string(),
  type: v.picklist(["message_creation", "tool_calls"]),
  status: v.picklist(["in_progress", "cancelled", "failed", "completed", "expired"]),
  step_details: v.looseObject({}),
  last_error: failure,
  expired_at: time,
  cancelled_at: time,
  failed_at: time,
  completed_at: time,
  usage: member,
});

/** Response of `DELETE`. */
export const Deleted = v.looseObject({ id: v.string(), object: v.nullish(v.string()), deleted: v.boolean() });

/** A page of records. */
export function pageOf<Item extends v.GenericSchema>(item: Item) {
  return v.looseObject({
    object: v.nullish(v.string()),
    data: v.array(item),
    first_id: v.nullish(v.string()),
    last_id: v.nullish(v.string()),
    has_more: v.nullish(v.boolean()),
  });
}
