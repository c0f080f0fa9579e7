import { Autocomplete, type AutocompleteProps, Combobox, type ComboboxParsedItem, Loader, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";

/** A value that can be chosen. */
export interface Choice {
  /** What the field then holds. */
  readonly value: string;
  /** Stands beside the value, and is searched too. */
  readonly name?: string;
}

interface FreeChoiceProps extends Omit<AutocompleteProps, "data" | "value" | "onChange"> {
  readonly groups: readonly { readonly label: string; readonly choices: readonly Choice[] }[];
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly busy?: boolean;
}

/** Maximum number of choices in the list. */
const limit = 100;

const matches = (choice: Choice | undefined, wanted: string): boolean =>
  choice !== undefined && `${choice.value} ${choice.name ?? ""}`.toLowerCase().includes(wanted);

/** A choice of known values that takes any other as well. Opened, it shows all of them; typing narrows the list. */
export function FreeChoice({ groups, value, onChange, busy = false, ...others }: FreeChoiceProps): ReactNode {
  const [typed, setTyped] = useState(false);
  const filled = groups.filter(({ choices }) => choices.length > 0);
  const known = new Map(filled.flatMap(({ choices }) => choices.map((choice) => [choice.value, choice])));
  const filter = ({ options, search }: { options: ComboboxParsedItem[]; search: string }) => {
    const wanted = typed ? search.trim().toLowerCase() : "";
    let room = limit;
    return options.flatMap((option) => {
      if (!("group" in option)) return [];
      const items = option.items.filter((item) => matches(known.get(item.value), wanted)).slice(0, room);
      room -= items.length;
      return items.length === 0 ? [] : [{ ...option, items }];
    });
  };
  return (
    <Autocomplete
      size="xs"
      rightSection={busy ? <Loader size={12} /> : <Combobox.Chevron size="xs" />}
      rightSectionPointerEvents="none"
      maxDropdownHeight={320}
      styles={{ input: { textOverflow: "ellipsis" } }}
      {...others}
      data={filled.map(({ label, choices }) => ({ group: label, items: choices.map((choice) => choice.value) }))}
      filter={filter}
      renderOption={({ option }) => <ChoiceLine value={option.value} name={known.get(option.value)?.name} />}
      value={value}
      onChange={(next) => {
        setTyped(true);
        onChange(next);
      }}
      onDropdownClose={() => setTyped(false)}
    />
  );
}

function ChoiceLine({ value, name }: { readonly value: string; readonly name: string | undefined }): ReactNode {
  return (
    <span>
      {value}
      {name !== undefined && name !== "" && (
        <Text span size="xs" c="dimmed" ms="xs">
          {name}
        </Text>
      )}
    </span>
  );
}
