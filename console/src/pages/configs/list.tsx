import type { ReactNode } from "react";
import { ResourceList } from "@/resources/list.tsx";
import { configs } from "./configs.ts";

/** Saved configs. */
export default function Configs(): ReactNode {
  return <ResourceList resource={configs} />;
}
