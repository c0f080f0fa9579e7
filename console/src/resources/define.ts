import type { Answer, AnswerOf, ApiRow, BodyOf, PathOf } from "@/api/client.ts";
import type { Of } from "@/components/attribute.ts";
import type { Action, Field, ListPath, MemberOf, Option, OptionSource, Resource, RowIn, Write } from "./types.ts";

/** A record that a page shows: what its route answers with, else the row of the list. */
type RecordOf<L extends object, D extends PathOf<"get">> = [D] extends [never] ? L : Answer<D, "get"> & object;

/** The same where a workspace may see only the row of the list. */
type ShownOf<L extends object, D extends PathOf<"get">, S extends boolean> = S extends true
  ? Partial<RecordOf<L, D>> & Pick<RecordOf<L, D>, keyof L & keyof RecordOf<L, D>>
  : RecordOf<L, D>;

/** A field whose name is a member of the body, and of the record it starts with unless `from` says where that is. */
type FieldOf<N extends string, T> = Field<N & MemberOf<T>, T> | (Field<N, T> & { readonly from: Of<T, unknown> });

interface Create<C extends ApiRow, X extends string> extends Write<object, AnswerOf<C>> {
  readonly rows: readonly [C, ...C[]];
  readonly fields: readonly Field<MemberOf<BodyOf<C>> | X>[];
  readonly others?: readonly X[];
}

interface Update<U extends ApiRow, T, X extends string> extends Write<T, AnswerOf<U>> {
  readonly rows: readonly [U, ...U[]];
  readonly fields: readonly FieldOf<MemberOf<BodyOf<U>> | X, T>[];
  readonly others?: readonly X[];
}

/** A resource whose columns, facts and fields are members of what its rows answer with and take. */
interface Declared<L, T, C extends ApiRow, U extends ApiRow, X extends string>
  extends Resource<L, T, AnswerOf<C>, AnswerOf<U>> {
  readonly create?: Create<C, X>;
  readonly update?: Update<U, T, X>;
}

/** Declares a resource, typed by the OpenAPI document: a member that is renamed there no longer compiles here. */
export function defineResource<
  P extends ListPath,
  D extends PathOf<"get"> = never,
  C extends ApiRow = never,
  U extends ApiRow = never,
  X extends string = never,
  S extends boolean = false,
>(
  resource: Declared<RowIn<Answer<P, "get">>, ShownOf<RowIn<Answer<P, "get">>, D, S>, C, U, X> & {
    readonly list: { readonly path: P };
    readonly read?: D;
    readonly shared?: S;
  },
): Resource {
  return resource;
}

/** An action whose result is read by the type of what its row answers with. */
export function action<R extends ApiRow, T = object>(
  declared: Action<T, AnswerOf<R>> & { readonly row: R },
): Action<T> {
  return declared;
}

/** Choices of a field: rows of a list route. */
export function optionsOf<P extends ListPath>(
  path: P,
  toOption: (row: RowIn<Answer<P, "get">>) => Option | undefined,
  others: Omit<OptionSource, "path" | "toOption"> = {},
): OptionSource {
  return { path, toOption, ...others };
}
