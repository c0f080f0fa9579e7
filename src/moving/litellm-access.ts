import { AllowedModels } from "../auth/allowed-models.ts";
import type { Source } from "./source.ts";

// How lists are read: https://docs.litellm.ai/docs/proxy/key_auth_arch and /docs/proxy/model_access_groups

/** What a key has whose list allows nothing: a name that no model has. */
export const noModels: readonly string[] = ["no-default-models"];

/** Entries that stand for every model. */
const everything = new Set(["*", "all-proxy-models"]);

/** The entry of a key that stands for the list of its team. */
const ofTeam = "all-team-models";

/** Names that the gateway can have in a list. */
const nameForm = /^\S{1,255}$/;

/** A name with one `*` at its end, and where it leads. */
interface ListedPattern {
  /** Before the `*`, in the name and in the model. */
  readonly name: string;
  readonly model: string;
  readonly integration: string;
}

/** The models of a cell; PostgreSQL writes lists in braces. */
function readModels(row: Source): string[] {
  const models = row.take("models");
  if (Array.isArray(models)) return models.map(String);
  return String(models ?? "")
    .replace(/[{}"[\]]/g, "")
    .split(",")
    .filter((model) => model !== "");
}

/** What both of two lists allow. */
function inBoth(one: readonly string[], other: readonly string[]): string[] {
  const [first, second] = [new AllowedModels(one), new AllowedModels(other)];
  return [...new Set([...one.filter((name) => second.allows(name)), ...other.filter((name) => first.allows(name))])];
}

/** What the lists of keys and teams stand for. */
export class NameLists {
  readonly #groups = new Map<string, Set<string>>();
  readonly #patterns: ListedPattern[] = [];
  readonly #teams = new Map<string, readonly string[]>();

  /** A group of models that lists name, with one of its models. */
  addToGroup(group: string, name: string): void {
    this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(name));
  }

  /** The groups, with their models. */
  get groups(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#groups;
  }

  /** A name with `*` that clients reach at a provider. */
  addPattern(name: string, model: string, integration: string): void {
    const isPlain = (text: string) => text.indexOf("*") === text.length - 1;
    if (isPlain(name) && isPlain(model))
      this.#patterns.push({ name: name.slice(0, -1), model: model.slice(0, -1), integration });
  }

  /** A row of `LiteLLM_TeamTable`. */
  addTeam(row: Source): void {
    this.#teams.set(row.text("team_id") ?? "", readModels(row));
  }

  /** Names of the gateway; undefined for all. */
  #expand(entries: readonly string[]): string[] | undefined {
    if (entries.length === 0 || entries.some((one) => everything.has(one))) return undefined;
    const names = entries.flatMap((one) => [...(this.#groups.get(one) ?? [one])]);
    const found = names.filter((one) => nameForm.test(one)).flatMap((one) => [one, ...this.#placesOf(one)]);
    return [...new Set(found)];
  }

  #placesOf(name: string): string[] {
    return this.#patterns
      .filter((pattern) => name.startsWith(pattern.name))
      .map(({ name: start, model, integration }) => `@${integration}/${model}${name.slice(start.length)}`);
  }

  /**
   * The models that a key may use: undefined for all.
   *
   * @returns The string `unknown` where they are those of a team that nobody gave.
   */
  read(row: Source): readonly string[] | undefined | "unknown" {
    const own = readModels(row);
    const id = row.has("team_id") ? row.text("team_id") : undefined;
    const inherits = own.includes(ofTeam);
    if (id === undefined) return inherits ? noModels : orNone(this.#expand(own));
    const team = this.#teams.get(id);
    if (!team) return inherits || own.length === 0 ? "unknown" : orNone(this.#expand(own));
    const [ofKey, others] = [inherits ? undefined : this.#expand(own), this.#expand(team)];
    return orNone(ofKey && others ? inBoth(ofKey, others) : (ofKey ?? others));
  }
}

/** A list that allows nothing must not become one that allows everything. */
const orNone = (names: readonly string[] | undefined): readonly string[] | undefined =>
  names?.length === 0 ? noModels : names;
