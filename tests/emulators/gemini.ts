import { isObject } from "../../src/lib/json.ts";
import type { TransportInit } from "../../src/lib/outbound.ts";
import {
  type EmulatedRequest,
  type Emulator,
  eventStream,
  jsonResponse,
  type Members,
  type Memory,
  type ModelTurn,
  objectsOf,
  type Rule,
  readRequest,
  toPieces,
} from "./emulator.ts";
import { geminiMembers, type KnownMembers, knownMembers, type MessageName, vertexMembers } from "./gemini-members.ts";
import { thinkingRules } from "./gemini-models.ts";
import { declarationsOf, schemaRules } from "./gemini-schema.ts";

/** Pages of the documentation, as read in November 2026. */
const docs = "https://ai.google.dev";
const sources = {
  content: `${docs}/api/caching#Content`,
  part: `${docs}/api/caching#Part`,
  functions: `${docs}/gemini-api/docs/function-calling`,
  signatures: `${docs}/gemini-api/docs/thought-signatures`,
  media: `${docs}/gemini-api/docs/image-understanding#supported-formats`,
  instructions: `${docs}/api/generate-content#request-body`,
  unknown: "https://github.com/datastax/astra-assistants-api/issues/73 (message of the API)",
  turns: "https://github.com/google-gemini/gemini-cli/issues/26486 (message of the API, May 2026)",
  results: "https://github.com/google-gemini/gemini-cli/issues/21830 (message of the API, March 2026)",
  resultTurns: "https://github.com/agentgateway/agentgateway/issues/2811 (gemini-3.6-flash, August 2026)",
  jsonWithTools: "https://github.com/symfony/ai/issues/1777 (message of the API, 2.5, March 2026)",
  penalties: "https://github.com/Ikalus1988/MisakaNet/issues/1473 (gemini-3.7-flash and 3.8, September 2026)",
} as const;

/** Signatures that Google documents for calls of other models. */
const placeholders = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];
/** Models that need signatures of calls: generation 3 and later, and the names that stand for the newest. */
const signing = /gemini-(?:[3-9]|[a-z-]+-latest)/;
/** Models that want results of calls in a separate turn. */
const strictTurns = /gemini-(?:3\.[6-9]|[4-9]|[a-z-]+-latest)/;

const contentsOf = ({ body }: EmulatedRequest): Members[] => objectsOf(body.contents);
const partsOf = (content: Members | undefined): Members[] => objectsOf(content?.parts);
const callsIn = (content: Members | undefined): Members[] =>
  partsOf(content).flatMap(({ functionCall: call }) => (isObject(call) ? [call] : []));
const resultsIn = (content: Members | undefined): Members[] =>
  partsOf(content).flatMap(({ functionResponse: result }) => (isObject(result) ? [result] : []));

const unknownName = (name: string, place: string): string =>
  `Invalid JSON payload received. Unknown name "${name}" at '${place}': Cannot find field.`;

/** The first member that the host does not know. */
function findUnknown(request: EmulatedRequest, known: KnownMembers): string | undefined {
  const { body } = request;
  const foreign = Object.keys(body).find((name) => !known.request.has(name));
  if (foreign) return `Invalid JSON payload received. Unknown name "${foreign}": Cannot find field.`;
  const find = (value: unknown, message: MessageName, place: string): string | undefined => {
    if (!isObject(value)) return undefined;
    const name = Object.keys(value).find((one) => !known.of(message).has(one));
    return name && unknownName(name, place);
  };
  const config = isObject(body.generationConfig) ? body.generationConfig : {};
  const instructions = isObject(body.systemInstruction) ? [body.systemInstruction] : [];
  const faults = [
    find(config, "GenerationConfig", "generation_config"),
    find(config.thinkingConfig, "ThinkingConfig", "generation_config.thinking_config"),
    ...declarationsOf(request).map((one) => find(one, "FunctionDeclaration", "tools[0].function_declarations[0]")),
    ...[...contentsOf(request), ...instructions].flatMap((content) => [
      find(content, "Content", "contents[0]"),
      ...partsOf(content).flatMap((part) => [
        find(part, "Part", "contents[0].parts[0]"),
        find(part.functionCall, "FunctionCall", "contents[0].parts[0].function_call"),
        find(part.functionResponse, "FunctionResponse", "contents[0].parts[0].function_response"),
      ]),
    ]),
  ];
  return faults.find((fault) => fault !== undefined);
}

/** What a part holds, of which it has exactly one. */
const dataMembers = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
];
/** The API sends empty strings with a signature itself, and takes them back. */
const isEmptyText = ({ text, thoughtSignature }: Members): boolean => text === "" && thoughtSignature === undefined;

function findPartFault(content: Members, place: string): string | undefined {
  const parts = partsOf(content);
  if (parts.length === 0) return `* GenerateContentRequest.${place}.parts: contents.parts must not be empty.`;
  for (const [index, part] of parts.entries()) {
    const held = dataMembers.filter((name) => part[name] !== undefined);
    if (held.length !== 1 || isEmptyText(part)) {
      return `* GenerateContentRequest.${place}.parts[${index}].data: required oneof field 'data' must have one initialized field`;
    }
  }
  return undefined;
}

/** Calls and results, each turn of results right after its turn of calls. */
function findTurnFault(contents: readonly Members[]): string | undefined {
  for (const [index, content] of contents.entries()) {
    const before = contents[index - 1];
    const results = resultsIn(content).length;
    if (callsIn(content).length > 0 && before?.role !== "user") {
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
    }
    if (results > 0 && callsIn(before).length === 0) {
      return "Please ensure that function response turn comes immediately after a function call turn.";
    }
    const calls = callsIn(before).length;
    if (calls > 0 && results !== calls) {
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    }
  }
  return undefined;
}

/** Results of a turn name the functions of its calls, each as often. */
function findNameFault(contents: readonly Members[]): string | undefined {
  for (const [index, content] of contents.entries()) {
    const names = (list: readonly Members[]) => list.map(({ name }) => String(name));
    const [called, answered] = [names(callsIn(contents[index - 1])), names(resultsIn(content))];
    if (answered.length > 0 && JSON.stringify(called) !== JSON.stringify(answered)) {
      return `Function response names ${answered.join(", ")} do not match the function calls ${called.join(", ")}.`;
    }
  }
  return undefined;
}

/** The first content of the current turn: what follows the last one in which the user says something. */
function startOfTurn(contents: readonly Members[]): number {
  return contents.findLastIndex(
    (content) =>
      content.role === "user" && partsOf(content).some(({ functionResponse: result }) => result === undefined),
  );
}

function findMissingSignature(contents: readonly Members[]): string | undefined {
  for (let index = startOfTurn(contents) + 1; index < contents.length; index++) {
    const first = partsOf(contents[index]).find(({ functionCall: call }) => call !== undefined);
    if (!first || first.thoughtSignature) continue;
    const { name } = first.functionCall as Members; // the part above has one
    return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Function call \`default_api:${name}\`, position ${index}.`;
  }
  return undefined;
}

/** Signatures are the model's own, on the parts it put them on. */
function findForeignSignature(contents: readonly Members[], memory: Memory): string | undefined {
  for (const part of contents.flatMap(partsOf)) {
    const { thoughtSignature: signature, functionCall: call } = part;
    if (signature === undefined || placeholders.includes(String(signature))) continue;
    const handed = memory.find(signature)?.blocks.find((one) => one.thoughtSignature === signature);
    if (!handed) return "Corrupted thought signature.";
    const nameOf = (value: unknown) => (isObject(value) ? value.name : undefined);
    if (nameOf(call) !== nameOf(handed.functionCall)) return "Thought signature is not valid.";
  }
  return undefined;
}

/** Types of inline media that the documentation lists. */
const mediaTypes = /^(?:image\/(?:png|jpeg|webp|heic|heif)|application\/pdf|(?:text|audio|video)\/[a-z0-9.+-]+)$/;

const contentRules = (known: KnownMembers): readonly Rule[] => [
  { id: "unknown-member", source: sources.unknown, find: (request) => findUnknown(request, known) },
  {
    id: "contents",
    source: sources.content,
    find: (request) => {
      const contents = contentsOf(request);
      if (contents.length === 0) return "* GenerateContentRequest.contents: contents is not specified";
      for (const [index, content] of contents.entries()) {
        const fault = findPartFault(content, `contents[${index}]`);
        if (fault) return fault;
      }
      return undefined;
    },
  },
  {
    id: "roles",
    source: sources.content,
    find: (request) => {
      const contents = contentsOf(request);
      const wrong = contents.find(({ role }) => role !== "user" && role !== "model");
      if (wrong) return "Please use a valid role: user, model.";
      return contents[0]?.role === "user" ? undefined : "Please ensure that the conversation begins with a user turn.";
    },
  },
  {
    id: "turns",
    source: `${sources.turns}; ${sources.results}`,
    find: (request) => findTurnFault(contentsOf(request)),
  },
  {
    id: "result-names",
    source: `${sources.part} (FunctionResponse.name matches the call's)`,
    find: (request) => findNameFault(contentsOf(request)),
  },
  {
    id: "result-turns",
    source: sources.resultTurns,
    models: strictTurns,
    find: (request) => {
      const mixed = contentsOf(request).some(
        (content) => resultsIn(content).length > 0 && resultsIn(content).length < partsOf(content).length,
      );
      const last = contentsOf(request).at(-1);
      return mixed || last?.role === "model" ? "Requests ending with a model turn are not supported" : undefined;
    },
  },
  {
    id: "signatures",
    source: sources.signatures,
    models: signing,
    find: (request) => findMissingSignature(contentsOf(request)),
  },
  {
    id: "own-signatures",
    source: sources.signatures,
    find: (request, memory) => findForeignSignature(contentsOf(request), memory),
  },
  {
    id: "signature-form",
    source: `${sources.part} (thoughtSignature is base64)`,
    find: (request) => {
      const wrong = contentsOf(request)
        .flatMap(partsOf)
        .find(({ thoughtSignature: one }) => one !== undefined && !/^[A-Za-z0-9+/_-]+={0,2}$/.test(String(one)));
      return wrong && "Invalid value at 'contents[0].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed";
    },
  },
  {
    id: "call-arguments",
    source: `${sources.part} (FunctionCall.args and FunctionResponse.response are objects)`,
    find: (request) => {
      const wrong = contentsOf(request).some(
        (content) =>
          callsIn(content).some(({ args }) => args !== undefined && !isObject(args)) ||
          resultsIn(content).some(({ response }) => !isObject(response)),
      );
      return wrong ? "Invalid value at 'contents[0].parts[0]' (type.googleapis.com/google.protobuf.Struct)" : undefined;
    },
  },
  {
    id: "media",
    source: sources.media,
    find: (request) => {
      const found = contentsOf(request)
        .flatMap(partsOf)
        .flatMap(({ inlineData: data }) => (isObject(data) ? [data] : []));
      const wrong = found.find(({ mimeType, data }) => !mediaTypes.test(String(mimeType)) || typeof data !== "string");
      return wrong && `Unsupported MIME type: ${wrong.mimeType}`;
    },
  },
  {
    id: "system-instruction",
    source: sources.instructions,
    find: ({ body }) => {
      const { systemInstruction: given } = body;
      if (given === undefined) return undefined;
      const parts = isObject(given) ? partsOf(given) : [];
      const isText = parts.length > 0 && parts.every((part) => typeof part.text === "string" && !isEmptyText(part));
      return isText ? undefined : "Invalid value at 'system_instruction': only text is supported";
    },
  },
];

const toolRules: readonly Rule[] = [
  {
    id: "function-names",
    source: `${docs}/api/caching#FunctionDeclaration`,
    find: (request) => {
      const names = declarationsOf(request).map(({ name }) => String(name));
      const wrong = names.findIndex((name) => !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(name));
      if (wrong >= 0) {
        return `* GenerateContentRequest.tools[0].function_declarations[${wrong}].name: Invalid function name. Must start with a letter or an underscore.`;
      }
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      return twice && `Duplicate function declaration found: ${twice}`;
    },
  },
  {
    id: "function-schemas",
    source: `${docs}/api/caching#FunctionDeclaration`,
    find: (request) =>
      declarationsOf(request).some((one) => one.parameters !== undefined && one.parametersJsonSchema !== undefined)
        ? "Only one of parameters and parameters_json_schema may be set."
        : undefined,
  },
  {
    id: "json-with-functions",
    source: sources.jsonWithTools,
    models: /gemini-(?:1|2)/,
    find: (request) => {
      const { generationConfig: config } = request.body;
      const isJson = isObject(config) && config.responseMimeType === "application/json";
      return isJson && declarationsOf(request).length > 0
        ? "Function calling with a response mime type: 'application/json' is unsupported"
        : undefined;
    },
  },
  {
    id: "forced-functions",
    source: sources.functions,
    find: (request) => {
      const { toolConfig: tools } = request.body;
      const calling = isObject(tools) && isObject(tools.functionCallingConfig) ? tools.functionCallingConfig : {};
      const allowed = Array.isArray(calling.allowedFunctionNames) ? calling.allowedFunctionNames : [];
      const names = new Set(declarationsOf(request).map(({ name }) => name));
      if (allowed.some((name) => !names.has(name))) return "allowed_function_names must be among function_declarations";
      return calling.mode === "ANY" && names.size === 0
        ? "Function calling mode ANY needs function declarations"
        : undefined;
    },
  },
  {
    id: "penalties",
    source: sources.penalties,
    models: /gemini-(?:3\.[7-9]|[4-9])/,
    find: ({ body }) => {
      const config = isObject(body.generationConfig) ? body.generationConfig : {};
      return config.presencePenalty !== undefined || config.frequencyPenalty !== undefined
        ? "Penalty is not enabled for this model"
        : undefined;
    },
  },
];

const rulesOf = (known: KnownMembers): readonly Rule[] => [
  ...contentRules(known),
  ...toolRules,
  ...schemaRules(known),
  ...thinkingRules,
];

/** How a host writes responses. */
interface HostForm {
  /** Calls have ids. */
  hasCallIds(model: string): boolean;
  /** Responses have ids. */
  hasResponseIds(model: string): boolean;
}

const configOf = ({ body }: EmulatedRequest): Members => (isObject(body.generationConfig) ? body.generationConfig : {});

function showsThinking(request: EmulatedRequest): boolean {
  const { thinkingConfig: config } = configOf(request);
  return isObject(config) && config.includeThoughts === true;
}

/** The name under which a function was declared: hosts take short names only, which end in a digest. */
function toDeclaredName(name: string, request: EmulatedRequest): string {
  const names = declarationsOf(request).map((one) => String(one.name));
  return names.includes(name) ? name : (names.find((one) => name.startsWith(one.replace(/_[0-9a-f]{8}$/, ""))) ?? name);
}

/** The parts of a response: the first call is signed, or else the last text. */
function toParts({ said }: ModelTurn, request: EmulatedRequest, memory: Memory, form: HostForm): Members[] {
  const parts = said.flatMap((one): Members[] => {
    if (one.kind === "thinking") return showsThinking(request) ? [{ text: one.text, thought: true }] : [];
    if (one.kind === "text") return [{ text: one.text }];
    const id = form.hasCallIds(request.model) ? { id: `fc${memory.next()}` } : {};
    const name = toDeclaredName(one.name, request);
    return [{ functionCall: { ...id, name, args: isObject(one.arguments) ? one.arguments : {} } }];
  });
  const signed =
    parts.find(({ functionCall: call }) => call !== undefined) ?? parts.findLast(({ thought }) => !thought);
  if (signed && signing.test(request.model)) {
    const signature = btoa(`gemini signature ${memory.next()}`);
    signed.thoughtSignature = signature;
    memory.hand(signature, { model: request.model, blocks: parts });
  }
  return parts;
}

/** A part in the slices of a stream; a signature of text comes at its end. */
function toSlices(part: Members): Members[] {
  if (typeof part.text !== "string") return [part];
  const { text, thoughtSignature: signature, ...rest } = part;
  const slices: Members[] = toPieces(String(text)).map((piece) => ({ ...rest, text: piece }));
  return signature === undefined ? slices : [...slices, { ...rest, text: "", thoughtSignature: signature }];
}

const usageMetadata = {
  promptTokenCount: 40,
  candidatesTokenCount: 12,
  totalTokenCount: 52,
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 40 }],
};

function answerAs(form: HostForm) {
  return (turn: ModelTurn, request: EmulatedRequest, memory: Memory): Response => {
    const parts = toParts(turn, request, memory, form);
    const number = memory.next();
    const head = {
      modelVersion: request.model,
      ...(form.hasResponseIds(request.model) && { responseId: `resp-${number}_a` }),
    };
    const candidate = (given: readonly Members[], finish: Members): Members => ({
      candidates: [{ content: { role: "model", parts: given }, ...finish, index: 0 }],
      usageMetadata,
      ...head,
    });
    const end = { finishReason: "STOP" };
    if (!request.streams) return jsonResponse(candidate(parts, end));
    const slices = parts.flatMap(toSlices);
    const last = slices.length - 1;
    const events = slices.map((slice, index) => ({ data: candidate([slice], index === last ? end : {}) }));
    return eventStream(events.length > 0 ? events : [{ data: candidate([], end) }]);
  };
}

/** A request whose path names the model and the form of the response. */
function readFromPath(url: URL, init: TransportInit): EmulatedRequest {
  const request = readRequest(url, init);
  const [, model = "", action = ""] = /\/models\/([^:]+):(\w+)$/.exec(url.pathname) ?? [];
  return { ...request, model: decodeURIComponent(model), streams: action.startsWith("stream") };
}

const prefixOf = ({ body }: EmulatedRequest): readonly unknown[] => [
  body.systemInstruction ?? null,
  body.tools ?? null,
  ...objectsOf(body.contents),
];

const refuse = (message: string): Response =>
  jsonResponse({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }, 400);

/** Whether the model thinks, and shows it where it is asked to. */
const thinks = (model: string): boolean => !/gemini-(?:1|2\.0)|gemma/.test(model);

/** The Gemini API. Responses of generation 2.5 have no ids. */
export const gemini: Emulator = {
  name: "Gemini API",
  native: "gemini",
  showsReasoning: thinks,
  hidesReasoning: true,
  rules: rulesOf(knownMembers(geminiMembers, ["model", "serviceTier", "store"])),
  serves: ({ host, pathname }) =>
    host === "generativelanguage.googleapis.com" && /:(?:stream)?[gG]enerateContent$/.test(pathname),
  read: readFromPath,
  prefixOf,
  refuse,
  answer: answerAs({ hasCallIds: (model) => signing.test(model), hasResponseIds: (model) => !/2\.5/.test(model) }),
};

/** Gemini on Vertex AI. */
export const vertexGemini: Emulator = {
  name: "Gemini on Vertex AI",
  native: "gemini",
  showsReasoning: thinks,
  hidesReasoning: true,
  rules: rulesOf(knownMembers(vertexMembers, ["labels", "modelArmorConfig"])),
  serves: ({ host, pathname }) =>
    host.endsWith("aiplatform.googleapis.com") && pathname.includes("/publishers/google/"),
  read: readFromPath,
  prefixOf,
  refuse,
  answer: answerAs({ hasCallIds: () => false, hasResponseIds: () => true }),
};
