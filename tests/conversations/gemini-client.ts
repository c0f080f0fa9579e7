import { isObject } from "../../src/lib/json.ts";
import {
  type Client,
  firstHalf,
  type HeardCall,
  type Members,
  objectsOf,
  pickAgent,
  pixel,
  readStream,
  readWhole,
  type Setup,
  type Step,
  textIn,
} from "./client.ts";

/** How an agent writes requests of the Gemini API (sources: the packages of that name, as released in November 2026). */
interface GeminiAgent {
  name: string;
  /** Calls that came without a signature are sent back with this one. */
  missingSignature?: string;
  /** Ids of calls are sent back. */
  sendsIds: boolean;
  /** Images of results stand inside the response of the function. */
  nestsImages: boolean;
  /** The form in which thinking is asked for. */
  thinking: "level" | "budget";
  /** Sampling that is always sent. */
  sampling?: Members;
  more: Members;
}

const agents: readonly GeminiAgent[] = [
  { name: "google SDK", sendsIds: true, nestsImages: false, thinking: "level", more: {} },
  // packages/core/src/core/geminiChat.ts: the first call of a turn needs a signature
  ...(["level", "budget"] as const).map((thinking) => ({
    name: "gemini-cli",
    missingSignature: "skip_thought_signature_validator",
    sendsIds: true,
    nestsImages: thinking === "level",
    thinking,
    sampling: { temperature: 1, topP: 0.95, topK: 64 },
    more: {},
  })),
  {
    name: "AI SDK",
    sendsIds: false,
    nestsImages: false,
    thinking: "budget",
    more: { toolConfig: { functionCallingConfig: { mode: "AUTO" } } },
  },
  {
    name: "LangChain",
    sendsIds: false,
    nestsImages: false,
    thinking: "budget",
    more: { safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }] },
  },
];

/** Models whose results stand in separate turns (https://github.com/agentgateway/agentgateway/issues/2811). */
const takesResultsAlone = /gemini-(?:3\.[6-9]|[4-9]|(?:pro|flash)-latest)/;

const inlineData = { mimeType: "image/png", data: pixel };

const partsOf = (value: Members): Members[] => {
  const [candidate] = objectsOf(value.candidates);
  return isObject(candidate?.content) ? objectsOf(candidate.content.parts) : [];
};

function toThinking({ effort }: Setup, { thinking }: GeminiAgent): Members {
  if (effort === undefined) return {};
  if (effort === "off") return { thinkingConfig: { thinkingBudget: 0 } };
  if (thinking === "budget") {
    const thinkingBudget = effort === "low" ? 1_024 : effort === "max" ? -1 : 8_192;
    return { thinkingConfig: { thinkingBudget, includeThoughts: true } };
  }
  const thinkingLevel = effort === "xhigh" || effort === "max" ? "high" : effort;
  return { thinkingConfig: { thinkingLevel, includeThoughts: true } };
}

/** The fields of a request that stay the same. */
function toFields(setup: Setup, agent: GeminiAgent): Members {
  const { toolConfig, ...more } = agent.more;
  return {
    ...(setup.instructions !== "" && { systemInstruction: { role: "user", parts: [{ text: setup.instructions }] } }),
    ...(setup.tools.length > 0 && {
      tools: [
        {
          functionDeclarations: setup.tools.map(({ name, description, schema }) => ({
            name,
            description,
            parametersJsonSchema: schema,
          })),
        },
      ],
      ...(toolConfig !== undefined && { toolConfig }),
    }),
    generationConfig: {
      maxOutputTokens: setup.maxTokens,
      ...agent.sampling,
      ...(setup.temperature !== undefined && { temperature: setup.temperature }),
      ...toThinking(setup, agent),
    },
    ...more,
  };
}

/** Parts of a turn as they are sent back: the first call has a signature where the agent demands one. */
function toSent(parts: readonly Members[], { missingSignature, sendsIds }: GeminiAgent): Members[] {
  const first = parts.findIndex(({ functionCall: call }) => isObject(call));
  return parts.map((part, index) => {
    const { functionCall: call } = part;
    if (!isObject(call)) return part;
    const { id: _, ...rest } = call;
    const lacksSignature = missingSignature !== undefined && index === first && part.thoughtSignature === undefined;
    return {
      ...part,
      functionCall: sendsIds ? call : rest,
      ...(lacksSignature && { thoughtSignature: missingSignature }),
    };
  });
}

function toResult({ id, name }: HeardCall, { text, isError, hasImage }: Step["outcomes"][number], agent: GeminiAgent) {
  return {
    functionResponse: {
      ...(id !== "" && agent.sendsIds && { id }),
      name,
      response: isError ? { error: text } : { output: text },
      ...(hasImage && agent.nestsImages && { parts: [{ inlineData }] }),
    },
  };
}

/** What is left of a response that the user interrupted. */
function cut(parts: readonly Members[]): Members[] {
  const isText = parts.length > 0 && parts.every(({ text, thought }) => typeof text === "string" && thought !== true);
  return isText ? [{ text: firstHalf(parts.map(({ text }) => textIn(text)).join("")) }] : [];
}

/** A client of the Gemini API, as Gemini CLI is one. */
export function createGeminiClient(setup: Setup): Client {
  const agent = pickAgent(agents, setup);
  const fields = toFields(setup, agent);
  const contents: Members[] = [];
  let heard: Members[] = [];
  let calls: HeardCall[] = [];
  return {
    // reasoning comes only where it is asked for
    showsReasoning: setup.effort !== undefined,
    path: (model) => {
      const verb = setup.streams ? "streamGenerateContent?alt=sse" : "generateContent";
      return `/v1beta/models/${model}:${verb}`;
    },
    headers: {},
    ask({ outcomes, text, hasImage, instruction, isCut = false }, model) {
      const kept = isCut ? cut(heard) : toSent(heard, agent);
      if (kept.length > 0) contents.push({ role: "model", parts: kept });
      const results = outcomes.map((outcome, index) => toResult(calls[index] as HeardCall, outcome, agent));
      const showsResult = !agent.nestsImages && outcomes.some((outcome) => outcome.hasImage);
      const said = [text, instruction].filter((one) => one !== "").map((one) => ({ text: one }));
      const shown = [...(hasImage || showsResult ? [{ inlineData }] : []), ...said];
      const turns = takesResultsAlone.test(model) ? [results, shown] : [[...results, ...shown]];
      contents.push(...turns.filter((parts) => parts.length > 0).map((parts) => ({ role: "user", parts })));
      return { ...fields, contents: [...contents] };
    },
    async hear(response) {
      heard = setup.streams ? (await readStream(response)).flatMap(partsOf) : partsOf(await readWhole(response));
      calls = heard.flatMap(({ functionCall: call }): HeardCall[] =>
        isObject(call)
          ? [{ id: textIn(call.id), name: String(call.name), arguments: JSON.stringify(call.args ?? {}) }]
          : [],
      );
      const all = (isThought: boolean) =>
        heard.flatMap(({ text, thought }) => ((thought === true) === isThought ? [textIn(text)] : [])).join("");
      return { text: all(false), reasoning: all(true), calls };
    },
  };
}
