import type { GenericSchema, InferOutput, ObjectEntries, ObjectSchema } from "valibot";
import type { Body, CheckInput, Phase } from "../types.ts";

/** Values of a partner's credentials, by the names that `parameters.credentials` has. */
export type Credentials = Readonly<Record<string, string>>;

/** One field of a partner's credentials. */
export interface CredentialField {
  /** It is secret; `key`: an integration has it as its key. */
  readonly secret?: true | "key";
  /** It decides who receives the credential. */
  readonly isAddress?: true;
  /** Default: required. */
  readonly isOptional?: true;
  /** Default: a string that is not empty. */
  readonly schema?: GenericSchema<string, string>;
}

/** A service that checks text. */
export interface Partner {
  /** Part of the ids of its checks, and `ai_provider_id` of its integrations. */
  readonly slug: string;
  readonly credentials: Readonly<Record<string, CredentialField>>;
  /** Base address of its API. `customHost` of the credentials replaces it. */
  baseUrl(credentials: Credentials): string;
  /** Headers that authenticate. */
  headers(credentials: Credentials): Record<string, string>;
  /** Another kind of authentication in place of `headers`. */
  readonly signs?: SignatureKind;
}

/** Kinds of authentication that need more than a header. */
type SignatureKind = "aws" | "azure";

/** What a partner is asked about. */
export interface Question {
  readonly input: CheckInput;
  /** It is about a response. */
  readonly isOutput: boolean;
  /** All text, joined. */
  readonly text: string;
  /** The text, part by part. Those from `changeable` on belong to tools and the like, and cannot be changed. */
  readonly parts: readonly string[];
  readonly changeable: number;
  /** Text of the request's last turn. */
  readonly lastTurn: string;
  /** Messages of the request, and of the response. */
  readonly turns: readonly Turn[];
  readonly credentials: Credentials;
  /** Unix milliseconds. */
  readonly now: number;
}

/** A message as partners receive it. */
export interface Turn {
  readonly role: string;
  readonly content: string;
}

/** One call of a partner. */
export interface PartnerCall {
  /** Below the base address, with its query. */
  readonly path: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a partner says. */
export interface PartnerVerdict {
  readonly pass: boolean;
  /** Findings for readers of the log. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Replacements of the parts; null and undefined leave a part unchanged. */
  readonly parts?: readonly (string | null | undefined)[];
  /** Replaces the request or the response. */
  readonly body?: Body;
}

/** A check of a partner. */
interface PartnerCheck<Entries extends ObjectEntries = ObjectEntries> {
  readonly id: string;
  readonly aliases?: readonly string[];
  readonly partner: Partner;
  readonly phases: readonly Phase[];
  /** Its parameters, besides those that all partner checks have. */
  readonly parameters: Entries;
  /** Milliseconds; default 5,000. */
  readonly timeoutMs?: number;
  /** Part of `credentials` that has those of this check. */
  readonly credentialGroup?: string;
  /** It adds to the request, and an error never fails it. */
  readonly onlyAdds?: true;
  /** Whether it may change what it checks. */
  changes?(parameters: OwnParameters<Entries>): boolean;
  /** The calls to make, at least one unless there is nothing to check. */
  calls(question: Question, parameters: OwnParameters<Entries>): readonly PartnerCall[];
  /**
   * Reads the responses, in the order of the calls.
   *
   * @throws {CheckError} If it cannot read one.
   */
  read(answers: readonly unknown[], question: Question, parameters: OwnParameters<Entries>): PartnerVerdict;
}

type OwnParameters<Entries extends ObjectEntries> = InferOutput<ObjectSchema<Entries, undefined>>;

/** A check without the type of its parameters. */
export type AnyPartnerCheck = Omit<PartnerCheck, "changes" | "calls" | "read"> & {
  changes?(parameters: never): boolean;
  calls(question: Question, parameters: never): readonly PartnerCall[];
  read(answers: readonly unknown[], question: Question, parameters: never): PartnerVerdict;
};

/** Declares a check; infers the type of its parameters. */
export function definePartnerCheck<const Entries extends ObjectEntries>(check: PartnerCheck<Entries>): AnyPartnerCheck {
  return check;
}
