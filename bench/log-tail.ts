// bun bench/log-tail.ts [options]: what followers of the log cost under full load, and whether they lose rows: CPU time
// per request with followers over that without, in turn. A second turn without followers shows the noise of the machine.
//   --followers N  those who follow, each of whom waits for marked rows (50)
//   --rounds N     fewest rounds (60)
//   --most N       most rounds, while the ratio is within the noise of its limit (300)
// Ends with 1 where a line does not hold.

import { parseArgs } from "node:util";
import { sendBurst } from "./load.ts";
import { echoChat, Followers, sendMarked } from "./log-followers.ts";
import { isOpen, median, middleOf, type ThreadTimes } from "./measure.ts";
import { type Running, runMain, startGateway } from "./processes.ts";
import { judge } from "./verdict.ts";

/** Requests of one turn, and how many of them are marked. */
const turnOf = { requests: 1_600, marked: 1 };
/** Requests before each turn, so that what is left of the turn before costs no other. */
const spacerRequests = 320;
/** Requests of each side before the first round, and how many of them are marked. */
const warmUp = { requests: 20_000, marked: 200 };
/** Most CPU time per request with followers, relative to that without. */
const mostRatio = 1.05;
/** Rounds between two reports. */
const reportedRounds = 10;

const sides = ["without", "followed", "control"] as const;
type Side = (typeof sides)[number];
/** What a request used in each turn of a round. */
type Round = Record<Side, ThreadTimes>;

/** What was sent and seen. */
interface Seen {
  rows: number;
  lost: number;
  doubled: number;
  failures: number;
}

/** Ratios of the turns with followers, or of the control, in each round. */
function ratiosOf(side: Side, rounds: readonly Round[], name: keyof ThreadTimes = "all"): number[] {
  return rounds.map((round) => {
    const without = side === "control" ? round.without[name] : (round.without[name] + round.control[name]) / 2;
    return round[side][name] / without;
  });
}

/** Measures turns of a gateway with and without followers. */
class Turns {
  readonly #gateway: Running;
  readonly #followers: number;
  readonly #sent = { completed: 0, abandoned: 0 };
  readonly seen: Seen = { rows: 0, lost: 0, doubled: 0, failures: 0 };
  #turns = 0;

  constructor(gateway: Running, followers: number) {
    this.#gateway = gateway;
    this.#followers = followers;
  }

  get #url(): string {
    return `http://127.0.0.1:${this.#gateway.port}`;
  }

  /**
   * One turn. All sides do the same before it, connecting and leaving included: the followers of those without leave
   * before it, the others behind it. In all of them marked requests are sent.
   */
  async measure(side: Side, { requests, marked }: typeof warmUp): Promise<ThreadTimes> {
    const turn = this.#turns++;
    const traces = Array.from({ length: marked }, (_, index) => `marked-${turn}-${index}`);
    const followers = await Followers.connect(this.#url, this.#followers);
    if (side !== "followed") followers.close();
    const target = { url: `${this.#url}/v1/chat/completions`, connections: 32, ...echoChat };
    const shooter = { target, script: "" };
    const stage = { gateway: this.#gateway, sent: this.#sent };
    await sendBurst(shooter, stage, spacerRequests);
    const { times, failures } = await sendBurst(shooter, stage, requests, async () => {
      for (const trace of traces) await sendMarked(this.#url, trace);
      if (side === "followed") await followers.untilSeen(traces);
    });
    const { seen } = this;
    seen.failures += failures;
    if (side !== "followed") return times;
    const { lost, doubled } = followers.count(traces);
    seen.rows += this.#followers * marked;
    seen.lost += lost;
    seen.doubled += doubled;
    followers.close();
    return times;
  }
}

async function run(turns: Turns, least: number, most: number): Promise<Round[]> {
  for (const side of sides) await turns.measure(side, warmUp);
  const rounds: Round[] = [];
  const isDecided = () => !isOpen(middleOf(ratiosOf("followed", rounds)), mostRatio);
  while (rounds.length < least || (rounds.length < most && !isDecided())) {
    const none: ThreadTimes = { all: 0, answering: 0, workers: 0 };
    const round: Round = { without: none, followed: none, control: none };
    // each side comes first in every third round, and each comes behind each other one as often
    const turn = rounds.length % sides.length;
    const order = [...sides.slice(turn), ...sides.slice(0, turn)];
    if (rounds.length % 2 === 1) order.reverse();
    for (const side of order) round[side] = await turns.measure(side, turnOf);
    rounds.push(round);
    if (rounds.length % reportedRounds === 0) console.error(`${rounds.length} rounds: ${describe(rounds)}`);
  }
  return rounds;
}

function describe(rounds: readonly Round[]): string {
  const of = (side: Side) => {
    const each = (name: keyof ThreadTimes) => median(rounds.map((round) => round[side][name])).toFixed(1);
    return `${side} ${each("all")} us (${each("answering")} answering, ${each("workers")} in workers)`;
  };
  return sides.map(of).join(", ");
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      followers: { type: "string", default: "50" },
      rounds: { type: "string", default: "60" },
      most: { type: "string", default: "300" },
    },
  });
  const [followers, least, most] = [Number(values.followers), Number(values.rounds), Number(values.most)];
  if (!(followers >= 1 && least >= 1 && most >= least))
    throw new TypeError("Cannot measure: --followers and --rounds must be at least 1, and --most at least --rounds");
  const gateway = await startGateway("bun");
  const turns = new Turns(gateway, followers);
  const rounds = await run(turns, least, most);
  await gateway.stop();
  const { rows, lost, doubled, failures } = turns.seen;
  console.log(`${rounds.length} rounds, ${followers} followers, ${rows} rows for them\n${describe(rounds)}`);
  const control = middleOf(ratiosOf("control", rounds));
  console.log(
    `without followers twice: ${control.ratio.toFixed(3)} (${control.from.toFixed(3)} to ${control.to.toFixed(3)})`,
  );
  judge({ line: "rows lost for followers", figure: lost, most: 0, unit: "rows" });
  judge({ line: "rows sent twice", figure: doubled, most: 0, unit: "rows" });
  judge({ line: "failed requests", figure: failures, most: 0, unit: "requests" });
  const { ratio, from, to } = middleOf(ratiosOf("followed", rounds));
  const line = `${followers} followers: CPU per request, 95 % interval ${from.toFixed(3)} to ${to.toFixed(3)}`;
  judge({ line, figure: ratio, most: mostRatio, unit: "of without", digits: 3 });
}

await runMain(main);
