import { ActionIcon, Autocomplete, Button, Group } from "@mantine/core";
import { type KeyboardEvent, type ReactNode, useMemo, useState } from "react";
import { Icon } from "@/components/icons.tsx";
import { type Search, useChangeSearch } from "@/lib/search.ts";
import { text } from "@/text/text.ts";
import { labelOf, readFilters, suggest, wordsOf } from "./filters.ts";
import classes from "./logs.module.css";

const words = text.logs;

interface FilterBarProps {
  readonly search: Search;
  /** Names of API keys by their ids. */
  readonly names: ReadonlyMap<string, string>;
  /** Whether the page has a filter. Default: every one. */
  readonly isOffered?: (name: string) => boolean;
  /** What the empty box says. */
  readonly hint?: string;
}

const every = () => true;

/** Filters of the address as chips, and a box that adds one. */
export function FilterBar({ search, names, isOffered = every, hint = words.addFilter }: FilterBarProps): ReactNode {
  const change = useChangeSearch();
  const [typed, setTyped] = useState("");
  const chips = readFilters(search).filter(([name]) => isOffered(name));
  const showValue = (name: string, value: string) =>
    name === "api_key_id" ? (names.get(value) ?? value) : wordsOf(name, value);
  return (
    <>
      <SearchBox
        hint={hint}
        isOffered={isOffered}
        typed={typed}
        setTyped={setTyped}
        onAdd={(name, value) => change({ [name]: value })}
      />
      {chips.map(([name, value]) => (
        <Group key={name} gap={0} wrap="nowrap" className={classes.chip}>
          <button
            type="button"
            className={classes.chipText}
            title={words.changeFilter}
            onClick={() => {
              setTyped(`${name}=${value}`);
              document.querySelector<HTMLElement>("[data-search]")?.focus();
            }}
          >
            <span className={classes.chipName}>{labelOf(name)}</span> {showValue(name, value)}
          </button>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={24}
            aria-label={words.removeFilter({ name: labelOf(name) })}
            onClick={() => change({ [name]: undefined })}
          >
            <Icon name="close" size={12} />
          </ActionIcon>
        </Group>
      ))}
      {chips.length > 1 && (
        <Button
          variant="subtle"
          color="gray"
          onClick={() => change(Object.fromEntries(chips.map(([name]) => [name, undefined])))}
        >
          {words.clearFilters}
        </Button>
      )}
    </>
  );
}

interface SearchBoxProps {
  readonly hint: string;
  readonly isOffered: (name: string) => boolean;
  readonly typed: string;
  readonly setTyped: (typed: string) => void;
  readonly onAdd: (name: string, value: string) => void;
}

function SearchBox({ hint, isOffered, typed, setTyped, onAdd }: SearchBoxProps): ReactNode {
  const suggestions = useMemo(() => suggest(typed, isOffered), [typed, isOffered]);
  const byValue = new Map(suggestions.map((one) => [one.value, one]));
  const choose = (value: string) => {
    const { adds } = byValue.get(value) ?? {};
    if (adds === undefined) {
      setTyped(value);
      return;
    }
    onAdd(adds[0], adds[1]);
    setTyped("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // with an option marked by the arrows, Enter chooses that one
    if (event.key !== "Enter" || event.currentTarget.getAttribute("aria-activedescendant")) return;
    const first = suggestions.find(({ adds }) => adds !== undefined);
    if (first === undefined || typed.trim() === "") return;
    event.preventDefault();
    choose(first.value);
  };
  return (
    <Autocomplete
      data-search
      aria-label={hint}
      placeholder={hint}
      leftSection={<Icon name="filter" size={14} />}
      size="xs"
      w={{ base: "100%", xs: "20rem" }}
      maxDropdownHeight={320}
      value={typed}
      onChange={(value) => {
        // a chosen option arrives here too, before `onOptionSubmit`
        if (byValue.get(value)?.adds === undefined) setTyped(value);
      }}
      data={suggestions.map(({ value }) => value)}
      filter={({ options }) => options}
      renderOption={({ option }) => byValue.get(option.value)?.label ?? option.value}
      onOptionSubmit={choose}
      onKeyDown={onKeyDown}
    />
  );
}
