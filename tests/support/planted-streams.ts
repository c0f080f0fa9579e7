// Streams of responses that hold planted values, in each dialect, split at random.

/** Dialects of streams. */
export const streamDialects = ["chat", "messages", "responses", "gemini"] as const;
export type StreamDialect = (typeof streamDialects)[number];

/** Where a response holds a text. */
type Part = "answer" | "thought" | "call";

/** Text of a response, before it is split. */
export interface PlantedPart {
  part: Part;
  choice: number;
  text: string;
}

/** Values that guardrails of the tests find. */
export const plantedValues = [
  "jo.planted@example.com",
  "4111 1111 1111 1111",
  "sk-0123456789abcdefghijklmn",
  "the falcon lands at dawn",
  "kumquat",
  "密码é😀№7",
] as const;

/** Rules that redact them. */
export const redactions = [
  "/[a-z.]{1,30}@[a-z]{1,20}\\.com/g",
  "/\\b\\d{4} \\d{4} \\d{4} \\d{4}\\b/g",
  "/sk-[a-z0-9]{24}/g",
  "/the falcon lands at dawn/g",
  "/\\bkumquat\\b/g",
  "/密码é😀№\\d/g",
];

const words = [
  "Harbour",
  "opens",
  "at",
  "six;",
  "naïve",
  "日本語",
  "falcon",
  "sk-",
  "4111 11",
  "😀",
  "dawn.",
  '"quoted"',
];

/** Responses whose number decides what they hold and where; a fifth holds nothing. */
export function plantedResponse(number: number, dialect: StreamDialect): PlantedPart[] {
  const pick = (index: number) => words[(number * 7 + index * 5) % words.length] ?? "";
  const filler = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => pick(from + index)).join(" ");
  const planted = (part: Part, choice: number, shift: number): PlantedPart => {
    const value = number % 5 === 4 ? "fig" : (plantedValues[(number + shift) % plantedValues.length] ?? "");
    const lead = number % 3 === shift ? "" : `${filler(shift, number % 9)} `;
    return { part, choice, text: `${lead}${value}${number % 2 === 0 ? `, ${filler(shift + 3, 30)}` : ""}` };
  };
  const thought = planted("thought", 0, 1);
  const call: PlantedPart = { part: "call", choice: 0, text: toArguments(planted("call", 0, 2).text) };
  const second = dialect === "chat" ? [planted("answer", 1, 3)] : [];
  return [thought, planted("answer", 0, 0), ...second, call];
}

/** Arguments of a call as Python writes them: in ASCII. */
export function toArguments(note: string): string {
  const written = JSON.stringify({ note, count: 3 });
  return written.replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A text in pieces of 1 to 12 characters. */
function split(text: string, random: () => number): string[] {
  const pieces: string[] = [];
  for (let index = 0; index < text.length; ) {
    const length = 1 + Math.floor(random() * 12);
    // a piece is JSON: it holds no half of a surrogate pair
    const isHalf = /[\ud800-\udbff]/.test(text.charAt(index + length - 1));
    pieces.push(text.slice(index, index + length + (isHalf ? 1 : 0)));
    index += length + (isHalf ? 1 : 0);
  }
  return pieces;
}

const event = (data: object, name?: string) => `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
const typed = (data: { type: string }) => event(data, data.type);

function chatEvents(parts: readonly PlantedPart[], random: () => number): string[] {
  const chunk = (index: number, delta: object, finish_reason: string | null = null) =>
    event({
      id: "x",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index, delta, finish_reason }],
    });
  const deltaOf = (part: Part, piece: string) =>
    part === "answer"
      ? { content: piece }
      : part === "thought"
        ? { refusal: piece }
        : { tool_calls: [{ index: 0, function: { arguments: piece } }] };
  const queues = parts.map(({ part, choice, text }) =>
    split(text, random).map((piece) => chunk(choice, deltaOf(part, piece))),
  );
  const begun = [
    chunk(0, { tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: "" } }] }),
  ];
  // the choices come at once
  const mixed: string[] = [];
  while (queues.some((queue) => queue.length > 0)) {
    const open = queues.filter((queue) => queue.length > 0);
    mixed.push(open[Math.floor(random() * open.length)]?.shift() ?? "");
  }
  const ends = [...new Set(parts.map(({ choice }) => choice))].map((choice) => chunk(choice, {}, "stop"));
  return [...begun, ...mixed, ...ends, "data: [DONE]\n\n"];
}

function messageEvents(parts: readonly PlantedPart[], random: () => number): string[] {
  const blocks = parts.flatMap(({ part, text }, index) => {
    const block = {
      answer: { type: "text", text: "" },
      thought: { type: "thinking", thinking: "", signature: "" },
      call: { type: "tool_use", id: "c", name: "f", input: {} },
    }[part];
    const deltaOf = (piece: string) =>
      ({
        answer: { type: "text_delta", text: piece },
        thought: { type: "thinking_delta", thinking: piece },
        call: { type: "input_json_delta", partial_json: piece },
      })[part];
    return [
      typed({ type: "content_block_start", index, content_block: block } as { type: string }),
      ...split(text, random).map((piece) =>
        typed({ type: "content_block_delta", index, delta: deltaOf(piece) } as { type: string }),
      ),
      typed({ type: "content_block_stop", index } as { type: string }),
    ];
  });
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "x", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage };
  return [
    typed({ type: "message_start", message } as { type: string }),
    ...blocks,
    typed({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage } as { type: string }),
    typed({ type: "message_stop" }),
  ];
}

function responseEvents(parts: readonly PlantedPart[], random: () => number): string[] {
  let sequence_number = 0;
  const numbered = (data: { type: string; [name: string]: unknown }) =>
    typed({ ...data, sequence_number: sequence_number++ } as { type: string });
  const items = parts.map(({ part, text }, index) => {
    const id = `item-${index}`;
    if (part === "answer") {
      return {
        id,
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text, annotations: [] }],
      };
    }
    if (part === "call")
      return { id, type: "function_call", call_id: "c", name: "f", arguments: text, status: "completed" };
    return { id, type: "reasoning", summary: [{ type: "summary_text", text }] };
  });
  const response = { id: "resp_1", object: "response", model: "m", status: "in_progress", output: [] as object[] };
  const kinds = {
    answer: ["response.output_text", "text", { content_index: 0 }],
    thought: ["response.reasoning_summary_text", "text", { summary_index: 0 }],
    call: ["response.function_call_arguments", "arguments", {}],
  } as const;
  const said = parts.flatMap(({ part, text }, output_index) => {
    const [type, member, place] = kinds[part];
    const at = { output_index, item_id: `item-${output_index}`, ...place };
    return [
      numbered({
        type: "response.output_item.added",
        output_index,
        item: { id: at.item_id, type: "message", content: [] },
      }),
      ...split(text, random).map((delta) => numbered({ type: `${type}.delta`, ...at, delta })),
      numbered({ type: `${type}.done`, ...at, [member]: text }),
      numbered({ type: "response.output_item.done", output_index, item: items[output_index] }),
    ];
  });
  return [
    numbered({ type: "response.created", response }),
    ...said,
    numbered({ type: "response.completed", response: { ...response, status: "completed", output: items } }),
  ];
}

function geminiEvents(parts: readonly PlantedPart[], random: () => number): string[] {
  const chunk = (part: object | undefined, finishReason?: string) =>
    event({
      candidates: [
        { content: { role: "model", parts: part ? [part] : [] }, index: 0, ...(finishReason && { finishReason }) },
      ],
      modelVersion: "m",
    });
  const said = parts.flatMap(({ part, text }) => {
    if (part === "call") return [chunk({ functionCall: { name: "f", args: JSON.parse(text) } })];
    return split(text, random).map((piece) => chunk({ text: piece, ...(part === "thought" && { thought: true }) }));
  });
  return [...said, chunk({ text: "" }, "STOP")];
}

/** The events of a response. */
export function toEvents(dialect: StreamDialect, parts: readonly PlantedPart[], random: () => number): string[] {
  return { chat: chatEvents, messages: messageEvents, responses: responseEvents, gemini: geminiEvents }[dialect](
    parts,
    random,
  );
}

interface ChatChoice {
  index: number;
  delta?: Record<string, unknown>;
}

interface Candidate {
  content: { parts: Record<string, unknown>[] };
}

/** What a client joins from the data of the events, by part. */
export function joinTexts(dialect: StreamDialect, events: readonly { data: unknown }[]): Map<string, string> {
  const texts = new Map<string, string>();
  const add = (name: string, text: unknown) => {
    if (typeof text === "string") texts.set(name, (texts.get(name) ?? "") + text);
  };
  for (const { data } of events) {
    const one = Object(data) as { choices?: ChatChoice[]; candidates?: Candidate[]; [name: string]: unknown };
    if (dialect === "chat") {
      for (const { index, delta } of one.choices ?? []) {
        add(`answer ${index}`, delta?.content);
        add(`thought ${index}`, delta?.refusal);
        const calls = (delta?.tool_calls ?? []) as { function: { arguments: string } }[];
        for (const call of calls) add(`call ${index}`, call.function.arguments);
      }
    } else if (dialect === "messages") {
      const delta = Object(one.delta) as Record<string, unknown>;
      add("answer 0", delta.text);
      add("thought 0", delta.thinking);
      add("call 0", delta.partial_json);
    } else if (dialect === "responses") {
      const { type, delta } = one as { type?: string; delta?: string };
      if (type === "response.output_text.delta") add("answer 0", delta);
      if (type === "response.reasoning_summary_text.delta") add("thought 0", delta);
      if (type === "response.function_call_arguments.delta") add("call 0", delta);
    } else {
      for (const { content } of one.candidates ?? []) {
        for (const part of content.parts) {
          if (part.functionCall) add("call 0", JSON.stringify(Object(part.functionCall).args));
          else add(part.thought === true ? "thought 0" : "answer 0", part.text);
        }
      }
    }
  }
  return texts;
}
