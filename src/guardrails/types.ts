import type { GenericSchema } from "valibot";
import type { Clock } from "../lib/clock.ts";
import type { Outbound } from "../lib/outbound.ts";
import type { PatternAmount } from "../lib/pattern.ts";
import type { Steps } from "../lib/steps.ts";
import type { JsonPieces } from "./json-pieces.ts";

/** JSON object of a request or an answer. */
export type Body = Readonly<Record<string, unknown>>;

/** When a hook runs. */
export type Phase = "beforeRequestHook" | "afterRequestHook";

/** Kinds of request, by the names checks and webhooks know them under. */
export const requestTypeNames = [
  "chatComplete",
  "complete",
  "messages",
  "createModelResponse",
  "generateContent",
  "embed",
  "rerank",
  "moderate",
  "ocr",
  "decisions",
  "imageGenerate",
  "imageEdit",
  "createSpeech",
  "createTranscription",
  "createTranslation",
  "messagesCountTokens",
  "countTokens",
  "listModels",
  "realtime",
  "uploadFile",
  "listFiles",
  "retrieveFile",
  "deleteFile",
  "retrieveFileContent",
  "createBatch",
  "listBatches",
  "retrieveBatch",
  "cancelBatch",
  "getBatchOutput",
  "createFinetune",
  "listFinetunes",
  "retrieveFinetune",
  "cancelFinetune",
  "listFinetuneEvents",
  "listFinetuneCheckpoints",
  "getModelResponse",
  "deleteModelResponse",
  "listResponseInputItems",
  "proxy",
] as const;
export type RequestType = (typeof requestTypeNames)[number];

/** What a check looks at, each more than the one before: no body, the model's name, members of the body, its texts. */
export type Reads = "facts" | "model" | "body" | "text";

/** How much of a request checks can see, and whether its answer is seen, says nothing, or passes unseen. */
export interface Visibility {
  readonly request: Reads;
  readonly answer: "seen" | "empty" | "unseen";
}

/** Time checks have for what takes longer the longer a text is; those a request brings share it. */
export interface Work {
  /**
   * Does a piece of it.
   *
   * @throws {CheckError} If there is no time left.
   */
  spend<Result>(piece: () => Result): Result;
  /**
   * Does work that takes long, in slices: others have their turn between.
   *
   * @throws {CheckError} If there is no time left, or it takes too many steps.
   */
  run<Result>(work: Steps<Result>): Promise<Result>;
}

/** What a check sees of one call. Nothing of it may be changed in place. */
export interface CheckInput {
  readonly phase: Phase;
  readonly requestType: RequestType;
  /** Further kinds it counts as in lists of kinds. */
  readonly alsoTypes?: readonly RequestType[];
  /** Further kinds it counts as in lists of what is refused. */
  readonly leadsTo?: readonly RequestType[];
  /** Organisation and workspace of the caller: what a check remembers for one is not shared with another. */
  readonly tenant: string;
  /** Slug of the provider that is called, or is to be. */
  readonly provider: string;
  readonly request: {
    /** The body, parameters of the config and changes of earlier checks applied; empty where it is not read. */
    readonly body: Body;
    /** A header of the client, whatever the case of its name. */
    header(name: string): string | undefined;
    readonly isStreaming: boolean;
    /** An earlier check changed it. */
    readonly isTransformed: boolean;
    /** It has no body and calls no model, such as one for a list of records. */
    readonly isBare?: boolean;
    /** Models it names beside the `model` of its body, and whether something stands there that is no name. */
    otherModels?(body: Body): { readonly names: readonly string[]; readonly isUnclear: boolean };
    /** Headers of the gateway's own for services that get the request. */
    readonly ownHeaders?: Readonly<Record<string, string>>;
  };
  /** The answer; undefined before the call. */
  readonly response: { readonly body: Body; readonly status: number; readonly isTransformed: boolean } | undefined;
  /** What the check is about, part by part: of a request the last turn unless its `scope` says otherwise. */
  readonly texts: readonly string[];
  /** The same as one text, its parts joined by line feeds. */
  readonly text: string;
  /**
   * Whatever else a request says, such as its tools, formats of the answer and members nobody knows: to be looked through,
   * not to be changed. Empty unless the scope is `all`.
   */
  readonly rest: readonly string[];
  /** The JSON in that text; it is looked for once, however many checks ask. */
  readPieces(): Promise<JsonPieces>;
  /** Facts the caller and its key attached. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The hook denies: a check that cannot look at all of a text throws instead of looking at its beginning. */
  readonly mustSeeAll: boolean;
  readonly work: Work;
}

/** What a check says. */
export interface CheckOutcome {
  /** True where nothing stands against the request or answer. */
  readonly pass: boolean;
  /** What was found, for people; small. `explanation` says it in a sentence. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** What was left undone, without a say in the verdict. */
  readonly error?: string;
  /** The texts changed, place by place as in the input; null leaves one as it is. */
  readonly texts?: readonly (string | null)[];
  /** A body in place of the request's, or after the call in place of the answer's. */
  readonly body?: Body;
  /** Headers for the provider's request, by their names in lower case; null for one the client may not send either. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** There was nothing to check: no result is told. */
  readonly isSkipped?: boolean;
}

/** One kind of check. Throws `CheckError` where it cannot decide. */
export interface Check<Parameters = unknown> {
  /** `source.name`, such as `default.contains`. */
  readonly id: string;
  /** Other ids it is known under. */
  readonly aliases?: readonly string[];
  /** When it may run. */
  readonly phases: readonly Phase[];
  /** Shape of its parameters; what does not fit is refused where a config is read. */
  readonly parameters: GenericSchema<unknown, Parameters>;
  /** Whether it may change what it looks at; absent: it never does. */
  changes?(parameters: Parameters): boolean;
  /** How much the patterns among its parameters are; absent: it has none. */
  patterns?(parameters: Parameters): PatternAmount;
  /** It looks for what must not be there: its text is all a request says, not only what is said in turns. Absent: never. */
  readsAll?(parameters: Parameters): boolean;
  /** What it has to see; absent: texts. */
  readonly reads?: Reads;
  /** What is wrong with parameters that are to be saved; those that were saved before go on working. */
  problem?(parameters: Parameters): string | undefined;
  run(input: CheckInput, parameters: Parameters): CheckOutcome | Promise<CheckOutcome>;
}

/** A check cannot decide: its hook says what that means. */
export class CheckError extends Error {
  override readonly name: string;
  /** The verdict where failures of checks count. */
  readonly verdict: boolean;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(
    message: string,
    options: { name?: string; verdict?: boolean; data?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = options.name ?? "CheckError";
    this.verdict = options.verdict ?? false;
    this.data = options.data;
  }
}

/** What checks may use of the outside. */
export interface CheckTools {
  readonly outbound: Outbound;
  readonly clock: Clock;
}

/** A check's kind hidden behind the registry: its parameters were read by its own schema. */
export type AnyCheck = Check<never>;

/** Both phases. */
export const bothPhases: readonly Phase[] = ["beforeRequestHook", "afterRequestHook"];
/** Before the call only. */
export const beforeOnly: readonly Phase[] = ["beforeRequestHook"];
/** After the call only. */
export const afterOnly: readonly Phase[] = ["afterRequestHook"];

/** Feedback a hook leaves, chosen by its verdict. */
export interface Feedback {
  readonly value?: number;
  readonly weight?: number;
  readonly metadata?: unknown;
}

/** A check of a hook, its parameters read. */
export interface BoundCheck {
  readonly check: AnyCheck;
  readonly parameters: never;
  /** What its failures mean, where it says so itself. */
  readonly failOnError: boolean | undefined;
  /** A denial of its hook becomes an answer with status 200. */
  readonly softDeny: boolean;
  /** Which turns of a request it looks at. */
  readonly scope: Scope;
}

/** Turns of a request: the last one, those of the user, or all. */
export type Scope = "last" | "user" | "all";

/** One guardrail of a config. */
export interface Hook {
  readonly id: string;
  readonly type: "guardrail" | "mutator";
  readonly checks: readonly BoundCheck[];
  /** A failed verdict denies the request. */
  readonly deny: boolean;
  /** Runs behind the answer and is only logged. */
  readonly async: boolean;
  /** Its checks run in order, each seeing what those before it changed. */
  readonly isOrdered: boolean;
  /** What a check that cannot decide means; by default `fail` where the hook denies, else `pass`. */
  readonly onError: "pass" | "fail" | undefined;
  readonly onSuccess: Feedback | undefined;
  readonly onFail: Feedback | undefined;
  readonly versionId: string | undefined;
  /** It runs for every request of the workspace: where it cannot look, a hook that denies lets nothing through. */
  readonly isDefault?: boolean;
  /** What it cannot look at passes although it denies. */
  readonly allowsUninspected: boolean;
  /** It was saved: its checks have time of their own, which those a request brings cannot use up. */
  readonly isSaved?: boolean;
  /** A streamed answer is held back until the hook has seen all of it, so that it can deny and change it. */
  readonly holdsStreams: boolean;
}
