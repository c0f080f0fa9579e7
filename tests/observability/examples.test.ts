import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readProcessStats } from "../../src/serve/process-stats.ts";
import { readExposition } from "../support/exposition.ts";
import { adminKey, chat, createTestGateway, waitForLogs } from "../support/gateway.ts";
import { repository } from "../support/source-files.ts";

/** Names of metrics in an expression of Prometheus: what is no function, label, number or unit. */
function namesIn(expression: string): string[] {
  const bare = expression.replaceAll(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)/g, " ");
  return [...bare.matchAll(/[a-z_][a-z0-9_]*(?!\w*\s*\()/g)].map(([name]) => name).filter((name) => name.includes("_"));
}

const read = (name: string) => readFileSync(join(repository, "examples", name), "utf8");

const alerts = [...read("prometheus-alerts.yml").matchAll(/^ +expr: (.+)$/gm)].map(([, expression = ""]) => expression);
const board: { panels: { title: string; targets: { expr: string }[] }[] } = JSON.parse(read("grafana-dashboard.json"));

test("each metric that the examples of alerts and of the board name exists", async () => {
  const gateway = await createTestGateway({ processStats: readProcessStats });
  try {
    await gateway.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } });
    await chat(gateway);
    await gateway.fetch("/v1/models"); // refused without a key
    await waitForLogs(gateway, "");
    const response = await gateway.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } });
    const known = new Set(readExposition(await response.text()).keys());
    const expressions = [...alerts, ...board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))];
    assert.ok(alerts.length >= 5 && expressions.length > alerts.length);
    for (const expression of expressions) {
      const names = namesIn(expression);
      assert.ok(names.length > 0, expression);
      for (const name of names) assert.ok(known.has(name), `${name} of ${expression}`);
    }
  } finally {
    await gateway.close();
  }
});
