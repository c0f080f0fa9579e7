import assert from "node:assert/strict";
import process from "node:process";
import { after, before, test } from "node:test";
import { createEmulatedWorld, type EmulatedProvider } from "../emulators/emulator.ts";
import { providers } from "../emulators/mod.ts";
import { createTestGateway } from "../support/gateway.ts";
import { isWhole, sampleSeed } from "../support/sample.ts";
import type { Client, Setup, Step } from "./client.ts";
import { generateConversation } from "./generate.ts";
import { type Fault, type Place, type Run, runConversation } from "./run.ts";

/** Dialects whose clients hold conversations; each has its own file, so that whole runs share the processors. */
const dialectCount = 4;
/** Conversations of all pairs together in a sampled run: about ten seconds. */
const sampled = 200;
/** Conversations of a pair in a whole run. What a runtime can change is tested elsewhere. */
const whole = "Bun" in globalThis ? 2_000 : 50;

/** Conversations of one pair, where there are so many pairs. */
export function conversationsOf(pairs: number): number {
  const { GATEWAY_CONVERSATIONS: asked } = process.env;
  if (asked !== undefined) return Number(asked);
  return isWhole ? whole : Math.max(2, Math.floor(sampled / pairs));
}

/** Seeds of the conversations of a pair: those of the run, or the one to repeat. */
export function seedsOf(count: number): number[] {
  const { GATEWAY_CONVERSATION: repeated } = process.env;
  if (repeated !== undefined) return [Number(repeated)];
  return Array.from({ length: count }, (_, index) => sampleSeed * 1_000_003 + index);
}

/**
 * Greatest share of conversations of a pair that may end because the API refuses its own SDK's requests too: about 2 % of
 * those of the Messages API have an instruction that older models of Claude do not take.
 */
const greatestNativeShare = 0.04;
/** So many may always do so: a share says nothing of a few conversations. */
const fewNative = 1;

/** Faults by their kind, with the first of each as an example. */
export class Faults {
  readonly #kinds = new Map<string, { count: number; example: string }>();
  readonly #native = new Map<string, number>();
  #conversations = 0;

  /** Counts a conversation, and its fault if it has one. */
  note(fault: Fault | undefined, where: string): void {
    this.#conversations += 1;
    if (!fault) return;
    const [rule = ""] = fault.detail.split(":");
    if (fault.kind === "native") {
      this.#native.set(rule, (this.#native.get(rule) ?? 0) + 1);
      return;
    }
    const kind = `${fault.kind} ${fault.kind === "refused" ? rule : ""}`;
    const known = this.#kinds.get(kind);
    if (known) known.count += 1;
    else this.#kinds.set(kind, { count: 1, example: `${where}, round ${fault.round}: ${fault.detail}` });
  }

  /** Conversations that ended early because the API would refuse its own SDK too, by its rules; undefined for none. */
  native(): { count: number; report: string } | undefined {
    const count = [...this.#native.values()].reduce((sum, one) => sum + one, 0);
    if (count === 0) return undefined;
    const rules = [...this.#native].map(([rule, times]) => `${rule} ${times}`).join(", ");
    return { count, report: `${count} of ${this.#conversations} ended as with the API's own SDK: ${rules}` };
  }

  /** Fails where there were faults, or where so many conversations ended early that the pair is hardly tested. */
  assertNone({ diagnostic }: { diagnostic(message: string): void }): void {
    const native = this.native();
    if (native) diagnostic(native.report);
    const lines = [...this.#kinds].map(
      ([kind, { count, example }]) => `${count} of ${this.#conversations}: ${kind}\n${example}`,
    );
    assert.equal(lines.length, 0, `\n${lines.join("\n\n")}`);
    const most = Math.max(fewNative, this.#conversations * greatestNativeShare);
    assert.ok(!native || native.count <= most, native?.report);
  }
}

/** A gateway before emulators, for the tests of a file. */
export function usePlace(): () => Place {
  let place: Place | undefined;
  before(async () => {
    const world = createEmulatedWorld(providers.flatMap(({ emulators }) => emulators));
    place = { world, gateway: await createTestGateway({ transport: world.transport }) };
  });
  after(() => place?.gateway.close());
  return () => place ?? assert.fail("there is no gateway yet");
}

/** Holds one conversation, and forgets what was sent. */
export async function hold(place: Place, run: Run): Promise<Fault | undefined> {
  try {
    return await runConversation(place, run);
  } finally {
    place.world.requests.length = 0;
    place.world.refusals.length = 0;
  }
}

/** One model after the other, beginning with another one in each run. */
export const modelOf = ({ models }: EmulatedProvider, index: number): string =>
  models[(index + sampleSeed) % models.length] as string;

/** What a client holds conversations through. */
interface Dialect {
  name: string;
  createClient(setup: Setup): Client;
}

/**
 * Whether the provider's API takes the first request of a conversation from its own SDK. A provider without an API of the
 * dialect takes all: the gateway converts it.
 */
export function takenBy(
  { world }: Place,
  { name, createClient }: Dialect,
  { provider: { emulators }, model }: { provider: EmulatedProvider; model: string },
): (setup: Setup) => boolean {
  const own = emulators.filter(({ native }) => native === name);
  const first: Step = { outcomes: [], text: "Hello", hasImage: false, instruction: "" };
  return (setup) =>
    own.every((emulator) => {
      const client = createClient(setup);
      const sent = { path: client.path(model), headers: client.headers, body: client.ask(first, model), model };
      const request = { ...sent, streams: setup.streams };
      return world.findRefusal(emulator, emulator.asSdkSends?.(request) ?? request) === undefined;
    });
}

/** Tests of a dialect with every provider. */
export function testPairs(dialect: string, createClient: (setup: Setup) => Client): void {
  const placeOf = usePlace();
  const chosen = process.env.GATEWAY_PROVIDERS?.split(",");
  const asked = providers.filter(({ slug }) => chosen?.includes(slug) ?? true);
  const count = conversationsOf(asked.length * dialectCount);
  for (const provider of asked) {
    test(`a ${dialect} client and ${provider.host ?? provider.slug}: nothing is refused, lost or changed`, async (context) => {
      const faults = new Faults();
      for (const [index, seed] of seedsOf(count).entries()) {
        const model = modelOf(provider, index);
        const takes = takenBy(placeOf(), { name: dialect, createClient }, { provider, model });
        const reach = { hasImages: provider.takesImages, breaksArguments: true, takes };
        const conversation = generateConversation(seed, reach);
        const client = createClient(conversation.setup);
        const targetOf = () => ({ provider, model });
        faults.note(await hold(placeOf(), { conversation, client, dialect, targetOf }), `seed ${seed}, ${model}`);
      }
      faults.assertNone(context);
    });
  }
}
