import type { ComponentType, ReactNode } from "react";
import type { Attribute } from "@/components/attribute.ts";
import type { IconName } from "@/components/icons.tsx";
import type { NavGroup } from "@/layout/nav-groups.ts";
import type { Row } from "@/lib/read.ts";
import type { Principal } from "@/session/session.ts";

export interface Option {
  readonly value: string;
  readonly label: string;
  /** Row of the API it leads to: offered to those who may call it. */
  readonly row?: string;
}

/** Whether a record can be changed by a viewer who may call the row: some are built in, or belong to the organisation. */
export type Condition = (record: Row, viewer: Principal) => boolean;

/** Choices read from the API: the rows of a list route. */
export interface OptionSource {
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly value: string;
  readonly label: string;
  /** Only rows with these members. */
  readonly where?: Readonly<Record<string, string>>;
  /** Query parameter that gets the id of the record that is edited, in place of the workspace in view. */
  readonly idAs?: string;
}

export type FieldKind =
  | "text"
  | "long"
  | "secret"
  | "number"
  /** Seconds, asked for in the unit that suits. */
  | "duration"
  | "switch"
  | "select"
  | "multi"
  | "tags"
  | "json"
  | "template"
  | "time"
  | "file"
  /** A list of small records: `columns` says what each holds. */
  | "rows"
  /** An object of strings: a name and a value a line. */
  | "pairs"
  /** Asked for by the field's own `input`. */
  | "own";

/** What the input of a field gets. */
export interface FieldProps {
  readonly field: Field;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly error?: string | undefined;
}

/** One member of a request body and how it is asked for. */
export interface Field {
  /** Dotted path in the body, for example `usage_limits.credit_limit`. */
  readonly name: string;
  /** Dotted path in the record when the API answers under another name. Default: `name`. */
  readonly from?: string;
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
  /** Shown only while this holds. */
  readonly when?: (values: Row) => boolean;
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
  readonly schema?: Row;
  /** The input of a field of the kind `own`; its code is loaded when it is first shown. */
  readonly input?: () => Promise<{ readonly default: ComponentType<FieldProps> }>;
  /** The value of the input as the API takes it; throws what is wrong with it. */
  readonly toMember?: (value: unknown) => unknown;
  /** Of `pairs`: the values are secrets. */
  readonly secret?: boolean;
  /** Of `rows`: the inputs of each line. */
  readonly columns?: readonly Field[];
  /** Of a column of `rows`: what differs in a line. */
  readonly ofLine?: (line: Row) => Pick<Partial<Field>, "kind" | "placeholder">;
  /** Of `rows`: most lines. Default: 100. */
  readonly most?: number;
  /** Of `rows`: the label of the button for a further line. */
  readonly add?: string;
  /** Of `rows`: the values of a line from what the API holds. Default: its members. */
  readonly toLine?: (member: unknown) => Row;
  /** Of `rows`: what the API takes for a line. Default: its values. */
  readonly fromLine?: (line: Row) => unknown;
}

/** How a record is made or changed. */
export interface Write {
  /** Rows of the OpenAPI document this may call: the first decides whether the button is shown. */
  readonly rows: readonly [string, ...string[]];
  readonly method?: "POST" | "PUT";
  /** Path of the call; default: that of the first row. */
  readonly path?: (values: Row, id: string) => string;
  readonly fields: readonly Field[];
  /** Whether what these values make must belong to a workspace: the form asks for it while all workspaces are in view. */
  readonly isOfWorkspace?: (values: Row) => boolean;
  readonly when?: Condition;
  /** Changes the body before it is sent, for example to drop a member that only chose the path. */
  readonly toBody?: (body: Row, record: Row | undefined) => Row;
  /** The body is sent as multipart/form-data. */
  readonly multipart?: boolean;
  /** Members of the answer that hold a secret to be shown once, first found first. */
  readonly secret?: readonly string[];
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

/** A button of the detail page. */
export interface Action {
  readonly label: string;
  readonly icon: IconName;
  readonly row: string;
  /** What one does next with a record: its button stands out. */
  readonly isMain?: boolean;
  readonly body?: (record: Row) => unknown;
  readonly query?: (record: Row) => Readonly<Record<string, string>>;
  /** Asked before the call is made. */
  readonly confirm?: string;
  readonly secret?: readonly string[];
  /** What is said once it worked, in words. */
  readonly done: (answer: unknown, record: Row) => ActionResult;
  readonly when?: Condition;
}

/** A further part of the detail page. */
export interface ResourceSection {
  readonly title: string;
  /** Row the section needs. */
  readonly row: string;
  readonly when?: Condition;
  /** true: a button beside those of the record. */
  readonly isInHead?: boolean;
  readonly load: () => Promise<{ readonly default: ComponentType<{ readonly record: Row; readonly id: string }> }>;
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

/** A kind of record of the control plane: list, detail and forms follow from this. */
export interface Resource {
  /** Address: `/console/<name>`. */
  readonly name: string;
  readonly group: NavGroup;
  readonly icon: IconName;
  /** false: not in the navigation. */
  readonly nav?: boolean;
  readonly text: {
    readonly title: string;
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
    readonly path: string;
    readonly query?: Readonly<Record<string, string | number>>;
    /** How the route pages; left out: it answers with everything. */
    readonly paging?: Paging;
    readonly filters?: readonly ListFilter[];
  };
  /** Member that addresses a record in its routes. */
  readonly id: string;
  /** Member a person knows the record by, or what makes it of the record. */
  readonly title: string | ((record: Row) => string);
  readonly columns: readonly Attribute[];
  readonly facts?: readonly Attribute[];
  /** Path of one record, with one parameter. Left out: the detail page reads the list. */
  readonly read?: string;
  /** The organisation shares records with workspaces, which see of them only what the list says. */
  readonly shared?: boolean;
  readonly create?: Write;
  /** Records that lead to these are made on another page: the row that it calls, and its address. */
  readonly createAt?: { readonly row: string; readonly to: string };
  readonly update?: Write;
  readonly remove?: { readonly row: string; readonly body?: (record: Row) => unknown; readonly when?: Condition };
  readonly actions?: readonly Action[];
  readonly sections?: readonly ResourceSection[];
  /** Whether work on the record goes on: it is read again until it ends. */
  readonly isUnfinished?: (record: Row) => boolean;
}
