// bun bench/policies.ts [options]: CPU time per request of a workspace with 1,000 policies over that of one without, in
// turn. A control, a second workspace without policies, shows the noise of the machine.
//   --rounds N   fewest rounds (100)
//   --most N     most rounds, while a ratio is within the noise of its limit (400)
// Ends with 1 where a ratio is above its limit.

import { parseArgs } from "node:util";
import type { Stage } from "./load.ts";
import { policyLimits, runPolicies } from "./policy-sides.ts";
import { createFolder, runMain, startGateway, startUpstream } from "./processes.ts";
import { policiesTable, policyTitles } from "./report.ts";
import { judge } from "./verdict.ts";

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "100" },
      most: { type: "string", default: "400" },
    },
  });
  const [rounds, most] = [Number(values.rounds), Number(values.most)];
  if (!(rounds >= 1 && most >= rounds))
    throw new TypeError("Cannot measure: --rounds must be at least 1, and --most at least --rounds");
  const upstream = await startUpstream();
  const gateway = await startGateway("bun");
  const sent = { completed: 0, abandoned: 0 };
  const stage: Stage = { upstream, gateway, bare: gateway, folder: createFolder("policies"), sent };
  const found = await runPolicies(stage, { rounds, most }, (line) => console.error(line));
  await gateway.stop();
  await upstream.stop();
  console.log(`${found.rounds} rounds\n\n${policiesTable(found)}\n`);
  for (const side of ["unmatched", "matched"] as const) {
    const { ratio, from, to } = found.sides[side];
    const line = `${policyTitles[side]}: CPU per request, 95 % interval ${from.toFixed(3)} to ${to.toFixed(3)}`;
    judge({ line, figure: ratio, most: policyLimits[side], unit: "of without", digits: 3 });
  }
  judge({ line: "failed requests", figure: found.failures, most: 0, unit: "requests" });
}

await runMain(main);
