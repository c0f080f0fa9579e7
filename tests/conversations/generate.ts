import type { ModelTurn, Said } from "../emulators/emulator.ts";
import { createRandom } from "../support/gateway.ts";
import type { OfferedTool, Outcome, Setup, Step } from "./client.ts";
import { toolSets } from "./tools.ts";

/** A conversation: what the client adds and what the model then says, in turn. */
export interface Conversation {
  setup: Setup;
  rounds: readonly { step: Step; turn: ModelTurn }[];
}

/** What conversations of a pair may contain. */
export interface Reach {
  /** Tool calls may carry broken JSON. Default false. */
  breaksArguments?: boolean;
  /** Images in questions and results. Default true. */
  hasImages?: boolean;
  /** Whether an API takes the first request of such a conversation: its own clients ask for nothing else. Default: always. */
  takes?(setup: Setup): boolean;
}

type Random = () => number;

const words = [
  "harbour",
  "tide",
  "“quay”",
  "läuft",
  "\nnext line\n",
  "0451",
  "<tag>",
  "back\\slash",
  "⚓",
  "ebb and flow",
];
const efforts = [undefined, undefined, "off", "low", "medium", "high", "xhigh", "max"] as const;

/** Draws from one stream of numbers. */
class Dice {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = createRandom(seed);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  text(): string {
    return Array.from({ length: 1 + this.below(5) }, () => this.pick(words))
      .join(" ")
      .trim();
  }
}

function drawArguments(
  dice: Dice,
  { isCustom = false }: OfferedTool,
  { breaksArguments = false }: Reach,
): Record<string, unknown> | string {
  if (isCustom) return { input: dice.text() };
  if (breaksArguments && dice.chance(0.05)) return '{"path": "unfinished';
  if (dice.chance(0.15)) return {};
  return {
    path: dice.text(),
    ...(dice.chance(0.5) && { limit: dice.below(1_000) }),
    ...(dice.chance(0.3) && { nested: { list: [1, dice.text(), null, { deep: true }] } }),
  };
}

/** One response of the model: reasoning may stand before and between its calls. */
function drawTurn(dice: Dice, tools: readonly OfferedTool[], reach: Reach): ModelTurn {
  const said: Said[] = [];
  const think = (share: number) => {
    if (dice.chance(share)) said.push({ kind: "thinking", text: dice.text() });
  };
  think(0.6);
  const calls = tools.length === 0 || dice.chance(0.3) ? 0 : 1 + dice.below(3);
  if (calls === 0 || dice.chance(0.5)) said.push({ kind: "text", text: dice.text() });
  for (let count = 0; count < calls; count++) {
    if (count > 0) think(0.3);
    const tool = dice.pick(tools);
    const { name, description } = tool;
    said.push({ kind: "call", name, description, arguments: drawArguments(dice, tool, reach) });
  }
  return { said };
}

const outcomeTexts = (dice: Dice): string => (dice.chance(0.1) ? "" : dice.chance(0.05) ? " \n" : dice.text());

function drawOutcome(dice: Dice, hasImages: boolean): Outcome {
  const isError = dice.chance(0.15);
  // a screenshot of a page often comes with the error
  return { text: outcomeTexts(dice), isError, hasImage: hasImages && dice.chance(isError ? 0.3 : 0.1) };
}

/** A setup that asks for nothing. */
const bare: Setup = {
  instructions: "",
  tools: [],
  effort: undefined,
  temperature: undefined,
  streams: false,
  maxTokens: 8_000,
};

/** The setup, without the fields that the API refuses. */
function fitSetup(setup: Setup, takes: (setup: Setup) => boolean): Setup {
  const silent = { effort: undefined, temperature: undefined };
  const forms = [setup, { ...setup, temperature: undefined }, { ...setup, effort: undefined }, { ...setup, ...silent }];
  return forms.find((form) => takes(form)) ?? { ...setup, ...silent };
}

const countCalls = ({ said }: ModelTurn): number => said.filter(({ kind }) => kind === "call").length;

/** The conversation of a seed: 12 to 16 requests. */
export function generateConversation(seed: number, reach: Reach = {}): Conversation {
  const { hasImages = true, takes = () => true } = reach;
  const dice = new Dice(seed);
  const drawn = dice.chance(0.1) ? [] : dice.pick(toolSets);
  const tools = drawn.filter((tool) => takes({ ...bare, tools: [tool] }));
  const rounds: { step: Step; turn: ModelTurn }[] = [];
  let calls = 0;
  for (let round = 12 + dice.below(5); round > 0; round--) {
    const isCut = rounds.length > 0 && dice.chance(0.05);
    const outcomes = Array.from({ length: isCut ? 0 : calls }, () => drawOutcome(dice, hasImages));
    // the user speaks when the model is done, and sometimes while its calls run
    const speaks = outcomes.length === 0 || dice.chance(0.1);
    const instruction = dice.chance(0.15) ? `Note: ${dice.text()}` : "";
    const isBegun = outcomes.length === 0 && instruction === "" && dice.chance(0.05);
    const step: Step = {
      outcomes,
      isCut,
      text: speaks ? dice.text() : "",
      hasImage: speaks && hasImages && dice.chance(0.1),
      instruction,
      ...(isBegun && { prefill: "Sure:" }),
    };
    const turn = drawTurn(dice, tools, reach);
    rounds.push({ step, turn });
    calls = countCalls(turn);
  }
  const setup: Setup = {
    instructions: dice.chance(0.9) ? `Be brief. ${dice.text()}` : "",
    tools,
    effort: dice.pick(efforts),
    temperature: dice.chance(0.3) ? 0.3 : undefined,
    streams: dice.chance(0.5),
    maxTokens: dice.pick([8_000, 32_000]),
    agent: dice.below(1_000) / 1_000,
  };
  return { setup: fitSetup(setup, takes), rounds };
}
