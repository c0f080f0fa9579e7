import { createGateway } from "../mod.ts";

/** How often configs were parsed. */
export interface ConfigParsesResult {
  /** Distinct configs that were sent. */
  configs: number;
  requests: number;
  /** Times one of them was parsed. */
  parsed: number;
}

const configCount = 5;
const requests = 5_000;
const workspaceKey = "bench-workspace-key-000000";

/** Runs some work and counts how often it parses one of the configs as JSON. */
export async function countParses(watched: ReadonlySet<string>, work: () => Promise<void>): Promise<number> {
  const { parse } = JSON;
  let count = 0;
  JSON.parse = (text, ...rest) => {
    if (watched.has(text)) count++;
    return parse(text, ...rest);
  };
  try {
    await work();
  } finally {
    JSON.parse = parse;
  }
  return count;
}

/** The JSON of a config that is unique to a number. */
function configText(number: number): string {
  const targets = Array.from({ length: 3 }, () => ({ provider: "echo", override_params: { seed: number } }));
  return JSON.stringify({ strategy: { mode: "fallback" }, targets });
}

/** Sends chats with a few configs in the header, each many times, to a gateway in this process. */
export async function countConfigParses(): Promise<ConfigParsesResult> {
  const gateway = createGateway({ bootstrap: { workspaceKey } });
  await gateway.start();
  const configs = Array.from({ length: configCount }, (_, number) => configText(number));
  const body = JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] });
  const ask = async (config: string) => {
    const headers = {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-config": config,
      "content-type": "application/json",
    };
    const response = await gateway.fetch(
      new Request("http://gateway.bench/v1/chat/completions", { method: "POST", headers, body }),
    );
    if (response.status !== 200) throw new Error(`Cannot count: ${response.status} ${await response.text()}`);
    await response.text();
  };
  try {
    const parsed = await countParses(new Set(configs), async () => {
      for (let sent = 0; sent < requests; sent++) await ask(configs[sent % configCount] ?? "");
    });
    return { configs: configCount, requests, parsed };
  } finally {
    await gateway.close();
  }
}
