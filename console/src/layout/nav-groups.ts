import { text } from "@/text/frame.ts";

export type NavGroup = "observe" | "build" | "connect" | "govern" | "organisation";

/** Groups of the navigation in their order. */
export const navGroups: readonly (readonly [NavGroup, string])[] = [
  ["observe", text.nav.observe],
  ["build", text.nav.build],
  ["connect", text.nav.connect],
  ["govern", text.nav.govern],
  ["organisation", text.nav.organisation],
];
