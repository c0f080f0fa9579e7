import * as v from "valibot";
import type { UserRow } from "../../db/tables/tenants.ts";
import { InvalidRequestError } from "../../errors.ts";
import { firstPlainIssue } from "../../lib/issues.ts";
import { isObject } from "../../lib/json.ts";
import { Email, Name, Text } from "../../schemas/control.ts";
import { type ScimEmail, ScimEmails, ScimFlag, type ScimOperation, type ScimSubAttribute } from "../../schemas/scim.ts";
import { refuseField } from "../core/request.ts";
import { type Condition, readPath } from "./filter.ts";

/** A user as an identity provider describes them. */
export interface UserDraft {
  userName: string;
  externalId: string | null;
  firstName: string | null;
  lastName: string | null;
  /** Null: the user name is the address. */
  email: string | null;
  active: boolean;
}

/** An attribute an identity provider can set. */
interface Attribute {
  /** Sets the attribute of a user to a value. */
  apply(value: unknown, path: string): Partial<UserDraft>;
  /** Clears the attribute; undefined for required ones. */
  cleared?: Partial<UserDraft>;
  /** The attribute as `GET /Schemas` describes it. */
  described: Pick<ScimSubAttribute, "type" | "description"> &
    Partial<Pick<ScimSubAttribute, "required" | "caseExact" | "uniqueness">>;
}

function read<Schema extends v.GenericSchema>(schema: Schema, value: unknown, path: string): v.InferOutput<Schema> {
  const checked = v.safeParse(schema, value, firstPlainIssue);
  return checked.success ? checked.output : refuseField(path, checked.issues[0].message);
}

/** The address that counts: the primary one, else the one of type work, else the first. */
function chooseEmail(emails: readonly ScimEmail[]): string | null {
  const given = emails.filter(({ value }) => value);
  const chosen = given.find(({ primary }) => primary) ?? given.find(({ type }) => type?.toLowerCase() === "work");
  return (chosen ?? given[0])?.value ?? null;
}

function readEmail(value: unknown, path: string): string | null {
  const emails = typeof value === "string" ? [{ value }] : Array.isArray(value) ? value : [value];
  const chosen = chooseEmail(read(ScimEmails, emails, path));
  return chosen === null ? null : read(Email, chosen, path);
}

const nullableText = (member: "firstName" | "lastName", description: string): Attribute => ({
  apply: (value, path) => ({ [member]: read(Text(255, 0), value, path) || null }),
  cleared: { [member]: null },
  described: { type: "string", description },
});

/** Attributes of a user by their paths, in lower case, as they are compared. */
export const userAttributes: Readonly<Record<string, Attribute>> = {
  userName: {
    apply: (value, path) => ({ userName: read(Name, value, path) }),
    described: { type: "string", description: "Name to sign in with", required: true, uniqueness: "server" },
  },
  externalId: {
    apply: (value, path) => ({ externalId: read(Name, value, path) }),
    cleared: { externalId: null },
    described: { type: "string", description: "Identifier of the user at the identity provider", caseExact: true },
  },
  "name.givenName": nullableText("firstName", "First name"),
  "name.familyName": nullableText("lastName", "Last name"),
  emails: {
    apply: (value, path) => ({ email: readEmail(value, path) }),
    cleared: { email: null },
    described: { type: "complex", description: "Addresses; the primary one, else the one of type work, is stored" },
  },
  active: {
    apply: (value, path) => ({ active: read(ScimFlag, value, path) }),
    described: { type: "boolean", description: "Whether the user is active" },
  },
};

const byPath = new Map(Object.entries(userAttributes).map(([path, attribute]) => [path.toLowerCase(), attribute]));

/** Attributes only the gateway sets. */
const readOnly = new Set(["id", "meta", "groups"]);

/** The stored address, as conditions of a path see it. */
const storedEmail: Readonly<Record<string, Condition["value"]>> = { type: "work", primary: true };

/** The table's path for an attribute; undefined for attributes that are not stored. */
function toTablePath(text: string): string | undefined {
  const path = readPath(text);
  if (!path) return undefined;
  const { attribute, conditions, part } = path;
  if (attribute !== "emails") return part === undefined ? attribute : `${attribute}.${part}`;
  const isStored = conditions.every(
    (one) => Object.hasOwn(storedEmail, one.attribute) && storedEmail[one.attribute] === one.value,
  );
  return isStored && (part === undefined || part === "value") ? attribute : undefined;
}

function setAttribute(draft: UserDraft, path: string, value: unknown): UserDraft {
  const attribute = byPath.get(path);
  if (attribute) {
    if (value !== null) return { ...draft, ...attribute.apply(value, path) };
    return attribute.cleared ? { ...draft, ...attribute.cleared } : refuseField(path, "must have a value");
  }
  if (!isObject(value)) return draft;
  return Object.entries(value).reduce(
    (result, [name, part]) => setAttribute(result, `${path}.${name.toLowerCase()}`, part),
    draft,
  );
}

/** A user with the attributes of a representation; unknown ones are ignored. */
export function setAttributes(draft: UserDraft, representation: object): UserDraft {
  return Object.entries(representation).reduce((result, [name, value]) => {
    const path = value === undefined ? undefined : toTablePath(name);
    return path === undefined ? result : setAttribute(result, path, value);
  }, draft);
}

function applyOperation(draft: UserDraft, { op, path, value }: ScimOperation): UserDraft {
  if (path === undefined || path === null) {
    if (op === "remove")
      throw new InvalidRequestError("Cannot remove: the operation has no path", { code: "noTarget" });
    return isObject(value)
      ? setAttributes(draft, value)
      : refuseField("value", "must be an object where there is no path");
  }
  const target = toTablePath(path);
  if (target === undefined) return draft;
  if (readOnly.has(target.split(".")[0] ?? "")) {
    throw new InvalidRequestError(`Cannot change ${target}: it is read-only`, { code: "mutability", param: path });
  }
  if (op !== "remove")
    return value === undefined ? refuseField(path, "must have a value") : setAttribute(draft, target, value);
  // removing a path above several attributes, such as `name`, removes all of them
  const targets = [...byPath.keys()].filter((name) => name === target || name.startsWith(`${target}.`));
  return targets.reduce((result, name) => setAttribute(result, name, null), draft);
}

/** A user after the operations of a `PATCH`, applied in order. */
export function applyOperations(draft: UserDraft, operations: readonly ScimOperation[]): UserDraft {
  return operations.reduce(applyOperation, draft);
}

/** A user as the identity provider last described them. */
export function toDraft(row: UserRow): UserDraft {
  const { userName, externalId, firstName, lastName, email, status } = row;
  return { userName: userName ?? email, externalId, firstName, lastName, email, active: status === "active" };
}

/** A user without any attributes. */
export const blankDraft: UserDraft = {
  userName: "",
  externalId: null,
  firstName: null,
  lastName: null,
  email: null,
  active: true,
};

/**
 * The address of a user: the given one, else the user name if it is an address.
 *
 * @param former The current address, used when nothing gives another.
 */
export function emailOf({ email, userName }: UserDraft, former?: string): string {
  const named = v.safeParse(Email, email ?? userName);
  if (named.success) return named.output;
  return former ?? refuseField("emails", "must contain an address unless the user name is one");
}
