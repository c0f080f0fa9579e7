import { message } from "../message.ts";

/** Saved views with their charts on the overview, and saved runs of the playground. */
export const saved = {
  views: {
    title: "Saved views",
    one: "View",
    none: "No saved views yet. A view is what this page shows now, under a name.",
    shared: "Shared in the workspace",
    share: "Share in the workspace",
    own: "Only you see them",
    local: "Stored in this browser",
    save: "Save as a view",
    saveChanges: "Save the changes",
    everything: "Show everything",
    edit: message<{ name: string }>("Edit the view {name}"),
    move: message<{ name: string }>("Move the view {name} to the workspace"),
    defaultMark: "opens first",
    sharedHint: "Everybody in the workspace opens it. What they see of it follows from their role.",
    ofOthers: "Another person shared it. Managers and admins may change it too.",
    isDefault: "Open this page with it, for me",
    pinned: "Chart on the overview",
    copyLink: "Copy link",
    missing: "This view does not exist, or is not shared with you.",
    unknown: message<{ names: string }>(
      "This console does not know {names}, which a later version saved. It is left out here.",
    ),
    charts: "Charts of this workspace",
    open: "Open",
  },
  runs: {
    title: "History",
    one: "Run",
    none: "No saved runs yet. A run is what the playground holds now: requests, answers, tokens and cost.",
    save: "Save this run",
    edit: message<{ name: string }>("Edit the run {name}"),
    isShared: "shared",
    sharedHint: "Everybody in the workspace who may call models and see contents of the log opens it.",
  },
} as const;
