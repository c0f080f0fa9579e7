import { Anchor, NativeSelect, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Failure, Waiting } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { dollarColumn, formatShort } from "@/lib/format.ts";
import { type Period, periodSearch } from "@/lib/period.ts";
import { useChangeSearch, useSearchParams } from "@/lib/search.ts";
import { sourceOf } from "@/lib/source.ts";
import { useKeyNames } from "@/resources/key-names.ts";
import { text } from "@/text/frame.ts";
import { noValueOf, useGroups, useMetadataKeys } from "./data.ts";
import { type Group, type GroupSource, groupsOf } from "./groups.ts";
import classes from "./overview.module.css";

const words = text.overview;

const ofModels = groupsOf("/v1/analytics/groups/model", "model");
const ofKeys = groupsOf("/v1/analytics/groups/api_key", "api_key");
const ofUsers = groupsOf("/v1/analytics/groups/users", "user");

interface TopGroupsProps {
  readonly period: Period;
  /** Key of the metadata in view; undefined: the most used one. */
  readonly metadataKey: string | undefined;
}

/** The models, keys, users and metadata values with the most requests; each leads to its requests. */
export function TopGroups({ period, metadataKey }: TopGroupsProps): ReactNode {
  const names = useKeyNames();
  const keys = useMetadataKeys();
  const change = useChangeSearch();
  const key = metadataKey ?? keys.find((name) => name !== "_user") ?? keys[0];
  const chooser = keys.length > 0 && (
    <NativeSelect
      aria-label={words.metadataKey}
      data={[...new Set([...keys, ...(key === undefined ? [] : [key])])]}
      value={key}
      onChange={({ currentTarget: { value } }) => change({ key: value })}
      w="12rem"
    />
  );
  return (
    <div className={classes.groups}>
      <TopTable title={words.models} groups={ofModels} filter="model" period={period} />
      <TopTable
        title={words.keys}
        groups={ofKeys}
        filter="api_key_id"
        period={period}
        nameOf={(id) => names.get(id) ?? id}
      />
      <TopTable title={words.users} groups={ofUsers} filter="metadata._user" period={period} />
      {key !== undefined && (
        <TopTable
          title={words.metadata}
          groups={groupsOf("/v1/analytics/groups/metadata/{metadataKey}", "metadata_value", key)}
          filter={`metadata.${key}`}
          period={period}
          actions={chooser}
        />
      )}
    </div>
  );
}

interface TopTableProps {
  readonly title: string;
  readonly groups: GroupSource;
  /** Filter of the log for the requests of a group. */
  readonly filter: string;
  readonly period: Period;
  readonly nameOf?: (value: string) => string;
  readonly actions?: ReactNode;
}

const dollarsOf = ({ cost }: Group): number => Number(cost ?? 0) / 100;

function TopTable({ title, groups, filter, period, nameOf, actions }: TopTableProps): ReactNode {
  const { data, error, refetch } = useGroups(groups, period, "cost");
  const rows = data?.data ?? [];
  const { value, of } = groups;
  // without a name in it, a card says nothing; with a choice of what it shows, it stays
  if (actions === undefined && rows.length > 0 && rows.every((row) => of(row) === "")) return null;
  const dollars = dollarColumn(rows.map(dollarsOf));
  const most = Math.max(1, ...rows.map(({ requests }) => Number(requests)));
  return (
    <Section title={title} actions={actions}>
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && rows.length === 0 && (
        <Text size="sm" c="dimmed">
          {words.noGroups}
        </Text>
      )}
      {rows.length > 0 && (
        <Table aria-label={title} fz="sm" verticalSpacing={5} layout="fixed">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.name}</Table.Th>
              <Table.Th ta="end" w="5.5rem">
                {words.requests}
              </Table.Th>
              <Table.Th ta="end" w="5.5rem">
                {words.cost}
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row) => {
              const name = of(row);
              const requests = Number(row.requests);
              return (
                <Table.Tr key={name}>
                  <Table.Td className={classes.cell}>
                    <span className={classes.fill} style={{ width: `${(requests / most) * 100}%` }} />
                    <GroupName
                      name={name}
                      value={value}
                      shown={nameOf?.(name) ?? name}
                      filter={filter}
                      period={period}
                    />
                  </Table.Td>
                  <Table.Td className="number">{formatShort(requests)}</Table.Td>
                  <Table.Td className="number">{dollars(dollarsOf(row))}</Table.Td>
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </Table>
      )}
    </Section>
  );
}

interface GroupNameProps {
  readonly name: string;
  /** Member that holds it. */
  readonly value: string;
  readonly shown: string;
  readonly filter: string;
  readonly period: Period;
}

/** A group without a value has no filter that finds it. */
function GroupName({ name, value, shown, filter, period }: GroupNameProps): ReactNode {
  const source = sourceOf(useSearchParams());
  if (name === "") {
    return (
      <Text span c="dimmed" inherit>
        {noValueOf(value)}
      </Text>
    );
  }
  return (
    <Anchor
      inherit
      title={shown}
      renderRoot={(props) => (
        <Link {...props} to="/logs" search={{ ...periodSearch(period), [filter]: name, source }} />
      )}
    >
      {shown}
    </Anchor>
  );
}
