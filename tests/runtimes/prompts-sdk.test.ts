import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Portkey } from "portkey-ai";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess({ env: { GATEWAY_HEADER_ALIASES: "x-portkey-" } });
});
after(() => gateway.stop("SIGKILL"));

/** A field of a response that the SDK's types lack. */
function member(answer: unknown, name: string): string {
  const value: unknown = Reflect.get(Object(answer), name);
  assert.equal(typeof value, "string", `${name} of ${JSON.stringify(answer)}`);
  return String(value);
}

/** Values of a member in the rows of a list. */
function listed(answer: unknown, name: string): unknown[] {
  const { data } = Object(answer);
  assert.ok(Array.isArray(data), JSON.stringify(answer));
  return data.map((row: object) => Reflect.get(row, name));
}

test("the SDK keeps prompts, renders and completes them", async () => {
  const baseURL = `${gateway.url}/v1`;
  const client = new Portkey({ apiKey: gateway.workspaceKey, baseURL, provider: "echo" });
  const collection = member(await client.collections.create({ name: "Support" }), "id");
  assert.ok(listed(await client.collections.list({ search: "supp" }), "id").includes(collection));
  const partial = await client.prompts.partials.create({ name: "Tone", string: "Be {{mood}}." });
  assert.deepEqual(listed(await client.prompts.partials.list({}), "slug"), [member(partial, "slug")]);
  const content = [
    { role: "system", content: `{{>${member(partial, "slug")}}}` },
    { role: "user", content: "{{question}}" },
  ];
  const prompt = await client.prompts.create({
    name: "Answer",
    collection_id: collection,
    string: JSON.stringify(content),
    model: "echo-1",
    parameters: { temperature: 0.5 },
    virtual_key: "",
  });
  const slug = member(prompt, "slug");
  const variables = { mood: "kind", question: "Why not?" };
  const rendered = await client.prompts.render({ promptID: slug, variables, max_tokens: 5 });
  assert.deepEqual(JSON.parse(JSON.stringify(rendered)).data, {
    temperature: 0.5,
    max_tokens: 5,
    model: "echo-1",
    messages: [
      { role: "system", content: "Be kind." },
      { role: "user", content: "Why not?" },
    ],
  });
  const whole = await client.prompts.completions.create({ promptID: slug, variables });
  assert.equal(whole.choices[0].message.content, "Why not?");
  const stream = await client.prompts.completions.create({ promptID: slug, variables, stream: true });
  const pieces: string[] = [];
  for await (const { choices } of stream) pieces.push(choices[0].delta.content ?? "");
  assert.equal(pieces.join(""), "Why not?");

  await client.prompts.update(slug, { string: "Say {{word}}", parameters: {}, model: "echo-2" });
  const versions = await client.prompts.versions.list(slug);
  assert.deepEqual(listed(versions, "prompt_version"), [2, 1]);
  const label = member(await client.labels.create({ name: "canary" }), "id");
  await client.prompts.versions.update(slug, String(listed(versions, "id")[0]), { label_id: label });
  const named = await client.prompts.render({ promptID: `${slug}@canary`, variables: { word: "hi" } });
  assert.equal(named.data.prompt, "Say hi");
  await client.prompts.publish(slug, { version: 2 });
  assert.equal(member(await client.prompts.retrieve(slug), "model"), "echo-2");
  assert.deepEqual(listed(await client.prompts.list({ collection_id: collection }), "slug"), [slug]);
  await client.labels.delete(label);
  await client.prompts.partials.delete(member(partial, "slug"));
  await client.prompts.delete(slug);
  await client.collections.delete(collection);
  assert.deepEqual(listed(await client.prompts.list({}), "slug"), []);
});
