import assert from "node:assert/strict";
import process from "node:process";
import { after, before, test } from "node:test";
import { createEmulatedWorld } from "../emulators/emulator.ts";
import { providers } from "../emulators/mod.ts";
import { createTestGateway } from "../support/gateway.ts";
import { isWhole, sampleSeed } from "../support/sample.ts";
import { createChatClient } from "./chat-client.ts";
import type { Client, Setup } from "./client.ts";
import { createGeminiClient } from "./gemini-client.ts";
import { generateConversation } from "./generate.ts";
import { createMessagesClient } from "./messages-client.ts";
import { createResponsesClient } from "./responses-client.ts";
import { type Fault, type Place, runConversation } from "./run.ts";

/** Clients by their API. */
const clients: Readonly<Record<string, (setup: Setup) => Client>> = {
  chat: createChatClient,
  messages: createMessagesClient,
  responses: createResponsesClient,
  gemini: createGeminiClient,
};

/** Conversations of a pair in a whole run. */
const conversations = Number(process.env.GATEWAY_CONVERSATIONS ?? (isWhole ? 2_000 : 20));

let place: Place;
before(async () => {
  const world = createEmulatedWorld(providers.flatMap(({ emulators }) => emulators));
  place = { world, gateway: await createTestGateway({ transport: world.transport }) };
});
after(async () => {
  await place.gateway.close();
});

for (const provider of providers) {
  for (const [dialect, createClient] of Object.entries(clients)) {
    test(`a ${dialect} client and ${provider.host ?? provider.slug}: nothing is refused, lost or changed`, async () => {
      const faults = new Map<string, { count: number; example: string }>();
      for (let index = 0; index < conversations; index++) {
        const seed = sampleSeed * 1_000_003 + index;
        const model = provider.models[index % provider.models.length] as string;
        const conversation = generateConversation(seed, { hasImages: provider.takesImages });
        const client = createClient(conversation.setup);
        const targetOf = () => ({ provider, model });
        const fault = await runConversation(place, { conversation, client, dialect, targetOf });
        place.world.requests.length = 0;
        if (fault) note(faults, fault, `seed ${seed}, ${model}`);
      }
      assert.equal(faults.size, 0, report(faults));
    });
  }
}

/** Counts faults of one kind and keeps the first. */
function note(faults: Map<string, { count: number; example: string }>, fault: Fault, where: string): void {
  const kind = `${fault.kind} ${fault.kind === "refused" ? fault.detail.split(":")[0] : ""}`;
  const known = faults.get(kind);
  if (known) known.count += 1;
  else faults.set(kind, { count: 1, example: `${where}, round ${fault.round}: ${fault.detail}` });
}

function report(faults: ReadonlyMap<string, { count: number; example: string }>): string {
  const lines = [...faults].map(
    ([kind, { count: seen, example }]) => `${seen} of ${conversations}: ${kind}\n${example}`,
  );
  return `\n${lines.join("\n\n")}`;
}
