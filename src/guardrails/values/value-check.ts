import type { Steps } from "../../lib/steps.ts";
import type { CleanOwner, CleanStrings } from "../clean-strings.ts";
import { CheckError, type CheckInput, type CheckOutcome, type CheckWindow } from "../types.ts";
import type { ValueFinder } from "./finder.ts";

/** What a check of values looks for, and what it does with what it finds. */
export interface ValueSearch {
  readonly finder: ValueFinder;
  /** Names what the finder looks for, the same in all guardrails. Absent: what is clean is not remembered. */
  readonly rules?: string;
  /** Values are replaced, and the check passes. */
  readonly redact: boolean;
  /** Values of a request that were replaced come back in its response. */
  readonly restore: boolean;
  /** The check passes only if there is a value. */
  readonly not: boolean;
  /** What is found, for explanations: `personal data`. */
  readonly noun: string;
}

/** Names what takes the place of a value. */
type NameValue = (kind: string, value: string) => string;

/** What takes the place of the values of an input: with `restore` those of a request are put back into the response. */
export function placeholdersOf(
  { placeholders, phase, request }: Pick<CheckInput, "placeholders" | "phase" | "request">,
  restore: boolean,
): NameValue {
  if (!restore || phase !== "beforeRequestHook") return (kind, value) => placeholders.of(kind, value);
  return (kind, value) => placeholders.ofRestored(kind, value, request.body);
}

/** What was found so far. */
class Findings {
  readonly counts = new Map<string, number>();
  total = 0;
  readonly #placeholderOf: NameValue;

  constructor(placeholderOf: NameValue) {
    this.#placeholderOf = placeholderOf;
  }

  /** The text with its values replaced; null without any. */
  *replace(text: string, { finder, redact }: ValueSearch): Steps<string | null> {
    let changed = "";
    let end = 0;
    for (;;) {
      const found = yield* finder.find(text, end);
      if (!found) break;
      const { name } = found.kind;
      this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
      this.total++;
      if (redact)
        changed += text.slice(end, found.start) + this.#placeholderOf(name, text.slice(found.start, found.end));
      end = found.end;
    }
    return changed === "" ? null : changed + text.slice(end);
  }
}

const elsewhere = "a value is outside the messages, such as in a tool or a schema, which cannot be changed";

type SearchInput = Pick<
  CheckInput,
  "strings" | "rest" | "mustSeeAll" | "placeholders" | "phase" | "request" | "tenant" | "cleanStrings"
>;

/** The strings of requests in which nothing was found, and whose they are. */
interface Remembered {
  readonly strings: CleanStrings;
  readonly owner: CleanOwner;
}

/** What is remembered for a search; undefined where nothing is. */
function rememberedFor(input: SearchInput, { rules }: ValueSearch): Remembered | undefined {
  const { cleanStrings: strings, phase } = input;
  if (!strings || rules === undefined || phase !== "beforeRequestHook") return undefined;
  return { strings, owner: { tenant: input.tenant, rules } };
}

/** As `replace` of the findings; a text of a request in which nothing was found before is not searched again. */
function* replaceNew(
  text: string,
  findings: Findings,
  { search, remembered }: { search: ValueSearch; remembered: Remembered | undefined },
): Steps<string | null> {
  const name = remembered?.strings.nameOf(text, remembered.owner);
  if (name !== undefined && remembered?.strings.has(name)) return null;
  const { total } = findings;
  const changed = yield* findings.replace(text, search);
  if (name !== undefined && findings.total === total) remembered?.strings.add(name, remembered.owner);
  return changed;
}

/** Finds values in all strings; with `redact` those of the messages are replaced. */
export function* searchValues(input: SearchInput, search: ValueSearch): Steps<CheckOutcome> {
  const { strings, rest, mustSeeAll } = input;
  const { redact, restore, not, noun } = search;
  const findings = new Findings(placeholdersOf(input, restore));
  const remembered = rememberedFor(input, search);
  const changed: (string | null)[] = [];
  for (const text of strings) changed.push(yield* replaceNew(text, findings, { search, remembered }));
  const inStrings = findings.total;
  for (const text of rest) yield* replaceNew(text, findings, { search, remembered });
  const count = findings.total;
  const isElsewhere = redact && count > inStrings;
  if (isElsewhere && mustSeeAll) throw new CheckError(`Cannot replace every value: ${elsewhere}`);
  const done = redact && count > 0 ? "were replaced" : "were found";
  const explanation = `${count} values with ${noun} ${done}`;
  return {
    pass: redact || (count === 0) !== not,
    data: { explanation, count, entities: Object.fromEntries(findings.counts) },
    ...(redact && { strings: changed }),
    ...(isElsewhere && { error: `Cannot replace every value: ${elsewhere}` }),
  };
}

/** How values are found while a text grows; undefined where the check needs all of it. */
export function windowOf({ finder, redact, not }: ValueSearch, characters = finder.longest): CheckWindow | undefined {
  if (not) return undefined;
  return {
    characters,
    *find(text, from) {
      const found = yield* finder.find(text, from);
      if (!found) return undefined;
      const { start, end, kind } = found;
      return { start, end, fails: !redact, label: kind.name, ...(redact && { placeholder: kind.name }) };
    },
  };
}
