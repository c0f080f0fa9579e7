import type { StreamError } from "../../dialects/types.ts";
import { type ModelRound, sumUsage } from "./model-rounds.ts";

/** Most rounds of a request. */
const maxRounds = 10;

type Item = Readonly<Record<string, unknown>>;

/** Sends events to the caller of a streaming request; of others nothing. */
export type Say = (events: readonly Item[]) => Promise<void>;

/** What a round of a stream becomes for the caller. */
export interface LiveRound {
  /** The events for the caller in place of one of the round. */
  push(event: Item): readonly Item[];
  /** The response that the events are of; undefined if they ended before it did. */
  whole(): Item | undefined;
}

/** How rounds look in one API dialect. */
export interface RoundForm {
  readonly operation: "responses" | "messages" | "chat" | "generateContent";
  /** What a stream ends with after its last event. Absent: nothing. */
  readonly done?: string;
  readonly request: object & { readonly stream?: unknown };
  /** Where rounds are sent. */
  path(isStreamed: boolean): string;
  /** Lists the tools. @throws {GatewayError} For servers that the caller cannot use. */
  open(): Promise<void>;
  /** The body of the next round, without `stream`. */
  next(): object;
  /** Runs the calls of a round; whether the model goes on. */
  answer(body: Item, say: Say): Promise<boolean>;
  /** The response to the request: the last round's, with what all rounds gave. */
  finish(last: Item, parts: { usage: Item | undefined; isCut: boolean }): Item;
  live(): LiveRound;
  /** The last events of a stream. */
  closing(answer: Item): readonly Item[];
  /** The events of a failure after the stream began. */
  toErrors(error: StreamError): readonly Item[];
}

/** What the rounds of a request gave. */
export class Rounds {
  readonly #form: RoundForm;
  readonly #done: ModelRound[] = [];

  constructor(form: RoundForm) {
    this.#form = form;
  }

  /** Takes a round, and runs its calls; the response to the request if the rounds end with it. */
  async take(round: ModelRound & { readonly body: Item }, say: Say): Promise<Item | undefined> {
    this.#done.push(round);
    const goesOn = await this.#form.answer(round.body, say);
    const isCut = goesOn && this.#done.length === maxRounds;
    if (goesOn && !isCut) return undefined;
    return this.#form.finish(round.body, {
      usage: sumUsage(this.#done.map(({ body }) => body?.usage ?? body?.usageMetadata)),
      isCut,
    });
  }
}
