/** A piece of a message. Everything in it was written by a tenant, a model or a tool: text, never HTML. */
export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string }
  | { readonly kind: "refusal"; readonly text: string }
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly input: string }
  | { readonly kind: "result"; readonly id: string; readonly parts: readonly Part[]; readonly isError: boolean }
  /** `source` is a data URL or an address; addresses are never loaded. */
  | { readonly kind: "image"; readonly source: string }
  | { readonly kind: "file"; readonly name: string; readonly source: string }
  /** What none of the others shows. */
  | { readonly kind: "other"; readonly name: string; readonly value: unknown };

export interface Turn {
  /** `system`, `developer`, `user`, `assistant`, `tool`, or what the message says. */
  readonly role: string;
  readonly parts: readonly Part[];
}

/** Both sides of a request as messages. */
export interface Conversation {
  readonly turns: readonly Turn[];
  readonly answers: readonly Turn[];
  /** Tools the request offered. */
  readonly tools: readonly Tool[];
}

export interface Tool {
  readonly name: string;
  readonly about: string;
  readonly value: unknown;
}
