import * as v from "valibot";
import { JsonObject } from "./objects.ts";

/** Effort levels of reasoning, from the least to the most. */
export const effortLevels = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type EffortLevel = (typeof effortLevels)[number];

/** What requests and responses hold, by OpenRouter's words (https://openrouter.ai/docs/guides/overview/models). */
const modalities = ["text", "image", "file", "audio", "video", "embeddings"] as const;

/** Shortest limit of a name that leaves room for a digest. */
const leastNameLength = 16;

const noMember = "has no such field";
const flag = v.boolean("must be true or false");
const choice = <const Options extends readonly string[]>(options: Options) =>
  v.picklist(options, `must be one of ${options.join(", ")}`);
const count = (least: number) =>
  v.pipe(
    v.number("must be a number"),
    v.integer("must be a whole number"),
    v.minValue(least, `must be at least ${least}`),
    v.maxValue(1_000_000_000, "must be at most 1000000000"),
  );
const described = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.exactOptional(v.pipe(schema, v.description(description)));

const modalityList = v.pipe(
  v.array(choice(modalities), "must be a list"),
  v.maxLength(modalities.length, `must have at most ${modalities.length} entries`),
  v.readonly(),
);

/** A field of a request, or a word that a field may hold. */
const Field = v.pipe(
  v.string("must be a string"),
  v.minLength(1, "must not be empty"),
  v.maxLength(100, "must have at most 100 characters"),
);

/**
 * What a model takes and has. A member that is absent is not known to differ from OpenAI's chat completions. Facts are plain
 * JSON, so that operators can give them for models that are newer than the release.
 */
export const ModelFacts = v.strictObject(
  {
    sampling: described(
      choice(["any", "one", "none"]),
      "Sampling fields (`temperature`, `top_p`, `top_k`): any, one of them, or none. Default: any.",
    ),
    takesMaxTokens: described(
      flag,
      "Whether chat completions take `max_tokens`, the older name of `max_completion_tokens`. Default: yes.",
    ),
    efforts: described(
      v.pipe(
        v.array(choice(effortLevels), "must be a list"),
        v.maxLength(7, "must have at most 7 entries"),
        v.readonly(),
      ),
      "Effort levels. An empty list: the model takes no effort. Default: any level is sent.",
    ),
    effortWord: described(
      Field,
      "The host's word for any effort but `none`, where it has no levels. Default: it has the levels.",
    ),
    reasoningFormat: described(
      Field,
      "Value of `reasoning_format` that keeps reasoning apart from the text. Default: the field is not sent.",
    ),
    thinking: described(
      choice(["adaptive", "budget", "either", "level", "switch", "template", "effort", "none"]),
      "The form in which the model is asked to think: a budget that it chooses, one in tokens, either of them, a level, a switch, a setting of its chat template, or an effort level alone; `none`: it does not think. Default: an effort level, and `thinking` as it is where the host has it.",
    ),
    thinkingBudget: described(
      v.pipe(
        v.strictTuple([count(0), count(0)], "must be a list of two numbers"),
        v.check(([least, most]) => least <= most, "must begin with the lower number"),
        v.readonly(),
      ),
      "Least and greatest thinking budget in tokens.",
    ),
    canStopThinking: described(flag, "Whether thinking can be turned off. Default: yes."),
    thinksByDefault: described(flag, "Whether it thinks unless it is asked not to. Default: no."),
    thinksInStreamsOnly: described(flag, "Whether it thinks only where its response is streamed. Default: no."),
    toolChoice: described(
      choice(["any", "auto", "required", "unthinking"]),
      "What a request may say of calls: anything, only `auto`, that some call is required but not which, or anything while the model does not think. Default: anything.",
    ),
    refusedFields: described(
      v.pipe(v.array(Field, "must be a list"), v.maxLength(100, "must have at most 100 entries"), v.readonly()),
      "Fields of requests that the model refuses. They are left out. Default: none.",
    ),
    refusedMessageFields: described(
      v.pipe(v.array(Field, "must be a list"), v.maxLength(100, "must have at most 100 entries"), v.readonly()),
      "Fields of messages that the model refuses. They are left out. Default: none.",
    ),
    refusedResponsesTools: described(
      v.pipe(v.array(Field, "must be a list"), v.maxLength(100, "must have at most 100 entries"), v.readonly()),
      "Types of tools that the host's Responses API refuses, such as `namespace`: functions stand for these tools. Default: none.",
    ),
    chatServesToolsWithReasoning: described(
      flag,
      "Whether chat completions serve functions together with reasoning. Default: yes.",
    ),
    toolNameLength: described(count(leastNameLength), "Greatest length of a function's name. Default: 64."),
    toolNamesBeginWithLetter: described(
      flag,
      "Whether names of functions begin with a letter or an underscore. Default: no.",
    ),
    callIds: described(
      choice(["any", "plain", "nine"]),
      "Ids of tool calls: any, letters with digits, hyphens and underscores, or nine letters and digits. Default: any.",
    ),
    takesRootCombinators: described(
      flag,
      "Whether a function's schema may have `anyOf`, `oneOf` or `allOf` at its root. Default: no.",
    ),
    lateInstructions: described(
      choice(["system", "user"]),
      "Where an instruction in mid conversation goes: it stays an instruction, or becomes the user's. Default: it stays.",
    ),
    takesPrefill: described(
      flag,
      "Whether a conversation may end with the beginning of the answer; else a message of the user asks to continue. Default: yes.",
    ),
    alternatesRoles: described(
      flag,
      "Whether users and answers must alternate, apart from calls and their results. Default: no.",
    ),
    systemTurns: described(
      flag,
      "Whether the Messages API takes turns of the role `system` in mid conversation, where the host does. Default: no.",
    ),
    parsesArguments: described(flag, "Whether arguments of earlier calls must be JSON objects. Default: no."),
    needsReasoningOfCalls: described(
      flag,
      "Whether calls of earlier turns need the reasoning they came with, if only an empty one. Default: no.",
    ),
    needsTextOfCalls: described(
      flag,
      "Whether calls of earlier turns need a text beside them, if only an empty one. Default: no.",
    ),
    takesReasoning: described(flag, "Whether messages may carry the reasoning of earlier turns. Default: yes."),
    refusesEmptyReasoning: described(
      flag,
      "Whether that reasoning must not be empty, so that a blank stands for it. Default: no.",
    ),
    needsCallSignatures: described(
      flag,
      "Whether calls of earlier turns need the model's signature, or a placeholder for it. Default: no.",
    ),
    takesInstructions: described(flag, "Whether it takes instructions apart from the conversation. Default: yes."),
    responseSchemas: described(
      choice(["native", "beta", "subset", "none"]),
      "JSON schemas of responses: taken, taken with a beta, taken in a subset of OpenAPI's schemas only, or not taken. Default: taken.",
    ),
    images: described(
      choice(["any", "inline", "none"]),
      "Images in requests: by URL and inline, inline only (the gateway fetches those at web addresses), or none. Default: both.",
    ),
    contextWindow: described(count(1), "Tokens of input and output together. Default: not known."),
    maxInputTokens: described(count(1), "Most tokens of input. Default: the context window."),
    maxOutputTokens: described(count(1), "Most tokens of output. Default: not known."),
    inputs: described(modalityList, "What requests may hold; `file` stands for PDF documents. Default: not known."),
    outputs: described(modalityList, "What responses hold. Default: not known."),
    takesTools: described(flag, "Whether it calls functions. Default: not known."),
    reasons: described(flag, "Whether it can reason before it answers. Default: not known."),
    retiredOn: described(
      v.pipe(v.string("must be a string"), v.isoDate("must be a day such as 2026-11-27")),
      "Day on which the provider stops serving the model, as YYYY-MM-DD. Default: none is known.",
    ),
  },
  noMember,
);
export type ModelFacts = Readonly<v.InferOutput<typeof ModelFacts>>;

/** A name of a model, or a pattern of names. */
const Pattern = v.pipe(
  v.string("must be a string"),
  v.minLength(1, "must not be empty"),
  v.maxLength(255, "must have at most 255 characters"),
  v.check((pattern) => pattern === pattern.toLowerCase(), "must be in lower case"),
  v.check((pattern) => pattern.split("*").length <= 5, "must have at most 4 asterisks"),
);

/**
 * What an operator says of models, by the slug of the provider: the rows of a table of facts. They take precedence over the
 * table of the release, member by member.
 */
export const OperatorFacts = v.pipe(
  JsonObject,
  v.record(
    v.string(),
    v.strictObject(
      {
        read: v.exactOptional(v.string("must be a string")),
        sources: v.exactOptional(v.array(v.string("must be a string"), "must be a list")),
        rows: v.array(
          v.strictObject(
            {
              match: v.pipe(v.array(Pattern, "must be a list"), v.minLength(1, "must name a model")),
              facts: ModelFacts,
            },
            noMember,
          ),
          "must be a list",
        ),
      },
      noMember,
    ),
    "must be an object",
  ),
);
export type OperatorFacts = v.InferOutput<typeof OperatorFacts>;
