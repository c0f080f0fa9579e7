import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI, { APIError, NotFoundError } from "openai";
import type { FunctionTool, Response } from "openai/resources/responses/responses";
import { recordedText, type Scenario, startNativeUpstream } from "../support/native-upstreams.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { type Shape, shapeHeaders, shapes } from "../support/responses.ts";
import type { RecordingUpstream } from "../support/upstream.ts";

let gateway: GatewayProcess;
let upstream: RecordingUpstream;
before(async () => {
  gateway = await startGatewayProcess();
  upstream = await startNativeUpstream();
});
after(async () => {
  await gateway.stop("SIGKILL");
  await upstream.close();
});

/** The SDK as its users set it up, the upstream set to a scenario. */
function createClient(shape: Shape, scenario: Scenario): OpenAI {
  const { authorization: _, ...headers } = shapeHeaders(shape, upstream.url, scenario);
  return new OpenAI({
    baseURL: `${gateway.url}/v1`,
    apiKey: "fake-provider-key",
    maxRetries: 0,
    timeout: 30_000,
    defaultHeaders: { "x-gateway-api-key": gateway.workspaceKey, ...headers },
  });
}

const tide: FunctionTool = {
  type: "function",
  name: "tide_table",
  description: "Tides of a port",
  strict: false,
  parameters: { type: "object", properties: { port: { type: "string" } } },
};
const wind: FunctionTool = { ...tide, name: "wind_speed", description: "Wind now" };
const tools = [tide, wind];

function callsOf({ output }: Pick<Response, "output">) {
  return output.filter((item) => item.type === "function_call");
}

for (const shape of shapes) {
  const { provider, model } = shape;

  test(`${provider}: create and stream with tools, results sent back by previous_response_id`, async () => {
    const created = await createClient(shape, "tools").responses.create({
      model,
      tools,
      input: "How high is the tide?",
    });
    const runner = createClient(shape, "tools").responses.stream({ model, tools, input: "How high is the tide?" });
    let told = "";
    for await (const event of runner) if (event.type === "response.function_call_arguments.delta") told += event.delta;
    const streamed = await runner.finalResponse();
    assert.equal(
      told,
      callsOf(streamed)
        .map((call) => call.arguments)
        .join(""),
    );
    for (const response of [created, streamed]) {
      const calls = callsOf(response);
      assert.equal(calls.length, 2);
      const results = calls.map(({ call_id }) => ({ type: "function_call_output" as const, call_id, output: "3 m" }));
      const last = await createClient(shape, "text").responses.create({
        model,
        tools,
        input: results,
        previous_response_id: response.id,
      });
      assert.equal(last.output_text, recordedText);
      assert.equal(last.previous_response_id, response.id);
      const sent = upstream.requests.at(-1)?.text ?? "";
      for (const part of ["How high is the tide?", "tide_table", "wind_speed", "3 m"])
        assert.ok(sent.includes(part), part);
    }
  });

  test(`${provider}: a streamed text adds up to the final response`, async () => {
    const runner = createClient(shape, "text").responses.stream({ model, input: "When does it open?" });
    let told = "";
    runner.on("response.output_text.delta", ({ delta }) => {
      told += delta;
    });
    const response = await runner.finalResponse();
    assert.ok(told.length > 0);
    assert.equal(response.output_text, told);
    assert.equal(response.status, "completed");
    assert.ok((response.usage?.output_tokens ?? 0) > 0);
  });

  test(`${provider}: retrieve, list the input, delete`, async () => {
    const { responses } = createClient(shape, "text");
    const created = await responses.create({ model, input: "When does it open?", metadata: { a: "b" } });
    const read = await responses.retrieve(created.id);
    assert.deepEqual([read.output_text, read.metadata], [recordedText, { a: "b" }]);
    const replayed: string[] = [];
    for await (const event of await responses.retrieve(created.id, { stream: true })) replayed.push(event.type);
    assert.equal(replayed.at(-1), "response.completed");
    const items = [];
    for await (const item of responses.inputItems.list(created.id)) items.push(item);
    assert.equal(items.length, 1);
    assert.ok(JSON.stringify(items[0]).includes("When does it open?"));
    await responses.delete(created.id);
    await assert.rejects(responses.retrieve(created.id), NotFoundError);
  });

  test(`${provider}: unsupported requests get an error`, async () => {
    const { responses } = createClient(shape, "text");
    await assert.rejects(
      responses.create({ model, input: "Hello", previous_response_id: "resp_elsewhere" }),
      (error) => error instanceof APIError && error.status === 400 && error.param === "previous_response_id",
    );
  });
}
