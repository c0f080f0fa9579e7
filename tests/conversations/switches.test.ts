// Conversations whose target changes: from one provider to another and back, as with fallbacks.

import process from "node:process";
import { test } from "node:test";
import type { EmulatedProvider } from "../emulators/emulator.ts";
import { providers } from "../emulators/mod.ts";
import { sample } from "../support/sample.ts";
import { createChatClient } from "./chat-client.ts";
import type { Client, Setup } from "./client.ts";
import { createGeminiClient } from "./gemini-client.ts";
import { generateConversation } from "./generate.ts";
import { createMessagesClient } from "./messages-client.ts";
import { conversationsOf, Faults, hold, modelOf, seedsOf, takenBy, usePlace } from "./pairs.ts";
import { createResponsesClient } from "./responses-client.ts";

const clients: Readonly<Record<string, (setup: Setup) => Client>> = {
  chat: createChatClient,
  messages: createMessagesClient,
  responses: createResponsesClient,
  gemini: createGeminiClient,
};

const nameOf = ({ host, slug }: EmulatedProvider): string => host ?? slug;

/** Providers between which conversations move. */
const chosen = process.env.GATEWAY_PROVIDERS?.split(",");
const targets = providers.filter(({ slug }) => chosen?.includes(slug) ?? true);
/** Hosts of one maker's models: no documentation says whether they take each other's signatures. */
const isOneMaker = (...slugs: readonly string[]): boolean =>
  slugs.every((slug) => slug === "google" || slug === "vertex-ai");
/** Every provider with every other one. */
const pairs = targets.flatMap((first) =>
  targets.flatMap((second) =>
    first === second || isOneMaker(first.slug, second.slug) ? [] : [[first, second] as const],
  ),
);

const placeOf = usePlace();
/** Most conversations of a pair: there are some 1,200 pairs. */
const most = 20;
/** About a quarter as many as all pairs without a change hold. */
const count = Math.min(most, Math.ceil(conversationsOf(pairs.length * Object.keys(clients).length) / 4));

/** Who serves a round: four of the first provider, four of the second, then the first again. */
const isSecond = (round: number): boolean => round >= 4 && round < 8;

async function holdAll(
  dialect: string,
  createClient: (setup: Setup) => Client,
  [first, second]: readonly [EmulatedProvider, EmulatedProvider],
): Promise<Faults> {
  const faults = new Faults();
  for (const [index, seed] of seedsOf(count).entries()) {
    const served = [first, second].map((provider) => ({ provider, model: modelOf(provider, index) })) as [
      { provider: EmulatedProvider; model: string },
      { provider: EmulatedProvider; model: string },
    ];
    const hasImages = first.takesImages && second.takesImages;
    const taken = served.map((target) => takenBy(placeOf(), { name: dialect, createClient }, target));
    const takes = (setup: Setup) => taken.every((one) => one(setup));
    const conversation = generateConversation(seed, { hasImages, breaksArguments: true, takes });
    const client = createClient(conversation.setup);
    const targetOf = (round: number) => served[isSecond(round) ? 1 : 0];
    const run = { conversation, client, dialect, targetOf, changesTarget: true };
    faults.note(await hold(placeOf(), run), `seed ${seed}, ${served.map(({ model }) => model).join(" then ")}`);
  }
  return faults;
}

for (const [dialect, createClient] of Object.entries(clients)) {
  for (const pair of sample(pairs, 12)) {
    const [first, second] = pair;
    test(`a ${dialect} client from ${nameOf(first)} to ${nameOf(second)} and back: nothing foreign is refused`, async (context) => {
      (await holdAll(dialect, createClient, pair)).assertNone(context);
    });
  }
}
