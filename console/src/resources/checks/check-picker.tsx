import { type ComboboxItem, type ComboboxParsedItem, Group, Select, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { text } from "@/text/text.ts";
import { type CatalogCheck, findCheck } from "./catalog.ts";

const words = text.checks;

/** Vendors with their checks, those of the gateway first. */
function groupsOf(checks: readonly CatalogCheck[]) {
  const vendors = [...new Set(checks.map(({ vendor }) => vendor))].sort((one, other) => {
    if (one === words.builtIn || other === words.builtIn) return one === words.builtIn ? -1 : 1;
    return one.localeCompare(other);
  });
  return vendors.map((group) => ({
    group,
    items: checks
      .filter(({ vendor }) => vendor === group)
      .map(({ id, name }) => ({ value: id, label: name }))
      .sort((one, other) => one.label.localeCompare(other.label)),
  }));
}

/** Options of which vendor, name or id have every word of a search. */
function findIn(options: readonly ComboboxParsedItem[], search: string): ComboboxParsedItem[] {
  const wanted = search.toLowerCase().split(/\s+/);
  const matches = ({ label, value }: ComboboxItem, vendor: unknown = "") => {
    const whole = `${String(vendor)} ${label} ${value}`.toLowerCase();
    return wanted.every((word) => whole.includes(word));
  };
  return options.flatMap((option): ComboboxParsedItem[] => {
    if (!("group" in option)) return matches(option) ? [option] : [];
    const items = option.items.filter((item) => matches(item, option.group));
    return items.length === 0 ? [] : [{ ...option, items }];
  });
}

interface CheckPickerProps {
  readonly checks: readonly CatalogCheck[];
  readonly onAdd: (id: string) => void;
}

/** The checks by vendor, to search and to add one. */
export function CheckPicker({ checks, onAdd }: CheckPickerProps): ReactNode {
  return (
    <Select
      label={words.add}
      placeholder={words.search({ count: checks.length })}
      data={groupsOf(checks)}
      value={null}
      onChange={(id) => id !== null && onAdd(id)}
      filter={({ options, search }) => findIn(options, search)}
      searchable
      maxDropdownHeight="22rem"
      nothingFoundMessage={text.common.nothingMatches}
      renderOption={({ option }) => {
        const phases = findCheck(checks, option.value)?.phases ?? [];
        const [phase = ""] = phases;
        return (
          <Group justify="space-between" gap="xs" flex={1}>
            {option.label}
            {phases.length === 1 && (
              <Text span size="xs" c="dimmed">
                {words.onlyPhase[phase] ?? phase}
              </Text>
            )}
          </Group>
        );
      }}
    />
  );
}
