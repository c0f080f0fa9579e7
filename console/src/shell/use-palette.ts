import { useCallback, useEffect, useState } from "react";

/**
 * The palette and what is typed in it; no query: it is closed. Its code is loaded once Control or Command is held, or its
 * button is reached. What is typed before it stands is the beginning of the query.
 */
export function usePalette() {
  const [parts, setParts] = useState<typeof import("./palette.tsx")>();
  const [query, setQuery] = useState<string>();
  const load = useCallback(() => void import("./palette.tsx").then(setParts), []);
  const begin = useCallback(() => {
    load();
    setQuery((before) => before ?? "");
  }, [load]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const { key, metaKey, ctrlKey } = event;
      if (key === "Control" || key === "Meta") load();
      if (metaKey || ctrlKey) {
        if (key.toLowerCase() !== "k") return;
        event.preventDefault();
        begin();
      } else if (query !== undefined && key.length === 1 && document.querySelector("[data-palette]") === null) {
        event.preventDefault();
        setQuery(query + key);
      }
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, [load, begin, query]);
  return { Palette: parts?.Palette, query, change: setQuery, load, begin, end: () => setQuery(undefined) };
}
