import { Button, Select, TextInput } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo } from "react";
import type { Attribute } from "@/components/attribute.ts";
import { type Column, DataTable } from "@/components/data-table.tsx";
import { Icon } from "@/components/icons.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { figureKinds, Value } from "@/components/value.tsx";
import { ListPage } from "@/layout/page.tsx";
import { textOf } from "@/lib/json.ts";
import { useSearchParams } from "@/lib/search.ts";
import { wordOf } from "@/lib/words.ts";
import { ChooseWorkspace } from "@/session/choose-workspace.tsx";
import { useSession } from "@/session/context.tsx";
import { text } from "@/text/frame.ts";
import { listTitleOf, useResourceList } from "./data.ts";
import type { ListFilter, Resource } from "./types.ts";

export function toColumn<T>({
  label,
  of,
  kind,
  track,
  narrowTrack,
  wide,
  narrow,
  render,
  empty,
}: Attribute<T>): Column<T> {
  return {
    key: `${label}:${kind}`,
    label,
    ...(track !== undefined && { track }),
    ...(narrowTrack !== undefined && { narrowTrack }),
    ...(wide !== undefined && { wide }),
    ...(narrow !== undefined && { narrow }),
    figure: kind !== undefined && figureKinds.has(kind),
    render: render ?? ((row) => <Value value={of(row)} kind={kind ?? "text"} empty={empty} />),
  };
}

/** What a search in the list finds a row by. */
function searchable({ of, kind, render }: Attribute, row: object): string {
  const shown = render?.(row);
  const value = textOf(of(row));
  return [value, kind === "word" ? wordOf(value) : "", typeof shown === "string" ? shown : ""].join("\n");
}

/** The list page of a resource. */
export function ResourceList({ resource }: { readonly resource: Resource }): ReactNode {
  const { can } = useSession();
  const navigate = useNavigate();
  const search = useSearchParams();
  const find = search.q?.toLowerCase() ?? "";
  const filters = Object.fromEntries((resource.list.filters ?? []).map(({ name }) => [name, search[name] ?? ""]));
  const { data, error, isPending, isEnabled, refetch, fetchNextPage, hasNextPage } = useResourceList(resource, filters);
  const columns = useMemo(() => resource.columns.map((column) => toColumn(column)), [resource]);
  const rows = useMemo(() => {
    const all = (data?.pages ?? []).flatMap(({ data }) => data);
    return find === ""
      ? all
      : all.filter((row) => resource.columns.some((column) => searchable(column, row).toLowerCase().includes(find)));
  }, [data, find, resource]);
  const onEnd = useCallback(() => void fetchNextPage(), [fetchNextPage]);
  const at = resource.createAt ?? { row: resource.create?.rows[0], to: `/${resource.name}/new` };
  const creatable = isEnabled && at.row !== undefined && can(at.row);
  const create = creatable && (
    <Button component={Link} to={at.to} leftSection={<Icon name="plus" size={14} />}>
      {resource.text.create}
    </Button>
  );
  return (
    <ListPage
      title={listTitleOf(resource)}
      about={resource.text.about}
      actions={create}
      filters={isEnabled ? <Filters filters={resource.list.filters ?? []} /> : undefined}
    >
      {!isEnabled && <ChooseWorkspace />}
      {isEnabled && isPending && <Waiting />}
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data !== undefined && rows.length === 0 && (
        <Empty
          title={find === "" ? text.common.emptyList : text.common.nothingMatches}
          hint={resource.text.emptyHint}
          command={resource.text.emptyCommand}
          action={create}
        />
      )}
      {rows.length > 0 && (
        <DataTable
          label={listTitleOf(resource)}
          columns={columns}
          rows={rows}
          idOf={resource.id}
          onOpen={(row) => void navigate({ to: `/${resource.name}/${encodeURIComponent(resource.id(row))}` })}
          onEnd={onEnd}
          hasMore={hasNextPage}
        />
      )}
    </ListPage>
  );
}

function Filters({ filters }: { readonly filters: readonly ListFilter[] }): ReactNode {
  const search = useSearchParams();
  const navigate = useNavigate();
  const set = (name: string, value: string | null) =>
    void navigate({ to: ".", search: { ...search, [name]: value ?? undefined }, replace: true });
  return (
    <>
      <TextInput
        data-search
        aria-label={text.common.search}
        placeholder={text.common.search}
        leftSection={<Icon name="search" size={14} />}
        value={search.q ?? ""}
        onChange={(event) => set("q", event.currentTarget.value)}
        w={{ base: "100%", xs: "16rem" }}
      />
      {filters.map(({ name, label, options }) =>
        options === undefined ? (
          <TextInput
            key={name}
            aria-label={label}
            placeholder={label}
            value={search[name] ?? ""}
            onChange={(event) => set(name, event.currentTarget.value)}
          />
        ) : (
          <Select
            key={name}
            aria-label={label}
            placeholder={label}
            data={[...options]}
            clearable
            value={search[name] ?? null}
            onChange={(value) => set(name, value)}
            w="11rem"
          />
        ),
      )}
    </>
  );
}
