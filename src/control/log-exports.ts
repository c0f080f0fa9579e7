import type { LogExportStore } from "../db/stores/log-exports.ts";
import type { Mac } from "../lib/hash.ts";
import { createWokenWork, type WokenWork } from "./woken-work.ts";

/** Exports of log rows, and a way to wake what writes their files. */
export interface LogExportWork extends WokenWork<LogExportStore> {
  /** Signs links to files. */
  readonly linkMac: Mac;
}

/** Connects those who start exports with the runner. */
export const createLogExportWork = (store: LogExportStore, linkMac: Mac): LogExportWork => ({
  ...createWokenWork(store),
  linkMac,
});
