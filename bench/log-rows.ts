import type { LogDetails } from "../src/schemas/logs.ts";

/** Keys of the databases that `bench/logs.ts` seeds. They are not secret, and the same for each run with one folder. */
export const adminKey = "bench-admin-key-00000000000";
export const masterKeys = `v1:${Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7 + 3)).toString("base64url")}`;

export const draw = (count: number): number => Math.floor(Math.random() * count);
const some = (count: number, of: (index: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, index) => of(index));
const pick = (values: readonly string[]): string => values[draw(values.length)] ?? "";
const thousandths = (most: number): number => draw(most * 100) / 100;

const models = some(30, (index) => `model-${index}`);
const apiKeys = some(500, () => crypto.randomUUID());
const providers = ["openai", "anthropic", "google"];
const failures = [400, 429, 500, 503];

/** A row with random values. */
export function createDetails(id: string, organisationId: string, workspaceId: string): LogDetails {
  const [input, output] = [draw(5_000), draw(1_000)];
  const status = draw(20) > 0 ? 200 : (failures[draw(failures.length)] ?? 500);
  const metadata = {
    _user: `user-${draw(3_000)}@example.com`,
    team: `team-${draw(20)}`,
    session: `session-${draw(100_000)}`,
    // more keys than have columns
    [`tag-${draw(200)}`]: `value-${draw(50)}`,
  };
  const details: LogDetails = {
    id,
    organisation_id: organisationId,
    workspace_id: workspaceId,
    api_key_id: pick(apiKeys),
    status,
    provider: pick(providers),
    model: pick(models),
    trace_id: crypto.randomUUID(),
    method: "POST",
    path: "/v1/chat/completions",
    operation: draw(10) > 0 ? "chatComplete" : "embed",
    span_id: null,
    parent_span_id: null,
    span_name: null,
    metadata,
    stream: draw(2) === 0,
    duration_ms: thousandths(5_000),
    first_byte_ms: thousandths(500),
    upstream_ms: thousandths(4_000),
    upstream_url: "https://api.openai.com/v1/chat/completions",
    upstream_calls: 1,
    usage: {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      cached_tokens: 0,
      reasoning_tokens: 0,
      cache_write_tokens: 0,
      audio_input_tokens: 0,
      audio_output_tokens: 0,
    },
    cost: draw(10_000_000) / 10_000_000,
    cost_currency: "USD",
    priced: true,
    price_source: "list",
    error: status === 200 ? null : { type: "upstream_error", code: `status_${status}`, message: "The provider failed" },
  };
  if (draw(3) === 0) details.virtual_key = `provider-${draw(10)}`;
  if (draw(4) === 0) details.config = `config-${draw(12)}`;
  if (draw(10) === 0) details.prompt_slug = `prompt-${draw(40)}`;
  if (draw(2) === 0) details.user_id = `user-id-${draw(200)}`;
  return details;
}
