import { isJsonObject } from "@/lib/json.ts";
import type { Search } from "@/lib/search.ts";

/** A view of the log that an earlier version stored in this browser. */
export interface LocalView {
  readonly name: string;
  readonly search: Search;
}

const storageKey = "console.logs.views";

const isView = (value: unknown): value is LocalView =>
  isJsonObject(value) && typeof value.name === "string" && isJsonObject(value.search);

/** The views of this browser. What was changed there by other means is read as far as it makes sense. */
export function readLocalViews(): readonly LocalView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isView) : [];
  } catch {
    return [];
  }
}

/** Forgets a view of this browser. */
export function removeLocalView(name: string): void {
  const left = readLocalViews().filter((view) => view.name !== name);
  if (left.length === 0) localStorage.removeItem(storageKey);
  else localStorage.setItem(storageKey, JSON.stringify(left));
}
