// What a declaration of a kind of record says: see record.ts.

import type * as v from "valibot";
import type { KeyAccess } from "../../auth/access.ts";
import type { ScopeFamilyName } from "../../auth/scopes.ts";
import type { Undo } from "../../control/commit.ts";
import type { Statement } from "../../db/client.ts";
import type { ControlStores, RecordStoreName } from "../../db/stores/control.ts";
import type { ListOptions, Tenant } from "../../db/tenant-store.ts";
import type { QueryParameter } from "../../endpoint.ts";
import type { AdminCall, AnswerOf, Outcome } from "./endpoint.ts";

/** Rows of a store. */
export type RowOf<Name extends RecordStoreName> = NonNullable<Awaited<ReturnType<ControlStores[Name]["get"]>>>;

export type NewRowOf<Name extends RecordStoreName> = Parameters<ControlStores[Name]["insert"]>[1];

/** The workspace that rows of a store name; null where the table has no workspaces. */
type PlaceOf<Name extends RecordStoreName> = RowOf<Name> extends { workspaceId: infer Place } ? Place : null;

/** The tenant of a record. */
export interface RecordTenant<Name extends RecordStoreName> {
  readonly organisationId: string;
  readonly workspaceId: PlaceOf<Name> & (string | null);
}

/** A record that a path names, and its tenant. */
export interface Found<Name extends RecordStoreName> {
  row: RowOf<Name>;
  tenant: RecordTenant<Name>;
}

/** Columns that each row gets by itself, and those of them that a call may set otherwise. */
type OwnColumns = "id" | "organisationId" | "workspaceId" | "slug" | "createdAt" | "lastUpdatedAt";
type OtherTime = { lastUpdatedAt?: number };

type NewColumns<Name extends RecordStoreName> = Omit<NewRowOf<Name>, OwnColumns> &
  OtherTime & { id?: string; slug?: string };

export type ChangedColumns<Name extends RecordStoreName> = OtherTime & {
  [Column in keyof Omit<NewRowOf<Name>, OwnColumns>]?: NewRowOf<Name>[Column] | undefined;
};

/** A kind of record of the control plane. Its endpoints follow from it. */
export interface RecordDeclaration<Name extends RecordStoreName> {
  /** Group of its endpoints in the API reference. */
  readonly tag: string;
  /** Path of the list: `/v1/labels`. */
  readonly path: string;
  /** Path parameter that names a record. Default `id`. */
  readonly param?: string;
  /** Words for summaries; `one` has an article. */
  readonly words: { readonly one: string; readonly many: string };
  /** Its kind in errors. Default `words.one` without the article. */
  readonly noun?: string;
  readonly store: Name;
  /** Its kind in the audit log. */
  readonly audit: string;
  /** Beginning of its scopes, for keys of any kind, or who may use a verb. */
  readonly access: ScopeFamilyName | ((verb: string) => KeyAccess);
  /** Its records are the organisation's, not those of a workspace. */
  readonly ofOrganisation?: boolean;
  /** Views of workspaces are read with the organisation's records: a change of one makes all of them stale. */
  readonly isReadByWorkspaces?: boolean;
  /** Values of the path parameter that are other paths. */
  readonly reserved?: readonly string[];
  /** Paths name it by its id alone, not by its slug. */
  readonly hasIdsOnly?: boolean;
  /** Finds the record that a path names, if that takes more than the tenant. @param verb What the caller wants to do. */
  readonly find?: (call: AdminCall<unknown>, verb: string) => Promise<RowOf<Name>>;
}

/** A filter of a list: the values that a column can have. */
export interface ListFilter {
  readonly values: readonly string[];
  /** The value without this filter; absent: any. */
  readonly otherwise?: string;
}

/** A list of records. */
export interface ListDefinition<Name extends RecordStoreName, All extends ListSchema> {
  readonly summary?: string;
  /** Its literals, `total`, `data` and `has_more` are filled in. */
  readonly response: All;
  /** By parameter: `manager_type` is the column `managerType`. */
  readonly filters?: Readonly<Record<string, ListFilter>>;
  /** Columns with the text of `search`. */
  readonly search?: readonly (keyof RowOf<Name> & string)[];
  /** Rows of a page without `page_size`. Default 50. `all`: all rows where no page is asked for. */
  readonly page?: number | "all";
  /** Most rows of a page. Default 1,000. */
  readonly maxPage?: number;
  /** What `workspace_id` selects, for the API reference; empty where no workspace can be named. */
  readonly ofWorkspaces?: string;
  /** Parameters that `select` reads. */
  readonly query?: readonly QueryParameter[];
  /** Whose records are listed. Default: those of the workspace that the query names, or all. */
  tenant?(call: AdminCall<undefined>): Promise<Tenant>;
  /** More conditions. */
  select?(call: AdminCall<undefined>, tenant: Tenant): ListOptions<RowOf<Name>> | Promise<ListOptions<RowOf<Name>>>;
  /** Rows of a page, where the list has others than those of the table. */
  rows?(
    call: AdminCall<undefined>,
    tenant: Tenant,
    options: ListOptions<RowOf<Name>> & { page?: Page | undefined },
  ): Promise<{ rows: RowOf<Name>[]; total: number }>;
  show(rows: readonly RowOf<Name>[], call: AdminCall<undefined>, tenant: Tenant): ItemsOf<All> | Promise<ItemsOf<All>>;
}

type Page = { offset: number; limit: number };

/** A list: `data`, `total` and literals. */
export type ListSchema = v.GenericSchema<unknown, { data: unknown[]; total: number }> & {
  readonly entries: v.ObjectEntries;
};

type ItemsOf<All extends ListSchema> = AnswerOf<All>["data"];

/** What one endpoint says of itself beside the kind of record. */
export interface VerbDefinition {
  readonly summary?: string;
  readonly query?: readonly QueryParameter[];
}

/** A further endpoint, on the list or on one record. */
export interface FurtherDefinition {
  readonly summary: string;
  /** What follows the path of the record: `/versions`. */
  readonly at: string;
  /** The verb of its scope. */
  readonly verb: string;
  readonly query?: readonly QueryParameter[];
}

/** Where a new record is written. */
export interface NewPlace<Name extends RecordStoreName> {
  readonly tenant: RecordTenant<Name>;
  readonly id: string;
  /** Empty for records without slugs. */
  readonly slug: string;
}

/** What a call that creates a record wants to be written. */
export interface NewRecord<Name extends RecordStoreName, Answer> extends Pick<Outcome, "applied" | "undo" | "audited"> {
  answer: Answer;
  columns: NewColumns<Name>;
  /** What comes before the record, and after it. */
  before?: readonly Statement[];
  statements?: readonly Statement[];
}

/** A new record that `statements` write. */
export interface WrittenRecord<Answer> extends Pick<Outcome, "applied" | "undo" | "audited"> {
  answer: Answer;
  recordId: string;
  statements: readonly Statement[];
}

/** What a call that changes a record wants to be written; the record's columns last. */
export interface ChangedRecord<Name extends RecordStoreName, Answer> {
  answer: Answer;
  /** Absent: `statements` change the record. */
  columns?: ChangedColumns<Name>;
  statements?: readonly Statement[];
  applied?: () => void | Promise<void>;
  undo?: Undo | undefined;
}
