import { keys } from "./keys.ts";
import type { Resource } from "./types.ts";

/** Every resource of the console in the order of the navigation. Adding one: its file, and a line here. */
export const resources: readonly Resource[] = [keys];
