import type { GenericSchema } from "valibot";
import type { PatternAmount } from "../../packages/patterns/src/pattern.ts";
import type { Clock } from "../lib/clock.ts";
import type { Outbound } from "../lib/outbound.ts";
import type { Soon } from "../lib/soon.ts";
import type { Steps } from "../lib/steps.ts";
import type { CleanStrings } from "./clean-strings.ts";
import type { JsonPieces } from "./json-pieces.ts";
import type { Placeholders } from "./values/placeholders.ts";

/** JSON object of a request or a response. */
export type Body = Readonly<Record<string, unknown>>;

/** When a hook runs. */
export type Phase = "beforeRequestHook" | "afterRequestHook";

/** Request types, by the names that checks and webhooks use. */
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
  "search",
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
  "mcpToolCall",
] as const;
export type RequestType = (typeof requestTypeNames)[number];

/** What a check reads, in increasing order: no body, the model's name, body fields, text. */
export type Reads = "facts" | "model" | "body" | "text";

/** How much of a request checks can see; its response is seen, has no text, or is not inspected. */
export interface Visibility {
  readonly request: Reads;
  readonly answer: "seen" | "empty" | "unseen";
  /** What checks would see if this request could be read: guardrails that deny refuse it for what is hidden from them. */
  readonly hidden?: Reads;
  /**
   * Of a session: `start` is the request that opens it, whose text and parameters come later, and `events` is those.
   * Checks of text and body run with the events alone, the others with the start. Of an upload: `form` is the request, and `rows` are
   * the requests in its file; checks that read no body run with the form alone, the others with the rows.
   */
  readonly part?: "start" | "events" | "form" | "rows";
}

/** Time limit for work that grows with the text; checks of one request share it. */
export interface Work {
  /**
   * Does a piece of it.
   *
   * @throws {CheckError} If there is no time left.
   */
  spend<Result>(piece: () => Result): Result;
  /**
   * Does long work in slices, so that other requests can proceed.
   *
   * @throws {CheckError} If there is no time left, or it takes too many steps.
   */
  run<Result>(work: Steps<Result>): Promise<Result>;
}

/** Input of a check. It must not be modified in place. */
export interface CheckInput {
  readonly phase: Phase;
  readonly requestType: RequestType;
  /** Further request types it counts as in lists. */
  readonly alsoTypes?: readonly RequestType[];
  /** Further request types it counts as in lists of blocked types. */
  readonly leadsTo?: readonly RequestType[];
  /** Organisation and workspace of the caller; checks do not share cached data between tenants. */
  readonly tenant: string;
  /** Slug of the provider that is, or will be, called. */
  readonly provider: string;
  readonly request: {
    /** The body with the config's parameters and earlier checks' changes applied; empty where it was not read. */
    readonly body: Body;
    /** Of a round of a request: what the caller asked for, and functions of the body that stand for its tools. */
    readonly asked?: { readonly body: object; readonly functions: ReadonlySet<string> };
    /** A header of the client; names are case-insensitive. */
    header(name: string): string | undefined;
    readonly isStreaming: boolean;
    /** An earlier check changed it. */
    readonly isTransformed: boolean;
    /** It has no body and calls no model, such as a request for a list. */
    readonly isBare?: boolean;
    /** The alias by which it names the model of the body; absent where it names the model itself. */
    readonly alias?: string;
    /** Models it names beside the body's `model`, and whether a field held something else than a name. */
    otherModels?(body: Body): { readonly names: readonly string[]; readonly isUnclear: boolean };
    /** Sends a request through the gateway, on behalf of the caller; absent where there is no caller to charge. */
    askModel?(question: {
      readonly path: string;
      readonly body: object;
      readonly timeoutMs: number;
    }): Promise<{ readonly status: number; readonly json: unknown }>;
    /** The gateway's own headers for services that receive the request. */
    readonly ownHeaders?: Readonly<Record<string, string>>;
  };
  /** The response; undefined before the call. */
  readonly response: { readonly body: Body; readonly status: number; readonly isTransformed: boolean } | undefined;
  /** Strings to check, part by part: of a request the last turn unless its `scope` says otherwise. */
  readonly strings: readonly string[];
  /** The same as one string, joined by line feeds. */
  readonly text: string;
  /**
   * Other strings of the request, such as those of tools, response formats and unknown fields: read-only.
   * Empty unless the scope is `all`.
   */
  readonly rest: readonly string[];
  /** The JSON in that text, parsed once for all checks. */
  readPieces(): Promise<JsonPieces>;
  /** Metadata of the request and of its key. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The hook belongs to the organisation, not to the workspace or the request. */
  readonly isOrganisations?: boolean;
  /** The hook denies: a check that cannot see all of a text throws instead of checking its beginning. */
  readonly mustSeeAll: boolean;
  /** What takes the place of values that are found; those of a response go on with the numbers of its request. */
  readonly placeholders: Placeholders;
  /** Strings of earlier requests in which checks found nothing. Absent: all are searched. */
  readonly cleanStrings?: CleanStrings | undefined;
  readonly work: Work;
}

/** Result of a check. */
export interface CheckOutcome {
  /** False where the check objects to the request or response. */
  readonly pass: boolean;
  /** Findings for readers of the log; small. `explanation` is a sentence. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** What could not be done, without effect on the verdict. */
  readonly error?: string;
  /** Replacements for the input's strings, in order; null leaves a string unchanged. */
  readonly strings?: readonly (string | null)[];
  /** Replaces the request body, or after the call the response body. */
  readonly body?: Body;
  /** Headers for the provider's request, by name in lower case; null also removes the client's. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** There was nothing to check: the check has no result. */
  readonly isSkipped?: boolean;
}

/** What a check found in a text that is still growing: the characters from `start` to `end`, in UTF-16 units. */
export interface WindowFinding {
  readonly start: number;
  readonly end: number;
  /** The check fails. */
  readonly fails: boolean;
  /** What takes the place of the characters. Absent: they stay. */
  readonly replacement?: string;
  /** In place of `replacement`: the kind of value, whose numbered placeholder takes the place of the characters. */
  readonly placeholder?: string;
  /** What it is, for readers of the log, such as the word of a list. Never the found text where that is secret. */
  readonly label?: string;
}

/** How a check works on a part of a text, while the text is still growing. */
export interface CheckWindow {
  /** Most characters a finding covers; longer ones are found in pieces. One character around each may be looked at. */
  readonly characters: number;
  /** Only the first finding of a text counts. */
  readonly onlyFirst?: boolean;
  /** Whether nothing can be found at or after `from`; false where finding out takes longer. Absent: always false. */
  lacks?(text: string, from: number): boolean;
  /**
   * The first index at or after `from` at which a finding may begin, whatever follows the text; the length of the text
   * if it can begin nowhere in it. Absent: any character may begin one.
   */
  opensAt?(text: string, from: number): number;
  /**
   * The first finding that begins at or after `from`. The character before `from` belongs to the text; what follows its
   * end may not have come yet. The runner asks again where more text could change a finding.
   */
  find(text: string, from: number): Steps<WindowFinding | undefined>;
}

/** A problem with one of a check's parameters. */
interface ParameterProblem {
  readonly member: string;
  readonly message: string;
}

/** One kind of check. Throws `CheckError` if it cannot decide. */
export interface Check<Parameters = unknown> {
  /** `source.name`, such as `default.contains`. */
  readonly id: string;
  /** Former or alternative ids. */
  readonly aliases?: readonly string[];
  /** When it may run. */
  readonly phases: readonly Phase[];
  /** Schema of its parameters, applied where a config is read. */
  readonly parameters: GenericSchema<unknown, Parameters>;
  /** Whether it may change its input. Absent: never. */
  changes?(parameters: Parameters): boolean;
  /** With its parameter `restore`, what it replaced in a request comes back in the response. Absent: it cannot. */
  readonly restores?: boolean;
  /** Size of the patterns among its parameters. Absent: no patterns. */
  patterns?(parameters: Parameters): PatternAmount;
  /** It looks for forbidden content, so its text includes all strings of a request. Absent: never. */
  readsAll?(parameters: Parameters): boolean;
  /** What it reads. Absent: text. */
  readonly reads?: Reads;
  /** The partner whose service it asks. Absent: it is a check of the gateway. */
  readonly partner?: string;
  /** How it works on a part of a streamed response; undefined where it needs the whole. Absent: always the whole. */
  window?(parameters: Parameters): CheckWindow | undefined;
  /** A problem that prevents saving these parameters, perhaps with one of them; stored ones keep working. */
  problem?(parameters: Parameters): string | ParameterProblem | undefined;
  /** What whoever saves a guardrail with it should know. */
  warning?(hook: Pick<Hook, "deny" | "async">): string | undefined;
  /** Work that grows with the text and waits for nothing is done in steps. */
  run(input: CheckInput, parameters: Parameters): Soon<CheckOutcome> | Steps<CheckOutcome>;
}

/** A check cannot decide; its hook decides what that means. */
export class CheckError extends Error {
  override readonly name: string;
  /** The verdict where errors of checks count. */
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

/** Names a stored credential of a partner. */
export interface CredentialQuery {
  readonly tenant: string;
  /** `ai_provider_id` of the integration. */
  readonly partner: string;
  /** Slug or id of the integration. Absent: the only one of the partner. */
  readonly name: string | undefined;
  /** A guardrail of the organisation asks: it may use all integrations of the organisation. */
  readonly isOrganisations: boolean;
}

/** A request that is about to be signed. */
interface CheckRequest {
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What checks may use of the outside world. */
export interface CheckTools {
  readonly outbound: Outbound;
  readonly clock: Clock;
  /** The model that checks ask unless they name one: the slug of a stored provider, and its model. */
  readonly model?: { readonly provider?: string | undefined; readonly model?: string | undefined };
  /** Whether a credential opens this gateway, or was issued for its organisation: it is sent nowhere. Absent: none does. */
  isOwnCredential?(credential: string): Promise<boolean>;
  /** Credentials in an integration, by the names partners have for them; undefined where there is no such integration. */
  findCredentials?(query: CredentialQuery): Promise<Readonly<Record<string, string>> | undefined>;
  /** Signs a request with the identity that credentials describe. */
  authorize?(
    kind: "aws" | "azure",
    request: CheckRequest,
    caller: { readonly credentials: Readonly<Record<string, string>>; readonly tenant: string },
  ): Promise<Authorization>;
}

/** How a request is signed. */
export interface Authorization {
  readonly headers: Readonly<Record<string, string>>;
  /** Drops the tokens that its service refused; returns whether others can be fetched. */
  refuse(): boolean;
}

/** A check whose parameter type is hidden by the registry: its own schema reads them. */
export type AnyCheck = Check<never>;

/** Both phases. */
export const bothPhases: readonly Phase[] = ["beforeRequestHook", "afterRequestHook"];
/** Before the call only. */
export const beforeOnly: readonly Phase[] = ["beforeRequestHook"];
/** After the call only. */
export const afterOnly: readonly Phase[] = ["afterRequestHook"];

/** Feedback of a hook, by its verdict. */
export interface Feedback {
  readonly value?: number;
  readonly weight?: number;
  readonly metadata?: unknown;
}

/** A check of a hook with its parsed parameters. */
export interface BoundCheck {
  readonly check: AnyCheck;
  readonly parameters: never;
  /** Whether its errors count as failures, if it says so itself. */
  readonly failOnError: boolean | undefined;
  /** A denial by its hook becomes a response with status 200. */
  readonly softDeny: boolean;
  /** Which turns of a request it checks. */
  readonly scope: Scope;
}

/** Turns of a request: the last one, those of the user, or all. */
export type Scope = "last" | "user" | "all";

/**
 * What an output hook does to a streamed response. `window`: it decides while the text flows, each character held back
 * until no finding can include it. `buffer`: all of it is held back. `inform`: it reports after the end.
 */
export const streamModes = ["window", "buffer", "inform"] as const;
export type StreamMode = (typeof streamModes)[number];

/** One guardrail of a config. */
export interface Hook {
  readonly id: string;
  readonly type: "guardrail" | "mutator";
  readonly checks: readonly BoundCheck[];
  /** A failed verdict denies the request. */
  readonly deny: boolean;
  /** Runs after the response and is only logged. */
  readonly async: boolean;
  /** Its checks run in order, each seeing the changes of those before it. */
  readonly isOrdered: boolean;
  /** The verdict of a check that cannot decide; by default `fail` where the hook denies, else `pass`. */
  readonly onError: "pass" | "fail" | undefined;
  readonly onSuccess: Feedback | undefined;
  readonly onFail: Feedback | undefined;
  readonly versionId: string | undefined;
  /** It runs for every request of the workspace, or of a key; if it denies, it rejects what it cannot inspect. */
  readonly isDefault?: boolean;
  /** It lets uninspected content pass although it denies. */
  readonly allowsUninspected: boolean;
  /** It was saved: its checks have a separate time limit, which hooks in the request cannot use up. */
  readonly isSaved?: boolean;
  /** It was saved by the organisation: workspaces do not see its parameters. */
  readonly isOrganisations?: boolean;
  /** What it does to a streamed response. */
  readonly streamMode: StreamMode;
}
