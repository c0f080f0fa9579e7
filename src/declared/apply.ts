import { type Api, ApiRefusal } from "./api.ts";
import type { Declared, SectionName } from "./document.ts";
import type { Place, Writer } from "./kind.ts";
import { type Change, makePlan, type Plan, type PlanOptions } from "./plan.ts";
import { readSnapshot, type Snapshot } from "./snapshot.ts";
import { changeWorkspace, createWorkspace, removeWorkspace } from "./workspaces.ts";

/** What applying a file needs. */
interface ApplyOptions extends PlanOptions {
  readonly api: Api;
  /** Called with each plan before it is carried out. */
  readonly show: (plan: Plan) => void;
  /** Takes the secret of a new key, once. */
  readonly takeSecret: Writer["takeSecret"];
}

/** Times a plan is made and carried out: others may write meanwhile, and some records follow from others. */
const maxRounds = 25;

/** Steps failed; those before are done. */
class ApplyError extends Error {
  override readonly name = "ApplyError";
}

const nameOf = ({ section, workspace, name }: Change): string =>
  `${workspace === null ? "" : `workspaces.${workspace}.`}${section}.${name}`;

/** The ids of what a gateway has, with those of what is made meanwhile. */
class KnownIds {
  readonly #snapshot: Snapshot;
  /** Of workspaces that were made now. */
  readonly #places = new Map<string, Place>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  placeOf(workspace: string | null): Place {
    if (workspace === null) return this.#snapshot.organisation.place;
    return (
      this.#places.get(workspace) ?? this.#snapshot.workspaces.get(workspace)?.place ?? { id: "", slug: workspace }
    );
  }

  addPlace(place: Place): void {
    this.#places.set(place.slug ?? "", place);
  }

  /** @throws {LaterError} For a record that is made in the same round: the next one finds it. */
  find(workspace: string | null, section: SectionName, name: string): string {
    const place = workspace === null ? this.#snapshot.organisation : this.#snapshot.workspaces.get(workspace);
    const found = place?.sections.get(section)?.get(name);
    if (found) return found.id;
    throw new LaterError(`there is no ${section} ${name}`);
  }
}

/** A step has to wait for the next round. */
class LaterError extends Error {
  override readonly name = "LaterError";
}

async function perform(change: Change, writer: Writer, known: KnownIds): Promise<void> {
  const { action, kind, name, fields = {}, stored } = change;
  if (!kind) {
    if (action === "create") {
      const made = await createWorkspace(writer, name, fields);
      known.addPlace({ id: String(made.id), slug: name });
    } else if (action === "remove") await removeWorkspace(writer, name, stored?.fields.name);
    else await changeWorkspace(writer, name, fields, stored?.fields ?? {});
    return;
  }
  if (action === "remove" || action === "replace") if (stored) await kind.remove(writer, name, stored);
  if (action === "create" || action === "replace") await kind.create(writer, { name, fields });
  if (action === "change" && stored) await kind.change(writer, { name, fields }, stored);
}

/** What became of the steps of a plan. */
interface Round {
  readonly done: number;
  /** Why a step could not be done. */
  readonly failure?: { readonly change: Change; readonly error: Error };
}

/** Whether another writer may be the cause of a refusal. */
const mayPass = (error: unknown): boolean =>
  error instanceof LaterError || (error instanceof ApiRefusal && (error.status === 409 || error.status === 404));

/** Defaults of workspaces name records that are made after them. */
function inOrder(changes: readonly Change[]): readonly Change[] {
  const isLate = ({ section, action, fields }: Change) =>
    section === "workspaces" && action === "change" && fields?.defaults !== undefined;
  const isRemoval = ({ action, kind }: Change) => action === "remove" && kind !== undefined;
  const late = changes.filter(isLate);
  const others = changes.filter((change) => !isLate(change));
  const last = others.findLastIndex((change) => !isRemoval(change));
  return [...others.slice(0, last + 1), ...late, ...others.slice(last + 1)];
}

async function carryOut(plan: Plan, options: ApplyOptions, snapshot: Snapshot): Promise<Round> {
  const known = new KnownIds(snapshot);
  let done = 0;
  let failure: Round["failure"];
  for (const change of inOrder(plan.changes)) {
    const { workspace } = change;
    const place = known.placeOf(workspace);
    const findId = (section: SectionName, name: string) => known.find(workspace, section, name);
    const writer = { api: options.api, place, findId, takeSecret: options.takeSecret };
    try {
      await perform(change, writer, known);
      done++;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      failure ??= { change, error };
      if (!mayPass(error)) break;
    }
  }
  return { done, ...(failure && { failure }) };
}

/**
 * Makes a gateway have what a file declares. Stopped in the middle, it can be run again.
 *
 * @returns How many records were written.
 * @throws {ApplyError} If the plan cannot be carried out, or others keep changing the same records.
 */
export async function applyDeclared(declared: Declared, options: ApplyOptions): Promise<number> {
  let written = 0;
  let former = "";
  let failure: Round["failure"];
  for (let round = 1; round <= maxRounds; round++) {
    const snapshot = await readSnapshot(options.api, declared);
    const plan = makePlan(declared, snapshot, options);
    if (plan.problems.length > 0) throw new ApplyError(plan.problems.join("\n"));
    if (round === 1 || plan.changes.length > 0) options.show(plan);
    if (plan.changes.length === 0) return written;
    const result = await carryOut(plan, options, snapshot);
    written += result.done;
    failure = result.failure;
    const steps = plan.changes.map(nameOf).join("\n");
    // where others write meanwhile the next plan is another one
    const isStuck = result.done === 0 && steps === former;
    former = steps;
    if (failure && (isStuck || !mayPass(failure.error))) break;
  }
  if (failure)
    throw new ApplyError(`Cannot write ${nameOf(failure.change)}: ${failure.error.message} (${written} written)`);
  throw new ApplyError("The records keep changing: someone else writes them, or they cannot be as the file says");
}
