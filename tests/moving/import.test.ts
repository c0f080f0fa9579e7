import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readYaml } from "../../src/declared/yaml.ts";
import type { Moved } from "../../src/moving/draft.ts";
import { moveLitellm } from "../../src/moving/litellm.ts";
import { startVendor } from "../docs/vendor.ts";
import { serviceAccount } from "../support/address-cases.ts";
import { applyTo } from "../support/declared.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { createRedirectingTransport, meantUrl } from "../support/redirected.ts";
import type { RecordingUpstream } from "../support/upstream.ts";
import { configurations } from "./configurations.ts";

let vendor: RecordingUpstream;
before(async () => {
  vendor = await startVendor();
});
after(() => vendor.close());

/** Values that a variable must have by its name. */
const shaped: readonly (readonly [form: RegExp, value: string])[] = [
  [/BASE_URL$/, "https://models.example.com/v1"],
  [/_RESOURCE$/, "contoso"],
  [/API_VERSION$/, "2024-10-21"],
  [/REGION$/, "eu-central-1"],
  [/CREDENTIALS$/, serviceAccount()],
  [/ACCOUNT_ID$/, "0123456789abcdef0123456789abcdef"],
];

/** Values for the variables of a configuration. */
function environmentOf({ document, secrets }: Moved): Record<string, string> {
  const names = [...JSON.stringify(document).matchAll(/\{"\$env":"(\w+)"\}/g)].map(([, name = ""]) => name);
  const values = names.map((name) => [
    name,
    shaped.find(([form]) => form.test(name))?.[1] ?? `fake-${name}-0123456789`,
  ]);
  return { ...Object.fromEntries(values), ...secrets };
}

/** Calls a model as a client of the old gateway does: the name alone. */
async function chat(gateway: TestGateway, model: string, more: Readonly<Record<string, string>>): Promise<number> {
  const headers = { authorization: `Bearer ${workspaceKey}`, "content-type": "application/json", ...more };
  const response = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers,
    body: JSON.stringify({ messages: [{ role: "user", content: `Hello ${model}` }], model }),
  });
  await response.text();
  return response.status;
}

for (const { name, text, move, reaches, left, headers = {} } of configurations) {
  test(`${name}: every name of a model reaches what it did, and a second import changes nothing`, async () => {
    const moved = move(await readYaml(new TextEncoder().encode(text), name));
    assert.doesNotMatch(JSON.stringify(moved.document), /\bsk-[\w-]{16}/, "secrets are variables");
    const gateway = await createTestGateway({
      transport: createRedirectingTransport(() => vendor.url),
      checksAnswers: false,
      headerAliases: ["x-portkey-"],
    });
    try {
      const environment = environmentOf(moved);
      await applyTo(gateway, moved.document, { environment, prune: "none" });
      assert.equal(await applyTo(gateway, moved.document, { environment, prune: "none" }), 0);
      assert.deepEqual(
        moved.models.filter((model) => !Object.hasOwn(reaches, model)),
        [],
      );
      for (const [model, [host, wanted]] of Object.entries(reaches)) {
        const before = vendor.requests.length;
        const status = await chat(gateway, model, headers);
        const received = vendor.requests.slice(before);
        const [first] = received;
        assert.ok(first, `${model}: ${status}`);
        assert.equal(meantUrl(first).hostname, host, model);
        const sent = `${meantUrl(first).pathname} ${first.text}`;
        // pools choose one of several deployments
        assert.ok(decodeURIComponent(sent).includes(wanted), `${model}: ${sent}`);
        if (!/amazonaws|azure|cloudflare/.test(host)) assert.equal(status, 200, model);
      }
      const notCarried = moved.notes.filter(({ outcome }) => outcome === "left").map(({ what }) => what);
      assert.deepEqual(notCarried.toSorted(), left.toSorted());
      assert.ok(moved.notes.every(({ how }) => how !== ""));
    } finally {
      await gateway.close();
    }
  });
}

test("secrets that stand in a configuration in clear are in no file", async () => {
  for (const { text, move, name } of configurations) {
    const moved = move(await readYaml(new TextEncoder().encode(text), name));
    assert.doesNotMatch(JSON.stringify(moved.document), /obvious-fake/, name);
  }
});

test("the report names the private hosts that the gateway must trust", () => {
  const bases = [undefined, "http://vllm:8000/v1", "http://10.0.0.7/v1", "https://models.example.com/v1"];
  const model_list = bases.map((api_base, index) => ({
    model_name: `model-${index}`,
    litellm_params: { model: "ollama/llama3", api_base },
  }));
  const { notes } = moveLitellm({ model_list }, "default");
  const found = notes.find(({ what }) => what === "private hosts");
  assert.match(String(found?.how), /TRUSTED_CUSTOM_HOSTS=localhost,vllm,10\.0\.0\.7$/);
});
