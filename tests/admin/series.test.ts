// Figures by group over time, beside an independent computation from the rows: random groupings, figures, periods and filters.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { timeOfId } from "../../src/lib/ids.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { createLogReaderThread } from "../../src/serve/log-reader-thread.ts";
import { pick, randomRows, recomputeGroup, storeRows, whole } from "../support/analytics.ts";
import { call, done } from "../support/control.ts";
import { createRandom, createTestGateway, type TestGateway } from "../support/gateway.ts";
import { rounds, sampleSeed } from "../support/sample.ts";

interface Points {
  readonly total: number;
  readonly former: number;
  readonly points: readonly number[];
}

interface Series {
  readonly object: string;
  readonly figure: string;
  readonly summary: { readonly total: number; readonly former: number };
  readonly data_points: readonly { readonly timestamp: string; readonly total: number; readonly former: number }[];
  readonly data: readonly (Points & Record<string, unknown>)[];
  readonly other: (Points & { readonly groups: number }) | null;
}

const random = createRandom(sampleSeed);
const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
let rows: LogDetails[] = [];
let gateway: TestGateway;

before(async () => {
  gateway = await createTestGateway({ inFile: true, createLogReader: createLogReaderThread });
  const { data } = await done<{ data: { id: string; organisation_id: string }[] }>(
    call(gateway, "GET /admin/workspaces"),
  );
  const own = { organisationId: data[0]?.organisation_id ?? "", workspaceId: data[0]?.id ?? "" };
  rows = randomRows(random, own, { count: 1_000, start, stepMs: 300_000 });
  await storeRows(await gateway.openFile(), random, { tenant: own, rows, tail: 5 });
});
after(() => gateway.close());

/** Groupings with the value of a row, as the response shows it. */
const groupings: Readonly<Record<string, { value: string; of: (row: LogDetails) => string | number }>> = {
  model: { value: "model", of: ({ model }) => model ?? "" },
  ai_service: { value: "ai_service", of: ({ provider }) => provider ?? "" },
  users: { value: "user", of: ({ metadata }) => metadata._user ?? "" },
  status_code: { value: "status_code", of: ({ status }) => status },
  session: { value: "session_id", of: (row) => row.session_id ?? "" },
  "metadata/team": { value: "metadata_value", of: ({ metadata }) => metadata.team ?? "" },
};
const filters: Readonly<Record<string, (row: LogDetails) => boolean>> = {
  "": () => true,
  "&status_code=5xx": ({ status }) => status >= 500,
  "&api_key_ids=key-1,key-2": (row) => row.api_key_id !== "key-3",
  '&metadata={"team":"red"}': ({ metadata }) => metadata.team === "red",
};
const figures = ["requests", "cost", "total_tokens", "error_count"] as const;

const iso = (time: number) => new Date(time).toISOString();
const near = (one: number, other: number) => Math.abs(one - other) < 1e-6;
const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

for (let round = 0; round < rounds(60); round++) {
  const name = pick(random, Object.keys(groupings));
  const figure = pick(random, figures);
  const filter = pick(random, Object.keys(filters));
  const top = 1 + Math.floor(random() * 6);
  const from = start + Math.floor(random() * 24) * hour + 17;
  const to = from + pick(random, [0.7, 9, 30, 60]) * hour - 1;
  test(`${name}: ${figure} of the first ${top} with "${filter}", ${iso(from)} to ${iso(to)}`, async () => {
    const query = `time_of_generation_min=${iso(from)}&time_of_generation_max=${iso(to)}&figure=${figure}&top=${top}${filter}`;
    const answer = await done<Series>(call(gateway, `GET /analytics/series/${name}?${query}`));
    const { value, of } = groupings[name] ?? { value: "", of: () => "" };
    const figureOf = (some: LogDetails[]) => (some.length === 0 ? 0 : Number(recomputeGroup(some, [])[figure] ?? 0));
    // parts of realtime sessions are no requests
    const counted = figure === "cost" || figure === "total_tokens" ? rows : whole(rows);
    const within = (least: number, most: number) =>
      counted.filter((row) => {
        const time = timeOfId(row.id);
        return time >= least && time <= most && filters[filter]?.(row) === true;
      });
    const [own, former] = [within(from, to), within(from - (to - from) - 1, from - 1)];
    assert.ok(near(answer.summary.total, figureOf(own)));
    assert.ok(near(answer.summary.former, figureOf(former)));
    const shown = answer.data.map((group) => group[value]);
    const totals = [...new Set(own.map(of))].map((one) => figureOf(own.filter((row) => of(row) === one)));
    const most = totals.toSorted((a, b) => b - a).slice(0, top);
    assert.equal(shown.length, most.length);
    assert.equal(new Set(shown).size, shown.length);
    for (const [index, group] of answer.data.entries()) {
      const ofGroup = (some: LogDetails[]) => some.filter((row) => of(row) === group[value]);
      assert.ok(near(group.total, most[index] ?? 0), `${String(group[value])}: ${group.total}`);
      assert.ok(near(group.total, figureOf(ofGroup(own))));
      assert.ok(near(group.former, figureOf(ofGroup(former))));
      assert.ok(near(sum(group.points), group.total));
      assert.equal(group.points.length, answer.data_points.length);
    }
    for (const [at, point] of answer.data_points.entries()) {
      const begin = Date.parse(point.timestamp);
      const end = Date.parse(answer.data_points[at + 1]?.timestamp ?? iso(to + 1)) - 1;
      assert.ok(near(point.total, figureOf(within(Math.max(from, begin), end))), point.timestamp);
      const parts = [...answer.data, ...(answer.other === null ? [] : [answer.other])].map(
        ({ points }) => points[at] ?? 0,
      );
      assert.ok(near(sum(parts), point.total));
    }
    assert.ok(near(sum(answer.data_points.map((point) => point.former)), answer.summary.former));
    const groups = new Set([...own, ...former].map(of)).size - shown.length;
    assert.equal(answer.other?.groups ?? 0, groups);
  });
}

for (const [query, param] of [
  ["figure=avg_latency", "figure"],
  ["top=0", "top"],
  ["top=21", "top"],
  ["top=x", "top"],
  ["columns=cost", "columns"],
] as const) {
  test(`a series with ${query} is refused, naming ${param}`, async () => {
    const period = `time_of_generation_min=${iso(start)}&time_of_generation_max=${iso(start + hour)}`;
    const { status, body } = await call(gateway, `GET /analytics/series/model?${period}&${query}`);
    assert.equal(status, 400);
    assert.match(JSON.stringify(body), new RegExp(`${param}: `));
  });
}
