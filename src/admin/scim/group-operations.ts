import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { firstPlainIssue, plainIssues } from "../../lib/issues.ts";
import { isObject } from "../../lib/json.ts";
import { Name } from "../../schemas/control.ts";
import { maxScimMembers, ScimMembers, type ScimOperation } from "../../schemas/scim.ts";
import { refuseField } from "../core/request.ts";
import { type AttributePath, readPath } from "./filter.ts";

/** A group as an identity provider describes it. */
export interface GroupDraft {
  displayName: string;
  externalId: string | null;
  /** Ids of users. */
  members: ReadonlySet<string>;
}

type Verb = ScimOperation["op"];

function readName(value: unknown, path: string): string {
  const checked = v.safeParse(Name, value, plainIssues);
  return checked.success ? checked.output : refuseField(path, checked.issues[0].message);
}

function readMembers(value: unknown): string[] {
  const checked = v.safeParse(ScimMembers, Array.isArray(value) ? value : [value], firstPlainIssue);
  return checked.success ? checked.output : refuseField("members", checked.issues[0].message);
}

/** The members that a path such as `members[value eq "id"]` selects; undefined without a condition. */
function readCondition({ conditions, part }: AttributePath): string[] | undefined {
  const [first, ...others] = conditions;
  if (part === undefined && !first) return undefined;
  if (part === undefined && others.length === 0 && first?.attribute === "value" && typeof first.value === "string") {
    return [first.value.toLowerCase()];
  }
  throw new InvalidRequestError('Cannot use this path: it must be members or members[value eq "id"]', {
    code: "invalidPath",
  });
}

function setMembers(former: ReadonlySet<string>, op: Verb, path: AttributePath, value: unknown): ReadonlySet<string> {
  const named = readCondition(path);
  if (named && op !== "remove") {
    throw new InvalidRequestError("Cannot use this path: members are added by their value", { code: "invalidPath" });
  }
  if (op === "add") return new Set([...former, ...readMembers(value)]);
  if (op === "replace") return new Set(value === null ? [] : readMembers(value));
  const gone = new Set(named ?? (value === undefined || value === null ? former : readMembers(value)));
  return new Set([...former].filter((id) => !gone.has(id)));
}

/** Attributes of a group by their paths in lower case: how an operation changes the group. */
const attributes: Readonly<
  Record<string, (draft: GroupDraft, op: Verb, path: AttributePath, value: unknown) => GroupDraft>
> = {
  displayname: (draft, op, _path, value) => ({
    ...draft,
    displayName: op === "remove" ? refuseField("displayName", "must have a value") : readName(value, "displayName"),
  }),
  externalid: (draft, op, _path, value) => ({
    ...draft,
    externalId: op === "remove" || value === null ? null : readName(value, "externalId"),
  }),
  members: (draft, op, path, value) => ({ ...draft, members: setMembers(draft.members, op, path, value) }),
};

function setAttribute(draft: GroupDraft, op: Verb, path: AttributePath, value: unknown): GroupDraft {
  const attribute = Object.hasOwn(attributes, path.attribute) ? attributes[path.attribute] : undefined;
  return attribute ? attribute(draft, op, path, value) : draft;
}

function applyOperation(draft: GroupDraft, { op, path: text, value }: ScimOperation): GroupDraft {
  if (text === undefined || text === null) {
    if (op === "remove")
      throw new InvalidRequestError("Cannot remove: the operation has no path", { code: "noTarget" });
    if (!isObject(value)) return refuseField("value", "must be an object where there is no path");
    return Object.entries(value).reduce((result, [name, part]) => {
      const path = readPath(name);
      return path ? setAttribute(result, op, path, part) : result;
    }, draft);
  }
  const path = readPath(text);
  if (path && ["id", "meta"].includes(path.attribute)) {
    throw new InvalidRequestError(`Cannot change ${path.attribute}: it is read-only`, { code: "mutability" });
  }
  return path ? setAttribute(draft, op, path, value) : draft;
}

/** How many members an operation lists; one that names a single member counts as 0. */
function countMembers({ value }: ScimOperation): number {
  const members = isObject(value) ? value.members : value;
  return Array.isArray(members) ? members.length : 0;
}

/**
 * A group after the operations of a `PATCH`, applied in order.
 *
 * @throws {InvalidRequestError} If they name more members in all than one request may.
 */
export function applyGroupOperations(draft: GroupDraft, operations: readonly ScimOperation[]): GroupDraft {
  const listed = operations.reduce((sum, operation) => sum + countMembers(operation), 0);
  if (listed > maxScimMembers) refuseField("Operations", `must list at most ${maxScimMembers} members in all`);
  return operations.reduce(applyOperation, draft);
}
