import type { ComponentType, ReactNode } from "react";
import type { Answer, ApiRow, PathOf } from "@/api/client.ts";
import type { Attribute, Of } from "@/components/attribute.ts";
import type { IconName } from "@/components/icons.tsx";
import type { Principal } from "@/session/session.ts";
import type { FieldKind } from "./field-kind.ts";

export interface Option {
  readonly value: string;
  readonly label: string;
  /** Choices of one group stand together under its name. */
  readonly group?: string;
  /** Row of the API it leads to: offered to those who may call it. */
  readonly row?: ApiRow;
}

/** Whether a record can be changed by a viewer who may call the row: some are built in, or belong to the organisation. */
export type Condition<T = object> = { holds(record: T, viewer: Principal): boolean }["holds"];

/** Many values of a field under one name. */
export interface Preset {
  readonly label: string;
  readonly values: readonly string[];
}

/** What a list route answers with. */
export interface ListAnswer<T = object> {
  readonly data: readonly T[];
  /** How many there are in all, of a route with numbered pages. */
  readonly total?: number;
  /** Of a route that reads on from the last row. */
  readonly has_more?: boolean | undefined;
}

/** What the list of mappings of groups answers with. */
export interface MappingsAnswer<T = object> {
  readonly mappings: readonly T[];
  readonly total_count: number;
}

/** Routes that answer with a list. */
export type ListPath = {
  [P in PathOf<"get">]: Answer<P, "get"> extends ListAnswer | MappingsAnswer ? P : never;
}[PathOf<"get">];

/** A row of the list a route answers with. */
export type RowIn<A> = object & (A extends ListAnswer<infer T> | MappingsAnswer<infer T> ? T : never);

/** Choices read from the API: the rows of a list route. */
export interface OptionSource {
  readonly path: ListPath;
  readonly query?: Readonly<Record<string, string | number>>;
  /** A row as a choice; undefined: it is none. */
  readonly toOption: Of<object, Option | undefined>;
  /** Query parameter that gets the id of the record that is edited, in place of the workspace in view. */
  readonly idAs?: string;
}

/** Values of a form by the names of their fields, or a body that is made of them. */
export type Values = Readonly<Record<string, unknown>>;

/** What the input of a field gets. */
export interface FieldProps {
  readonly field: Field;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly error?: string | undefined;
}

/**
 * Members of a JSON object, and of the objects in it as dotted paths: `defaults.metadata`. Names that a dictionary leaves open
 * are any string behind the dot.
 */
export type MemberOf<T> = T extends readonly unknown[]
  ? never
  : T extends object
    ? {
        [K in keyof T & string]: string extends K ? never : K | `${K}.${InnerMember<T[K]>}`;
      }[keyof T & string]
    : never;

type InnerMember<T> = T extends readonly unknown[] ? never : T extends object ? keyof T & string : never;

/** One member of a request body and how it is asked for. */
export interface Field<N extends string = string, T = object> {
  /** Member of the body, or dotted path of one in an object of it: `defaults.metadata`. */
  readonly name: N;
  /** The value in the record, where the API does not answer with the same member. */
  readonly from?: Of<T, unknown>;
  readonly label: string;
  readonly kind: FieldKind;
  readonly help?: string;
  readonly required?: boolean;
  readonly placeholder?: string;
  /** Of a number: what it counts, which stands beside it. Of a duration: the unit while it is empty. */
  readonly unit?: string;
  readonly initial?: unknown;
  /** Shown, but not to be changed. */
  readonly isFixed?: boolean;
  readonly options?: readonly Option[] | OptionSource;
  /** Of `multi`: choices of many values at once. */
  readonly presets?: readonly Preset[];
  /** Shown only while this holds. */
  readonly when?: (values: Values) => boolean;
  /** Title of the block of the form that holds the field and its neighbours of the same block. */
  readonly section?: string;
  /** Of the first field of a section: what stands above its fields. */
  readonly sectionHelp?: string;
  /** The number by which the API says that there is none, for example -1 for no limit: the input is empty then. */
  readonly none?: number;
  /** Of an object whose members change one by one: only those that changed are sent. */
  readonly isMerged?: boolean;
  /** The value of the input from what the API holds or takes, where they differ. */
  readonly read?: (member: unknown) => unknown;
  /** JSON schema of a field of JSON, for completion and errors in place. */
  readonly schema?: Values;
  /** The input of a field of the kind `own`; its code is loaded when it is first shown. */
  readonly input?: () => Promise<{ readonly default: ComponentType<FieldProps> }>;
  /** The value of the input as the API takes it; throws what is wrong with it. */
  readonly toMember?: (value: unknown) => unknown;
  /** Of `pairs`: the values are secrets. */
  readonly secret?: boolean;
  /** Of `rows`: the inputs of each line. */
  readonly columns?: readonly Field[];
  /** Of a column of `rows`: what differs in a line. */
  readonly ofLine?: (line: Values) => Pick<Partial<Field>, "kind" | "placeholder">;
  /** Of `rows`: most lines. Default: 100. */
  readonly most?: number;
  /** Of `rows`: the label of the button for a further line. */
  readonly add?: string;
  /** Of `rows`: the values of a line from what the API holds. Default: its members. */
  readonly toLine?: (member: unknown) => Values;
  /** Of `rows`: what the API takes for a line. Default: its values. */
  readonly fromLine?: (line: Values) => unknown;
}

/** How a record is made or changed: `T` is its type, `A` what the row answers with. */
export interface Write<T = object, A = unknown> {
  /** Rows of the OpenAPI document this may call: the first decides whether the button is shown. */
  readonly rows: readonly [ApiRow, ...ApiRow[]];
  readonly method?: "POST" | "PUT";
  /** Path of the call; default: that of the first row. */
  readonly path?: (values: Values, id: string) => string;
  readonly fields: readonly Field<string, T>[];
  /** Names of fields that are no members of the body: `toBody` or `path` reads them, or they are only shown. */
  readonly others?: readonly string[];
  /** Whether what these values make must belong to a workspace: the form asks for it while all workspaces are in view. */
  readonly isOfWorkspace?: (values: Values) => boolean;
  readonly when?: Condition<T>;
  /** Changes the body before it is sent, for example to drop a member that only chose the path. */
  readonly toBody?: { toBody(body: Values, record: T | undefined): Values }["toBody"];
  /** The body is sent as multipart/form-data. */
  readonly multipart?: boolean;
  /** A secret of the answer that is shown once. */
  readonly secret?: Of<A, string | null | undefined>;
  /** What addresses a record that was made. */
  readonly made?: Of<A, string>;
}

/** What became of an action. */
export interface ActionResult {
  /** One sentence. */
  readonly message: string;
  /** What the sentence is about, by label. */
  readonly facts?: readonly (readonly [label: string, value: ReactNode])[];
  /** The call worked, and what it examined does not. */
  readonly isFailure?: boolean;
}

/** A button of the detail page: `T` is the type of the record, `A` what the row answers with. */
export interface Action<T = object, A = unknown> {
  readonly label: string;
  readonly icon: IconName;
  readonly row: ApiRow;
  /** What one does next with a record: its button stands out. */
  readonly isMain?: boolean;
  readonly body?: Of<T, unknown>;
  /** Asked before the call is made. */
  readonly confirm?: string;
  /** A secret of the answer that is shown once. */
  readonly secret?: Of<A, string | null | undefined>;
  /** What is said once it worked, in words. */
  readonly done: Of<A, ActionResult>;
  readonly when?: Condition<T>;
}

/** What a part of the detail page gets. */
export interface SectionProps<T = object> {
  readonly record: T;
  readonly id: string;
}

/** A further part of the detail page. */
export interface ResourceSection<T = object> {
  readonly title: string;
  /** Row the section needs. */
  readonly row: ApiRow;
  readonly when?: Condition<T>;
  /** true: a button beside those of the record. */
  readonly isInHead?: boolean;
  readonly load: () => Promise<{ readonly default: Of<SectionProps<T>, ReactNode> }>;
}

/** A filter of the list, as a query parameter of its route. */
export interface ListFilter {
  readonly name: string;
  readonly label: string;
  readonly options?: readonly Option[];
}

/** Names of a route's paging parameters: numbered pages, or the id of the last row that was read. */
export type Paging =
  | { readonly page: string; readonly size: string; readonly first: number }
  | { readonly after: string; readonly size: string };

/**
 * A kind of record of the control plane: list, detail and forms follow from this. `L` is a row of its list, `T` the record, `C`
 * and `U` what the rows answer with that make and change one.
 */
export interface Resource<L = object, T = object, C = unknown, U = unknown> {
  /** Address: `/console/<name>`. */
  readonly name: string;
  readonly text: {
    /** Singular, as in `API key created`. */
    readonly one: string;
    readonly create: string;
    readonly about: string;
    readonly emptyHint: string;
    /** A command that makes the first record. */
    readonly emptyCommand?: string;
  };
  /** Whether records belong to a workspace: `required` lists nothing until an admin chose one. */
  readonly workspace: "required" | "optional" | "none";
  readonly list: {
    readonly path: ListPath;
    readonly query?: Readonly<Record<string, string | number>>;
    /** How the route pages; left out: it answers with everything. */
    readonly paging?: Paging;
    readonly filters?: readonly ListFilter[];
  };
  /** What addresses a record in its routes. */
  readonly id: Of<L | T, string>;
  /** What a person knows the record by. */
  readonly title: Of<T, string | null>;
  readonly columns: readonly Attribute<L>[];
  readonly facts?: readonly Attribute<T>[];
  /** Path of one record, with one parameter. Left out: the detail page reads the list. */
  readonly read?: PathOf<"get">;
  /** The organisation shares records with workspaces, which see of them only what the list says. */
  readonly shared?: boolean;
  readonly create?: Write<object, C>;
  /** Records that lead to these are made on another page: the row that it calls, and its address. */
  readonly createAt?: { readonly row: ApiRow; readonly to: string };
  readonly update?: Write<T, U>;
  readonly remove?: { readonly row: ApiRow; readonly body?: Of<T, unknown>; readonly when?: Condition<T> };
  readonly actions?: readonly Action<T>[];
  readonly sections?: readonly ResourceSection<T>[];
  /** Whether work on the record goes on: it is read again until it ends. */
  readonly isUnfinished?: Of<L | T, boolean>;
}
