import { scopesOfKind } from "../src/auth/scopes.ts";
import { prepare, type Shooter, type Stage, sendBurst } from "./load.ts";
import { isOpen, type Middle, median, middleOf } from "./measure.ts";
import { keys } from "./processes.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { writeWrkScript } from "./wrk.ts";

/** Policies of each workspace that has some. */
const policies = 1_000;
/** Policies that are made at a time. */
const atOnce = 8;
/** Requests before the first round, for each side: enough for the engine to optimise its code. */
const warmUpRequests = 20_000;
/** Requests of one turn. */
const turnRequests = 640;

/** What is measured in turn: workspaces of one gateway. The last shows how far two measurements of the same differ. */
export const policySides = ["none", "unmatched", "matched", "control"] as const;
type PolicySide = (typeof policySides)[number];

/** Most CPU time per request of a workspace with policies, relative to one without. */
export const policyLimits = { unmatched: 1.02, matched: 1.08 };

/** What was found for one workspace: its ratio to those without policies, and its median CPU time per request. */
interface PolicySideResult extends Middle {
  readonly cpuMicroseconds: number;
}

/** What policies cost. */
export interface PoliciesResult {
  rounds: number;
  sides: Record<PolicySide, PolicySideResult>;
  failures: number;
}

/** One policy as the API takes it. */
interface PolicyBody {
  kind: "rate" | "usage";
  conditions: { key: string; value: string | string[]; excludes?: string }[];
  group_by: { key: string }[];
}

const metadata = { team: "blue", env: "prod", _user: "alice@example.com" };

/** Policies that look at everything a request has, and of which none applies to the requests that are sent. */
function unmatchedPolicies(workspaceId: string, count: number): PolicyBody[] {
  const conditionsOf = (number: number): PolicyBody["conditions"][] => [
    [{ key: "api_key", value: crypto.randomUUID() }],
    [{ key: "metadata.team", value: `team-${number}` }],
    [{ key: "model", value: `claude-${number}-*` }],
    [
      { key: "provider", value: "openai" },
      { key: "model", value: `gpt-4o-${number}*` },
    ],
    [
      { key: "workspace_id", value: workspaceId },
      { key: "metadata._user", value: `user-${number}@example.com` },
    ],
    [
      { key: "virtual_key", value: `provider-${number}` },
      { key: "model", value: "*" },
    ],
    [
      { key: "provider", value: ["anthropic", "groq"] },
      { key: "metadata.env", value: "prod" },
    ],
    [{ key: "config", value: `config-${number}` }],
    [{ key: "metadata.env", value: `*-stage-${number}-*`, excludes: "test-*" }],
    [
      { key: "provider", value: "openai" },
      { key: "metadata.team", value: ["red", `blue-${number}`] },
    ],
  ];
  return Array.from({ length: count }, (_, number) => {
    const forms = conditionsOf(number);
    const kind = number % 2 === 0 ? "rate" : "usage";
    return { kind, conditions: forms[number % forms.length] ?? [], group_by: [{ key: "api_key" }] };
  });
}

/** Policies that apply to every request that is sent. */
const matchedPolicies: readonly PolicyBody[] = [
  { kind: "rate", conditions: [{ key: "provider", value: "openai" }], group_by: [{ key: "api_key" }] },
  { kind: "usage", conditions: [{ key: "model", value: "gpt-4o*" }], group_by: [{ key: "metadata._user" }] },
  {
    kind: "usage",
    conditions: [{ key: "metadata.team", value: "blue" }],
    group_by: [{ key: "metadata.team" }, { key: "model" }],
  },
];

/** Limits that nothing reaches. */
const limitOf = {
  rate: { type: "requests", unit: "rpm", value: 1e9 },
  usage: { type: "cost", credit_limit: 1e6, periodic_reset: "monthly" },
};

async function create(path: string, body: object, { gateway }: Stage): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${gateway.port}/v1${path}`, {
    method: "POST",
    headers: { "x-gateway-api-key": keys.admin, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  if (!response.ok) throw new Error(`Cannot measure: ${path} answered ${response.status} ${await response.text()}`);
  const created: Record<string, unknown> = JSON.parse(await response.text());
  return created;
}

/** Makes a workspace with policies and returns a key of it. */
async function createWorkspace(side: PolicySide, stage: Stage): Promise<string> {
  const { id } = await create("/admin/workspaces", { name: side }, stage);
  const workspace = { workspace_id: String(id) };
  const unmatched = (count: number) => unmatchedPolicies(workspace.workspace_id, count);
  const list = {
    none: [],
    unmatched: unmatched(policies),
    matched: [...unmatched(policies - matchedPolicies.length), ...matchedPolicies],
    control: [],
  }[side];
  for (let first = 0; first < list.length; first += atOnce) {
    const some = list.slice(first, first + atOnce);
    const made = some.map(({ kind, ...body }) => {
      return create(`/policies/${kind}-limits`, { ...workspace, ...body, ...limitOf[kind] }, stage);
    });
    await Promise.all(made);
  }
  const scopes = scopesOfKind("workspace-service");
  const { key } = await create("/api-keys/workspace/service", { name: side, ...workspace, scopes }, stage);
  return String(key);
}

/** The small chat, which all sides send. */
function smallChat(): Scenario {
  const small = scenarios.find(({ name }) => name === "small-32");
  if (!small) throw new Error("Cannot measure policies: the scenario is not there");
  return small;
}

/** The request of a side: that of the small chat, with metadata and the key of its workspace. */
export async function prepareSide(side: PolicySide, stage: Stage): Promise<Shooter> {
  const small = smallChat();
  const { target } = await prepare(small, "gateway", stage);
  const key = await createWorkspace(side, stage);
  const headers = { ...target.headers, "x-gateway-api-key": key, "x-gateway-metadata": JSON.stringify(metadata) };
  const changed = { ...target, headers };
  return { target: changed, script: writeWrkScript(stage.folder, `policies-${side}`, changed) };
}

/** CPU time per request of the sides in one round, each of them measured once. */
type PolicyRound = Record<PolicySide, number>;

/** Ratios of a side in each round: to the two workspaces without policies together, the control to the other alone. */
function ratiosOf(side: PolicySide, rounds: readonly PolicyRound[]): number[] {
  return rounds.map((round) => {
    const without = side === "control" ? round.none : (round.none + round.control) / 2;
    return round[side] / without;
  });
}

function summarise(side: PolicySide, rounds: readonly PolicyRound[]): PolicySideResult {
  const middle = side === "none" ? { ratio: 1, from: 1, to: 1 } : middleOf(ratiosOf(side, rounds));
  return { ...middle, cpuMicroseconds: median(rounds.map((round) => round[side])) };
}

/** How often the sides are measured. */
export interface PolicyRounds {
  /** Fewest rounds. */
  rounds: number;
  /** Most rounds: further ones follow while a result is within the noise of its limit. Default: `rounds`. */
  most?: number;
}

/** Rounds between two reports. */
const reportedRounds = 20;

const describeSides = (sides: PoliciesResult["sides"]): string =>
  policySides.map((side) => `${side} ${sides[side].cpuMicroseconds.toFixed(1)} us`).join(", ");

/**
 * Measures what policies cost: CPU time per request of a workspace without policies, of one with 1,000 of which none
 * applies, and of one with 1,000 of which three apply, in turn.
 *
 * @param report Called now and then with what was found so far.
 */
export async function runPolicies(
  stage: Stage,
  { rounds: least, most = least }: PolicyRounds,
  report: (line: string) => void,
): Promise<PoliciesResult> {
  const shooters = new Map<PolicySide, Shooter>();
  for (const side of policySides) shooters.set(side, await prepareSide(side, stage));
  let failures = 0;
  const measure = async (side: PolicySide, count: number) => {
    const shooter = shooters.get(side);
    if (!shooter) throw new Error("Cannot measure policies: a side was left out");
    const burst = await sendBurst(shooter, stage, count);
    failures += burst.failures;
    return burst.microseconds;
  };
  for (const side of policySides) await measure(side, warmUpRequests);
  const rounds: PolicyRound[] = [];
  const sides = () => {
    const of = (side: PolicySide) => summarise(side, rounds);
    return { none: of("none"), unmatched: of("unmatched"), matched: of("matched"), control: of("control") };
  };
  const isDecided = () => {
    const { unmatched, matched } = sides();
    return !isOpen(unmatched, policyLimits.unmatched) && !isOpen(matched, policyLimits.matched);
  };
  while (rounds.length < least || (rounds.length < most && !isDecided())) {
    const round: PolicyRound = { none: 0, unmatched: 0, matched: 0, control: 0 };
    // each side comes first in every fourth round
    const turn = rounds.length % policySides.length;
    const order = [...policySides.slice(turn), ...policySides.slice(0, turn)];
    for (const side of order) round[side] = await measure(side, turnRequests);
    rounds.push(round);
    if (rounds.length % reportedRounds === 0) report(describeSides(sides()));
  }
  return { rounds: rounds.length, sides: sides(), failures };
}
