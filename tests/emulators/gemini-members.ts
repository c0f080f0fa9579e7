// Members that the Gemini API and Vertex AI know. `gemini-members.test.ts` compares them with the types of Google's SDK.

/** Members that both hosts know, by the name of the message. */
export const sharedMembers = {
  Content: ["parts", "role"],
  Part: [
    "audioTranscription",
    "codeExecutionResult",
    "executableCode",
    "fileData",
    "functionCall",
    "functionResponse",
    "inlineData",
    "mediaResolution",
    "speechMetadata",
    "text",
    "thought",
    "thoughtSignature",
    "videoMetadata",
  ],
  FunctionCall: ["args", "id", "name"],
  FunctionResponse: ["id", "name", "parts", "response", "scheduling"],
  FunctionDeclaration: [
    "behavior",
    "description",
    "name",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
  ],
  Schema: [
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "propertyOrdering",
    "required",
    "title",
    "type",
  ],
  GenerationConfig: [
    "audioTranscriptionConfig",
    "candidateCount",
    "frequencyPenalty",
    "logprobs",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "responseFormat",
    "responseJsonSchema",
    "responseLogprobs",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "seed",
    "speechConfig",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
    "translationConfig",
  ],
  ThinkingConfig: ["includeThoughts", "thinkingBudget", "thinkingLevel"],
} as const;
export type MessageName = keyof typeof sharedMembers;

type HostMembers = Readonly<Partial<Record<MessageName, readonly string[]>>>;

/** Members that only the Gemini API knows. */
export const geminiMembers: HostMembers = {
  Part: ["mediaProcessing", "partMetadata", "toolCall", "toolResponse"],
  FunctionResponse: ["willContinue"],
  GenerationConfig: ["enableEnhancedCivicAnswers"],
};

/** Members that only Vertex AI knows. */
export const vertexMembers: HostMembers = {
  FunctionCall: ["partialArgs", "willContinue"],
  GenerationConfig: ["audioTimestamp", "enableAffectiveDialog", "modelSelectionConfig", "routingConfig"],
};

/** Members that the hosts' references list and the SDK sets from its own options. */
const ofReference: HostMembers = { GenerationConfig: ["imageConfig"] };

/** Members of a request (https://ai.google.dev/api/generate-content#request-body). */
const requestMembers = [
  "cachedContent",
  "contents",
  "generationConfig",
  "safetySettings",
  "systemInstruction",
  "toolConfig",
  "tools",
];

/** What a host knows. */
export interface KnownMembers {
  request: ReadonlySet<string>;
  of(name: MessageName): ReadonlySet<string>;
}

/** All that a host knows. */
export function knownMembers(own: HostMembers, ofRequest: readonly string[]): KnownMembers {
  const names = Object.keys(sharedMembers) as MessageName[]; // keys of the table above
  const sets = new Map(
    names.map((name) => [
      name,
      new Set<string>([...sharedMembers[name], ...(own[name] ?? []), ...(ofReference[name] ?? [])]),
    ]),
  );
  return {
    request: new Set([...requestMembers, ...ofRequest]),
    of: (name) => sets.get(name) ?? new Set(),
  };
}
