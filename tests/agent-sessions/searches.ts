// Sessions in which an agent searches the web with a model that cannot: the gateway searches.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelTurn } from "../emulators/emulator.ts";
import { providers } from "../emulators/mod.ts";
import type { TestGateway } from "../support/gateway.ts";
import { type Agent, call, ending, say } from "./agent.ts";
import { createAlias, createKey, saveConfig, storeProvider } from "./keys.ts";
import { describe, runSession } from "./sessions.ts";
import { foundPage, openStage, type Script, type Stage } from "./stage.ts";

const [host, model] = ["mistral-ai", "magistral-medium-2509"];
/** The name by which agents reach it. */
const name = "finder";
/** Its provider: one who does not search. */
const provider = providers.find(({ slug }) => slug === host);

const search = (query: string): ModelTurn => ({ said: [call("web_search", { query })] });

/** The turns of a model that searches twice, and what shows that a search was answered. */
export const twoSearches: Pick<Script, "turns" | "results" | "aside"> = {
  turns: [search("tides"), search("tides today"), { said: [say(`${ending} See [Tides](${foundPage.url}).`)] }],
  results: [/lamp-1/, /lamp-2|Cannot search/],
  aside: "Harbour",
};

interface Setting {
  /** Beside the target and the search in the config. */
  config?: object;
  /** Of the stored search provider. */
  searcher?: object;
}

async function createFinderKey(gateway: TestGateway, { config = {}, searcher = {} }: Setting): Promise<string> {
  await storeProvider(gateway, host);
  await storeProvider(gateway, "exa", searcher);
  const target = { provider: `@${host}`, override_params: { model } };
  const saved = { ...target, server_tools: { web_search: { model: "@exa/auto" } }, ...config };
  await createAlias(gateway, name, { config: await saveConfig(gateway, saved) });
  return createKey(gateway);
}

/** What the models of the session were asked, without the refused requests. */
const askedOf = ({ taken }: Stage): string => taken.map(({ text }) => text).join("\n");

/** Holds three sessions: one finds pages, a guardrail denies those of one, and a budget ends the searches of one. */
export function holdSearches(agent: Agent, script: Script): void {
  const hold = (
    title: string,
    setting: Setting,
    check: (stage: Stage, end: { code: number | null; why: string }) => Promise<void>,
  ) =>
    test(`${agent.name} ${title}`, {
      skip: agent.command === undefined && "npm run test:agents installs it",
    }, async () => {
      assert.ok(provider);
      const stage = await openStage({ script, createKey: (gateway) => createFinderKey(gateway, setting) });
      try {
        const { code, output } = await runSession(agent, stage, name);
        await check(stage, { code, why: describe(stage, output) });
      } finally {
        await stage.close();
      }
    });

  hold("searches the web with a model that cannot, and gets citations", {}, async (stage, { code, why }) => {
    assert.equal(code, 0, why);
    assert.ok(why.includes(ending), why);
    assert.deepEqual(
      stage.searched.map((body) => JSON.parse(body).query),
      ["tides", "tides today"],
      why,
    );
    const answers = await Promise.all(stage.sent.map(({ answer }) => answer));
    const cited = answers.filter((answer) => /"(?:url_citation|web_search_result_location)"/.test(answer));
    assert.ok(
      cited.some((answer) => answer.includes(foundPage.url)),
      why,
    );
  });

  const denied = {
    checks: [{ id: "default.contains", parameters: { words: ["lamp-"], operator: "none" } }],
    deny: true,
  };
  hold(
    "does not get pages that a guardrail denies",
    { config: { input_guardrails: [denied] } },
    async (stage, { why }) => {
      assert.equal(stage.searched.length, 1, `a denial is not repeated: ${why}`);
      const answers = await Promise.all(stage.sent.map(({ answer }) => answer));
      // the stream of the request has begun when its pages are denied
      assert.ok(
        answers.some((answer) => answer.includes("a guardrail denied")),
        why,
      );
      assert.doesNotMatch(askedOf(stage), /lamp-/);
    },
  );

  const budget = { usage_limits: { type: "cost", credit_limit: 0.007 } };
  hold(
    "searches as often as the budget of the search provider allows",
    { searcher: budget },
    async (stage, { code, why }) => {
      assert.equal(code, 0, why);
      assert.equal(stage.searched.length, 1, why);
      assert.match(askedOf(stage), /Cannot search: the search failed with 412/);
      assert.ok(why.includes(ending), why);
    },
  );
}
