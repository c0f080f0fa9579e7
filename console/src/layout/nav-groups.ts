export type NavGroup = "observe" | "build" | "connect" | "govern" | "organisation";

/** Groups of the navigation in their order. */
export const navGroups: readonly NavGroup[] = ["observe", "build", "connect", "govern", "organisation"];
