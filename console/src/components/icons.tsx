import type { ReactNode } from "react";

// Strokes on a grid of 24 by 24, drawn for this console.
const strokes = {
  overview: "M4 13h7V4H4zM13 20h7v-9h-7zM4 20h7v-4H4zM13 4v4h7V4z",
  logs: "M5 5h14M5 10h14M5 15h9M5 20h6",
  analytics: "M4 20V10M10 20V4M16 20v-8M21 20H3",
  health: "M3 12h4l2-6 4 12 2-6h6",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4",
  playground: "M7 5l12 7-12 7z",
  prompts: "M5 4h14v12H9l-4 4zM9 8h6M9 12h4",
  configs: "M6 4v6M6 14v6M12 4v10M12 18v2M18 4v2M18 10v10M4 12h4M10 16h4M16 8h4",
  keys: "M8 19a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM11 12l9-9M17 6l3 3M13.5 9.500l2.500 2.500",
  guardrails: "M12 3l8 3v6c0 5-3.5 7.5-8 9-4.5-1.5-8-4-8-9V6zM9 12l2 2 4-4",
  models: "M12 3l8 4.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9",
  aliases: "M4 6h6l8 6-8 6H4M10 12h8",
  policies: "M4 12a8 8 0 1 1 16 0M12 12l4-4M4 18h16",
  providers: "M12 3v5M12 16v5M3 12h5M16 12h5M9 9h6v6H9z",
  integrations: "M9 4v4H5v6h4v6M15 4v4h4v6h-4v6M9 12h6",
  mcp: "M5 5h6v6H5zM13 13h6v6h-6zM11 8h5v5M8 11v5h5",
  plug: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  clients: "M3 6h18v12H3zM8 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM13 10h5M13 14h5",
  examples: "M4 5h16v5H4zM4 14h16v5H4zM7 7.500h.01M7 16.500h.01M10 7.500h7M10 16.500h7",
  evals: "M4 20h16M7 20V9M12 20V4M17 20v-8M9 6l3-3 3 3",
  partials: "M9 4H7a2 2 0 0 0-2 2v4l-2 2 2 2v4a2 2 0 0 0 2 2h2M15 4h2a2 2 0 0 1 2 2v4l2 2-2 2v4a2 2 0 0 1-2 2h-2",
  folder: "M3 6h6l2 2h10v11H3z",
  files: "M7 3h7l4 4v14H7zM14 3v4h4",
  batches: "M4 7l8-4 8 4-8 4zM4 12l8 4 8-4M4 17l8 4 8-4",
  users:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-3.5 2.5-6 6-6s6 2.5 6 6M16 4.500a3.5 3.5 0 0 1 0 6.500M17.5 14.500c2 .8 3.5 2.8 3.5 5.5",
  account: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 3.500-6.500 8-6.500s8 2.500 8 6.500",
  groups:
    "M12 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM5 21a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM19 21a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 9v4M5 15v-2h14v2",
  sync: "M4 10a8 8 0 0 1 14-4l2 2M20 4v4h-4M20 14a8 8 0 0 1-14 4l-2-2M4 20v-4h4",
  invites: "M3 6h18v12H3zM3 7l9 7 9-7",
  workspaces: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  settings:
    "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM19 12l2-1-1-3-2 .3-1.5-1.5.3-2L14 4l-1 2h-2l-1-2-2.8.8.3 2L6 8.3 4 8l-1 3 2 1-2 1 1 3 2-.3 1.5 1.5-.3 2L10 20l1-2h2l1 2 2.8-.8-.3-2 1.5-1.5 2 .3 1-3z",
  secrets: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3M12 15v2",
  audit: "M6 3h9l3 3v15H6zM9 11l2 2 4-4M9 17h6",
  exports: "M12 4v11M8 11l4 4 4-4M4 20h16",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.500L20 20",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12l5 5 9-10",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  refresh: "M20 11a8 8 0 1 0-2.3 6.300M20 5v6h-6",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.500M17.5 17.500L19 19M19 5l-1.5 1.500M6.5 17.500L5 19",
  moon: "M20 14A8 8 0 1 1 10 4a6.5 6.5 0 0 0 10 10z",
  leave: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
  back: "M15 5l-7 7 7 7",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  filter: "M4 5h16l-6 8v6l-4-2v-4z",
  label: "M4 4h8l8 8-8 8-8-8zM8 8h.01",
  clock: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 8v4l3 2",
  tool: "M14 6a4 4 0 0 1 5 5l-8.5 8.500a2 2 0 0 1-3-3L16 8",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01",
  stop: "M7 7h10v10H7z",
  up: "M12 20V5M6 11l6-6 6 6",
  down: "M12 4v15M6 13l6 6 6-6",
  unfold: "M6 9l6 6 6-6",
  fold: "M6 15l6-6 6 6",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  warning: "M12 4l9 16H3zM12 10v4M12 17h.01",
  columns: "M4 5h16v14H4zM10 5v14M15 5v14",
  tail: "M4 7h10M4 12h7M4 17h5M17 8v10M14 15l3 3 3-3",
} as const;

export type IconName = keyof typeof strokes;

interface IconProps {
  readonly name: IconName;
  readonly size?: number;
}

/** A drawing beside words: hidden from screen readers. A button that shows only an icon needs an `aria-label`. */
export function Icon({ name, size = 16 }: IconProps): ReactNode {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.7}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={strokes[name]} />
    </svg>
  );
}

/** The mark of the gateway, as in the icon of `index.html`. */
export function Brand({ size }: { readonly size: number }): ReactNode {
  return (
    <svg aria-hidden="true" width={size} height={size} viewBox="0 0 32 32">
      <rect width="32" height="32" rx="7" fill="#0b7285" />
      <path
        d="M9 11h8a5 5 0 0 1 0 10H9M13 16h10m-3-3 3 3-3 3"
        fill="none"
        stroke="#fff"
        strokeWidth={2.4}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
